// SPDX-License-Identifier: Apache-2.0
/*
 * Starting and ending a child that has pipes, in a sandbox if one is asked for: what starts then is
 * the program that sets the sandbox up, with the supervisor around it.
 */
#include "os/spawn/pipe_child.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/process/program.h"
#include "os/process/spawn_child.h"
#include "os/process/supervise_wire.h"
#include "os/sandbox/plan.h"
#include "os/spawn/supervise.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The supervisor's descriptor and those of a sandbox. */
#define CARRIED_MAX 8
/* How long a sandbox may take to be set up. */
#define SET_UP_WAIT_NS (20 * NS_PER_S)

struct pipe_child {
    pid_t pid;
    int pidfd;
    int input;
    int output;
    int errors;
    int lifeline; /* -1 without a supervisor */
    bool has_supervisor;
    bool is_reaped;
    int wait_status;
    struct spawn_request planned; /* what `plan` borrows */
    struct sandbox_plan *plan;    /* or NULL */
};

/* Descriptors while a child is being started: [0] ours, [1] the child's. */
struct ends {
    int input[2];
    int output[2];
    int errors[2];
    int lifeline[2];
};

static void close_slot(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void ends_close(struct ends *ends, int side)
{
    close_slot(&ends->input[side]);
    close_slot(&ends->output[side]);
    close_slot(&ends->errors[side]);
    close_slot(&ends->lifeline[side]);
}

/** @param ours which end of the pipe stays here: 0 to read, 1 to write */
static int open_pipe(int ends[2], int ours, struct rondo_error *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot make a pipe");
    }
    ends[0] = fds[ours];
    ends[1] = fds[1 - ours];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot set up a pipe");
    }
    return child_raise_fd(&ends[1], err);
}

static int open_ends(struct ends *ends, bool has_supervisor, struct rondo_error *err)
{
    int r = open_pipe(ends->input, 1, err);
    if (r == 0) {
        r = open_pipe(ends->output, 0, err);
    }
    if (r == 0) {
        r = open_pipe(ends->errors, 0, err);
    }
    if (r != 0 || !has_supervisor) {
        return r;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->lifeline) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot make a lifeline");
    }
    return child_raise_fd(&ends->lifeline[1], err);
}

/* --- starting --- */

/** What is started, in the end. */
struct start {
    char program[PATH_MAX];
    const char **supervised_argv; /* owned array of borrowed strings, or NULL */
    char numbers[SUPERVISE_NUMBERS];
    int carried[CARRIED_MAX];
    struct child_setup setup;
};

/** The program as it is, or the one that sets its sandbox up. */
static int plan_start(struct pipe_child *child, const struct pipe_child_request *request,
                      struct start *start, struct rondo_error *err)
{
    char reason[256];
    if (!program_find(request->argv[0], request->envp, request->directory, start->program,
                      reason)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "%s", reason);
    }
    start->setup.program = start->program;
    start->setup.argv = request->argv;
    start->setup.envp = request->envp;
    if (request->sandbox == NULL || request->sandbox->tier == SANDBOX_NONE) {
        return 0;
    }
    child->planned = (struct spawn_request){
        .argv = request->argv,
        .envp = request->envp,
        .directory = request->directory,
        .supervisor = request->supervisor,
        .sandbox = request->sandbox,
    };
    int r = sandbox_plan_make(&child->planned, &child->plan, reason, err);
    if (r != 0) {
        return r;
    }
    if (child->plan == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "%s", reason);
    }
    start->setup.program = sandbox_plan_program(child->plan);
    start->setup.argv = sandbox_plan_argv(child->plan);
    start->setup.envp = sandbox_plan_envp(child->plan);
    const int *carried = sandbox_plan_carried(child->plan, &start->setup.carried_count);
    assert(start->setup.carried_count < CARRIED_MAX);
    memcpy(start->carried, carried, start->setup.carried_count * sizeof(*carried));
    return 0;
}

