// SPDX-License-Identifier: Apache-2.0
/*
 * Starting and ending a child that has pipes. The pipes for stdin and stdout are handed over as
 * carried descriptors, because that is what child_start and the supervisor can pass on; the first
 * thing that runs is a shell that moves them into place and becomes the program.
 */
#include "os/pipe_child.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/program.h"
#include "os/spawn_child.h"
#include "os/supervise.h"
#include "os/supervise_wire.h"

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

#define SHELL "/bin/sh"
/* Descriptors 3 and 4 of the child become its stdin and stdout; stderr is in place. */
#define SHELL_SCRIPT "exec \"$@\" <&3 >&4 3<&- 4>&-"

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
    int code = open_pipe(ends->input, 1, err);
    if (code == 0) {
        code = open_pipe(ends->output, 0, err);
    }
    if (code == 0) {
        code = open_pipe(ends->errors, 0, err);
    }
    if (code != 0 || !has_supervisor) {
        return code;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->lifeline) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot make a lifeline");
    }
    return child_raise_fd(&ends->lifeline[1], err);
}

static size_t count_list(const char *const *list)
{
    size_t count = 0;
    while (list[count] != NULL) {
        count++;
    }
    return count;
}

/** [supervisor __supervise watch 2 "" -- /bin/sh] sh -c SCRIPT sh PROGRAM ARGS. Owned array. */
static const char **build_argv(const struct pipe_child_request *request, const char *program)
{
    size_t count = count_list(request->argv);
    const char **argv = memory_new_zero(count + 12, sizeof(*argv));
    size_t n = 0;
    if (request->supervisor != NULL) {
        argv[n++] = request->supervisor;
        argv[n++] = SUPERVISE_ARGUMENT;
        argv[n++] = SUPERVISE_JOB_WATCH;
        argv[n++] = "2";
        argv[n++] = "";
        argv[n++] = "--";
        argv[n++] = SHELL;
    }
    argv[n++] = "sh";
    argv[n++] = "-c";
    argv[n++] = SHELL_SCRIPT;
    argv[n++] = "sh";
    argv[n++] = program;
    memcpy(argv + n, request->argv + 1, (count - 1) * sizeof(*argv));
    return argv;
}

static int start_process(const struct pipe_child_request *request, const char *program,
                         const struct ends *ends, pid_t *ret_pid, struct rondo_error *err)
{
    bool has_supervisor = request->supervisor != NULL;
    const int carried[] = {ends->lifeline[1], ends->input[1], ends->output[1]};
    const char **argv = build_argv(request, program);
    const struct child_setup setup = {
        .program = has_supervisor ? request->supervisor : SHELL,
        .argv = argv,
        .envp = request->envp,
        .directory = request->directory,
        .output_fd = ends->errors[1],
        .carried = has_supervisor ? carried : carried + 1,
        .carried_count = has_supervisor ? 3 : 2,
    };
    int os_errno = child_start(&setup, ret_pid);
    free(argv);
    if (os_errno == 0) {
        return 0;
    }
    const char *directory = request->directory;
    bool lacks_directory = directory != NULL && access(directory, X_OK) != 0;
    return error_set_errno(err, RONDO_ERR_SYSTEM, os_errno, "cannot start %s",
                           lacks_directory ? directory : program);
}

static struct pipe_child *child_new(pid_t pid, int pidfd, struct ends *ends)
{
    struct pipe_child *child = memory_new_zero(1, sizeof(*child));
    *child = (struct pipe_child){
        .pid = pid,
        .pidfd = pidfd,
        .input = ends->input[0],
        .output = ends->output[0],
        .errors = ends->errors[0],
        .lifeline = ends->lifeline[0],
        .has_supervisor = ends->lifeline[0] >= 0,
    };
    *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    return child;
}

static int start(const struct pipe_child_request *request, struct ends *ends,
                 struct pipe_child **ret_child, struct rondo_error *err)
{
    char program[PATH_MAX];
    char reason[256];
    if (!program_find(request->argv[0], request->envp, request->directory, program, reason)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "%s", reason);
    }
    int code = open_ends(ends, request->supervisor != NULL, err);
    if (code != 0) {
        return code;
    }
    pid_t pid;
    code = start_process(request, program, ends, &pid, err);
    ends_close(ends, 1);
    if (code != 0) {
        return code;
    }
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        code = error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot watch a process");
        child_abandon(pid);
        return code;
    }
    *ret_child = child_new(pid, pidfd, ends);
    return 0;
}

int pipe_child_start(const struct pipe_child_request *request, struct pipe_child **ret_child,
                     struct rondo_error *err)
{
    struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int code = start(request, &ends, ret_child, err);
    ends_close(&ends, 0);
    ends_close(&ends, 1);
    return code;
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
        kill(-child->pid, SIGTERM); /* A supervisor ignores it, the server gets it. */
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
    ret_text[0] = '\0';
    if (!child->is_reaped) {
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
            snprintf(ret_text, PIPE_CHILD_END_SIZE, "%.90s", status.reason);
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
    free(child);
}