static void wrap_in_supervisor(const struct pipe_child *child, const char *supervisor,
                               const struct ends *ends, struct start *start)
{
    const struct supervise_order order = {
        .supervisor = supervisor,
        .carried_count = start->setup.carried_count,
        .scopes_sockets = child->plan != NULL,
        .record = child->plan == NULL ? 0 : sandbox_plan_record(child->plan),
        .helps = child->plan != NULL && sandbox_plan_supervisor_helps(child->plan),
        .private_folder = child->plan == NULL ? NULL : sandbox_plan_private_folder(child->plan),
        .groups = child->plan == NULL ? NULL : sandbox_plan_groups(child->plan),
        .program = start->setup.program,
        .argv = start->setup.argv,
    };
    start->supervised_argv = supervise_argv(&order, start->numbers);
    start->setup.argv = start->supervised_argv;
    start->setup.program = supervisor;
    memmove(start->carried + 1, start->carried, start->setup.carried_count * sizeof(int));
    start->carried[0] = ends->lifeline[1];
    start->setup.carried_count++;
}

static int start_process(struct pipe_child *child, const struct pipe_child_request *request,
                         const struct ends *ends, struct start *start, struct rondo_error *err)
{
    start->setup.directory = request->directory;
    start->setup.input_fd = ends->input[1];
    start->setup.output_fd = ends->output[1];
    start->setup.error_fd = ends->errors[1];
    start->setup.carried = start->carried;
    if (request->supervisor != NULL) {
        wrap_in_supervisor(child, request->supervisor, ends, start);
    }
    int os_errno = child_start(&start->setup, &child->pid);
    if (os_errno != 0) {
        const char *directory = request->directory;
        bool lacks_directory = directory != NULL && access(directory, X_OK) != 0;
        return error_set_errno(err, RONDO_ERR_SYSTEM, os_errno, "cannot start %s",
                               lacks_directory ? directory : start->program);
    }
    child->pidfd = pidfd_open(child->pid, 0);
    if (child->pidfd < 0) {
        int r = error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot watch a process");
        child_abandon(child->pid);
        child->is_reaped = true;
        return r;
    }
    return 0;
}

/** Take our ends of the pipes over. */
static void take_ends(struct pipe_child *child, struct ends *ends)
{
    child->input = steal_fd(&ends->input[0]);
    child->output = steal_fd(&ends->output[0]);
    child->errors = steal_fd(&ends->errors[0]);
    child->lifeline = steal_fd(&ends->lifeline[0]);
    child->has_supervisor = child->lifeline >= 0;
}

/** Wait until the sandbox is set up and the program let go. An end shows later, like any other. */
static int set_up_sandbox(struct pipe_child *child, struct rondo_error *err)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + SET_UP_WAIT_NS;
    if (child->plan == NULL) {
        return 0;
    }
    sandbox_plan_started(child->plan);
    while (sandbox_plan_is_held(child->plan)) {
        int64_t left = deadline - clock_monotonic(clock);
        struct pollfd slots[] = {
            {.fd = sandbox_plan_poll_fd(child->plan), .events = POLLIN},
            {.fd = child->pidfd, .events = POLLIN},
        };
        struct timespec timeout = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
        if (left <= 0) {
            return error_set(err, RONDO_ERR_TIMEOUT, "the sandbox was not set up in time");
        }
        ppoll(slots, 2, &timeout, NULL);
        if (slots[0].revents != 0) {
            sandbox_plan_advance(child->plan);
        } else if (slots[1].revents != 0) {
            break;
        }
    }
    return 0;
}

static int start_child(struct pipe_child *child, const struct pipe_child_request *request,
                       struct ends *ends, struct rondo_error *err)
{
    struct start start = {0};
    int r = plan_start(child, request, &start, err);
    r = r != 0 ? r : open_ends(ends, request->supervisor != NULL, err);
    r = r != 0 ? r : start_process(child, request, ends, &start, err);
    free(start.supervised_argv);
    ends_close(ends, 1);
    if (r == 0) {
        take_ends(child, ends);
        r = set_up_sandbox(child, err);
    } else {
        child->is_reaped = true; /* There is nothing to be ended. */
    }
    return r;
}

int pipe_child_start(const struct pipe_child_request *request, struct pipe_child **ret_child,
                     struct rondo_error *err)
{
    struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    struct pipe_child *child = memory_new_zero(1, sizeof(*child));
    child->input = child->output = child->errors = child->lifeline = child->pidfd = -1;
    int r = start_child(child, request, &ends, err);
    ends_close(&ends, 0);
    ends_close(&ends, 1);
    if (r != 0) {
        pipe_child_free(child);
        return r;
    }
    *ret_child = child;
    return 0;
}

int pipe_child_input(const struct pipe_child *child)
{
    return child->input;
}

int pipe_child_output(const struct pipe_child *child)
{
    return child->output;
}

int pipe_child_errors(const struct pipe_child *child)
{
    return child->errors;
}

void pipe_child_close_input(struct pipe_child *child)
{
    close_slot(&child->input);
}

/**
 * Reap it if it has ended. What is left of its group goes before that, while the number of the
 * group cannot be given to anybody else; a supervisor has seen to it already.
 */
static bool reap(struct pipe_child *child)
{
    siginfo_t info = {0};
    if (!child->is_reaped &&
        waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child->pid) {
        if (!child->has_supervisor) {
            kill(-child->pid, SIGKILL);
        }
        waitpid(child->pid, &child->wait_status, 0);
        child->is_reaped = true;
    }
    return child->is_reaped;
}

bool pipe_child_wait(struct pipe_child *child, int64_t wait_ns)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + wait_ns;
    while (!reap(child)) {
        int64_t left = deadline - clock_monotonic(clock);
        if (left <= 0) {
            return false;
        }
        struct pollfd slot = {.fd = child->pidfd, .events = POLLIN};
        struct timespec timeout = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
        ppoll(&slot, 1, &timeout, NULL);
    }
    return true;
}

/** Kill all: by the supervisor, which finds everything, then the group itself. */
static void kill_all(struct pipe_child *child)
{
    if (child->has_supervisor) {
        char order = SUPERVISE_KILL;
        (void)send(child->lifeline, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (pipe_child_wait(child, SUPERVISE_KILL_WAIT_NS)) {
            return;
        }
    }
    kill(-child->pid, SIGKILL);
    pipe_child_wait(child, SUPERVISE_KILL_WAIT_NS);
}

void pipe_child_stop(struct pipe_child *child, int64_t grace_ns)
{
    pipe_child_close_input(child);
    if (!pipe_child_wait(child, grace_ns)) {
        if (child->plan == NULL || !sandbox_plan_terminate(child->plan)) {
            kill(-child->pid, SIGTERM); /* A supervisor ignores it, the server gets it. */
        }
        if (!pipe_child_wait(child, grace_ns)) {
            kill_all(child);
        }
    }
}

static void describe(char ret_text[PIPE_CHILD_END_SIZE], bool has_exited, int value)
{
    if (has_exited) {
        snprintf(ret_text, PIPE_CHILD_END_SIZE, "exit code %d", value);
    } else {
        const char *name = sigdescr_np(value);
        snprintf(ret_text, PIPE_CHILD_END_SIZE, "signal %d (%s)", value,
                 name == NULL ? "unknown" : name);
    }
}

void pipe_child_describe_end(struct pipe_child *child, char ret_text[PIPE_CHILD_END_SIZE])
{
    char reason[PIPE_CHILD_END_SIZE];
    ret_text[0] = '\0';
    if (!child->is_reaped) {
        return;
    }
    if (child->plan != NULL && !sandbox_plan_has_run(child->plan, "", reason)) {
        snprintf(ret_text, PIPE_CHILD_END_SIZE, "%s", reason);
        return;
    }
    struct supervise_status status;
    if (!child->has_supervisor) {
        bool has_exited = WIFEXITED(child->wait_status);
        describe(ret_text, has_exited,
                 has_exited ? WEXITSTATUS(child->wait_status) : WTERMSIG(child->wait_status));
    } else if (recv(child->lifeline, &status, sizeof(status), MSG_DONTWAIT | MSG_PEEK) ==
               (ssize_t)sizeof(status)) {
        status.reason[sizeof(status.reason) - 1] = '\0';
        if (status.outcome == SUPERVISE_NOT_STARTED) {
            snprintf(ret_text, PIPE_CHILD_END_SIZE, "%s", status.reason);
        } else {
            describe(ret_text, status.outcome == SUPERVISE_EXITED, status.value);
        }
    }
}

void pipe_child_free(struct pipe_child *child)
{
    if (child == NULL) {
        return;
    }
    if (!child->is_reaped) {
        pipe_child_close_input(child);
        kill_all(child);
    }
    close_slot(&child->input);
    close_slot(&child->output);
    close_slot(&child->errors);
    close_slot(&child->lifeline);
    close_slot(&child->pidfd);
    sandbox_plan_free(child->plan);
    free(child);
}
