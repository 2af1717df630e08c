// SPDX-License-Identifier: Apache-2.0
/*
 * Running a command: what really starts (sandbox around the command, supervisor around both), the
 * descriptors, the start, the watching, and the verdict. Never forks, never runs a shell by itself,
 * and never runs a command with less protection than was asked for. No state; any thread.
 */
#include "os/spawn/spawn.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/process/program.h"
#include "os/process/spawn_child.h"
#include "os/process/supervise_wire.h"
#include "os/sandbox/plan.h"
#include "os/sandbox/policy.h"
#include "os/spawn/spawn_watch.h"
#include "os/spawn/supervise.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CARRIED_MAX 8
/* How often a sandbox is set up before its failure counts. */
#define SET_UP_ATTEMPTS 4
#define SET_UP_PAUSE_NS (50 * NS_PER_MS)

/* Everything that one spawn_run owns or has decided. */
struct job {
    const struct spawn_request *request;
    struct spawn_result result;
    struct output_tail tail;
    struct sandbox_plan *plan;
    char program[PATH_MAX];
    const char **supervised_argv; /* owned array of borrowed strings */
    char numbers[SUPERVISE_NUMBERS];
    int output[2];   /* pipe: ours, the child's */
    int errors[2];   /* the same for stderr, where it is apart */
    int input;       /* what the child reads */
    int lifeline[2]; /* socket: ours, the supervisor's */
    int pidfd;
    struct child_setup setup;
    int carried[CARRIED_MAX];
};

static int not_started(struct job *job, const char *reason)
{
    job->result.end = SPAWN_NOT_STARTED;
    job->result.exit_code = 0;
    job->result.signal = 0;
    snprintf(job->result.reason, sizeof(job->result.reason), "%s", reason);
    return 0;
}

static bool is_refused(const struct job *job)
{
    return job->result.end == SPAWN_NOT_STARTED;
}

static void close_slot(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void job_fini(struct job *job)
{
    close_slot(&job->output[0]);
    close_slot(&job->output[1]);
    close_slot(&job->errors[0]);
    close_slot(&job->errors[1]);
    close_slot(&job->input);
    close_slot(&job->lifeline[0]);
    close_slot(&job->lifeline[1]);
    close_slot(&job->pidfd);
    sandbox_plan_free(job->plan);
    free(job->supervised_argv);
    buf_fini(&job->tail.buf);
    spawn_result_fini(&job->result);
}

/* --- what to start --- */

/** The command as it is: found in the PATH that it will have itself. */
static int plan_bare(struct job *job)
{
    const struct spawn_request *request = job->request;
    char reason[256];
    if (!program_find(request->argv[0], request->envp, request->directory, job->program, reason)) {
        return not_started(job, reason);
    }
    job->setup.program = job->program;
    job->setup.argv = request->argv;
    job->setup.envp = request->envp;
    return 0;
}

static int plan_sandboxed(struct job *job, struct rondo_error *err)
{
    char reason[256];
    int r = sandbox_plan_make(job->request, &job->plan, reason, err);
    if (r != 0) {
        return r;
    }
    if (job->plan == NULL) {
        return not_started(job, reason);
    }
    job->setup.program = sandbox_plan_program(job->plan);
    job->setup.argv = sandbox_plan_argv(job->plan);
    job->setup.envp = sandbox_plan_envp(job->plan);
    const int *carried = sandbox_plan_carried(job->plan, &job->setup.carried_count);
    assert(job->setup.carried_count < CARRIED_MAX);
    memcpy(job->carried, carried, job->setup.carried_count * sizeof(*carried));
    return 0;
}

static void wrap_in_supervisor(struct job *job)
{
    const struct spawn_request *request = job->request;
    const struct supervise_order order = {
        .supervisor = request->supervisor,
        .carried_count = job->setup.carried_count,
        .lock_path = request->lock_path,
        .lock_wait_ns = request->lock_wait_ns > 0 ? request->lock_wait_ns : SPAWN_LOCK_WAIT_NS,
        .lock_mark = request->lock_mark,
        .takes_lock_over = request->takes_lock_over,
        .scopes_sockets = job->plan != NULL,
        .record = job->plan == NULL ? 0 : sandbox_plan_record(job->plan),
        .helps = job->plan != NULL && sandbox_plan_supervisor_helps(job->plan),
        .private_folder = job->plan == NULL ? NULL : sandbox_plan_private_folder(job->plan),
        .groups = job->plan == NULL ? NULL : sandbox_plan_groups(job->plan),
        .program = job->setup.program,
        .argv = job->setup.argv,
    };
    job->supervised_argv = supervise_argv(&order, job->numbers);
    job->setup.argv = job->supervised_argv;
    job->setup.program = request->supervisor;
}

static int decide_what_to_start(struct job *job, struct rondo_error *err)
{
    const struct sandbox_policy *policy = job->request->sandbox;
    bool is_sandboxed = policy != NULL && policy->tier != SANDBOX_NONE;
    int r = is_sandboxed ? plan_sandboxed(job, err) : plan_bare(job);
    if (r == 0 && !is_refused(job) && job->request->supervisor != NULL) {
        wrap_in_supervisor(job);
    }
    return r;
}

/* --- descriptors --- */

static int open_pipe(int pipe_fds[2], struct rondo_error *err)
{
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot make a pipe for the output");
    }
    if (fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot set up the output's pipe");
    }
    return child_raise_fd(&pipe_fds[1], err);
}

static int open_output(struct job *job, struct rondo_error *err)
{
    int r = open_pipe(job->output, err);
    job->setup.output_fd = job->output[1];
    if (r == 0 && job->request->on_errors != NULL) {
        r = open_pipe(job->errors, err);
        job->setup.error_fd = job->errors[1];
    }
    return r;
}

/** A file in memory needs no writer while the child runs, and the child can seek in it.
 */
static int open_input(struct job *job, struct rondo_error *err)
{
    if (job->request->input == NULL) {
        return 0;
    }
    job->input = memfd_create("stdin", MFD_CLOEXEC);
    if (job->input < 0 ||
        file_write_all(job->input, job->request->input, job->request->input_len) != 0 ||
        lseek(job->input, 0, SEEK_SET) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot keep the child's input");
    }
    int r = child_raise_fd(&job->input, err);
    job->setup.input_fd = job->input;
    return r;
}

static int open_lifeline(struct job *job, struct rondo_error *err)
{
    if (job->request->supervisor == NULL) {
        return 0;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, job->lifeline) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot make a lifeline");
    }
    int r = child_raise_fd(&job->lifeline[1], err);
    memmove(job->carried + 1, job->carried, job->setup.carried_count * sizeof(*job->carried));
    job->carried[0] = job->lifeline[1];
    job->setup.carried_count++;
    return r;
}

static int open_descriptors(struct job *job, struct rondo_error *err)
{
    int r = open_output(job, err);
    if (r == 0) {
        r = open_input(job, err);
    }
    if (r == 0) {
        r = open_lifeline(job, err);
    }
    job->setup.carried = job->carried;
    job->setup.directory = job->request->directory;
    return r;
}

/* --- running --- */

static int start_failed(struct job *job, int os_errno, struct rondo_error *err)
{
    if (os_errno == EAGAIN || os_errno == ENOMEM || os_errno == EMFILE || os_errno == ENFILE) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, os_errno, "cannot start a process");
    }
    char reason[256];
    const char *directory = job->request->directory;
    bool lacks_directory = directory != NULL && access(directory, X_OK) != 0;
    snprintf(reason, sizeof(reason), "%s: %s", lacks_directory ? directory : job->setup.program,
             strerrordesc_np(os_errno));
    return not_started(job, reason);
}

/** Take the verdict of the supervisor in place of what its own end looks like. */
static void ask_supervisor(struct job *job)
{
    struct spawn_result *result = &job->result;
    bool has_ended_itself = result->end == SPAWN_EXITED || result->end == SPAWN_SIGNALLED;
    struct supervise_status status;
    ssize_t got = recv(job->lifeline[0], &status, sizeof(status), MSG_DONTWAIT);
    if (got != (ssize_t)sizeof(status)) {
        result->lost_supervisor = true;
        if (has_ended_itself) {
            result->end = SPAWN_SIGNALLED;
            snprintf(result->reason, sizeof(result->reason), "its supervisor was killed");
        }
        return;
    }
    result->exit_code = status.outcome == SUPERVISE_EXITED ? status.value : 0;
    result->signal = status.outcome == SUPERVISE_SIGNALLED ? status.value : 0;
    if (status.survivors != 0) {
        snprintf(result->reason, sizeof(result->reason), "some of its processes cannot be killed");
    }
    if (status.outcome == SUPERVISE_NOT_STARTED && result->end != SPAWN_CANCELLED) {
        status.reason[sizeof(status.reason) - 1] = '\0';
        not_started(job, status.reason);
    } else if (has_ended_itself) {
        result->end = status.outcome == SUPERVISE_EXITED ? SPAWN_EXITED : SPAWN_SIGNALLED;
    }
}

/** Find out whether the sandbox let the command run at all. */
static void ask_sandbox(struct job *job)
{
    char reason[256];
    if (job->plan != NULL && job->result.end == SPAWN_EXITED &&
        !sandbox_plan_has_run(job->plan, job->result.output, reason)) {
        not_started(job, reason);
    }
}

/** What a command left for the user's git is disarmed, and its output says so at its end. */
static void inspect_sandbox(struct job *job)
{
    auto_buf struct buf notes = {0};
    char reason[256];
    struct supervise_status status;
    if (job->plan == NULL) {
        return;
    }
    if (job->request->supervisor != NULL &&
        recv(job->lifeline[0], &status, sizeof(status), MSG_DONTWAIT | MSG_PEEK) <
            (ssize_t)sizeof(status)) {
        sandbox_plan_lost_supervisor(job->plan);
    }
    if (!sandbox_plan_inspect(job->plan, &notes, reason)) {
        not_started(job, reason);
        return;
    }
    if (notes.len > 0) {
        output_tail_add(&job->tail, notes.data, notes.len);
        if (job->request->on_output != NULL) {
            job->request->on_output(job->request->on_output_context, notes.data, notes.len);
        }
    }
}

static void conclude(struct job *job, int64_t started_ns)
{
    struct spawn_result *result = &job->result;
    inspect_sandbox(job);
    result->output_total = job->tail.total;
    result->output = output_tail_steal(&job->tail, &result->output_len);
    if (job->request->supervisor != NULL) {
        ask_supervisor(job);
    }
    ask_sandbox(job);
    if (result->end == SPAWN_SIGNALLED && result->reason[0] == '\0') {
        const char *name = sigdescr_np(result->signal);
        snprintf(result->reason, sizeof(result->reason), "ended by signal %d (%s)", result->signal,
                 name == NULL ? "unknown" : name);
    }
    result->duration_ns = clock_monotonic(clock_system()) - started_ns;
}

static int watch(struct job *job, pid_t pid, struct rondo_error *err)
{
    close_slot(&job->output[1]);
    close_slot(&job->errors[1]);
    close_slot(&job->input);
    close_slot(&job->lifeline[1]);
    if (job->plan != NULL) {
        sandbox_plan_started(job->plan);
    }
    job->pidfd = pidfd_open(pid, 0);
    if (job->pidfd < 0) {
        int r = error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot watch a process");
        child_abandon(pid);
        return r;
    }
    struct watch_child child = {
        .pid = pid,
        .pidfd = job->pidfd,
        .output_fd = job->output[0],
        .error_fd = job->errors[0],
        .lifeline_fd = job->lifeline[0],
        .plan = job->plan,
    };
    return spawn_watch(job->request, &child, &job->tail, &job->result, err);
}

static int run(struct job *job, struct rondo_error *err)
{
    int64_t started_ns = clock_monotonic(clock_system());
    int r = decide_what_to_start(job, err);
    if (r != 0 || is_refused(job)) {
        return r;
    }
    r = open_descriptors(job, err);
    if (r != 0) {
        return r;
    }
    pid_t pid;
    int os_errno = child_start(&job->setup, &pid);
    if (os_errno != 0) {
        return start_failed(job, os_errno, err);
    }
    r = watch(job, pid, err);
    if (r == 0) {
        conclude(job, started_ns);
    }
    return r;
}

/**
 * Whether bubblewrap could not make a mount, and the command has not run. For root that may be
 * because a system file that should be hidden is gone, as while packages are installed.
 */
static bool has_missed_mount(const struct job *job)
{
    static const char complaint[] = "bwrap: Can't ";
    return job->plan != NULL && is_refused(job) && geteuid() == 0 &&
           strncmp(job->result.reason, complaint, sizeof(complaint) - 1) == 0;
}

static int run_once(const struct spawn_request *request, struct spawn_result *ret_result,
                    bool *ret_has_missed_mount, struct rondo_error *err)
{
    struct job job = {
        .request = request,
        .tail = {.keep = request->output_keep},
        .output = {-1, -1},
        .errors = {-1, -1},
        .input = -1,
        .lifeline = {-1, -1},
        .pidfd = -1,
    };
    int r = run(&job, err);
    if (r == 0) {
        if (job.result.output == NULL) {
            job.result.output = memory_dup_string("");
        }
        *ret_has_missed_mount = has_missed_mount(&job);
        *ret_result = job.result;
        job.result = (struct spawn_result){0};
    }
    job_fini(&job);
    return r;
}

int spawn_run(const struct spawn_request *request, struct spawn_result *ret_result,
              struct rondo_error *err)
{
    struct spawn_result result = {0};
    bool is_due_again = true;
    int r = 0;
    for (int i = 0; i < SET_UP_ATTEMPTS && r == 0 && is_due_again; i++) {
        if (i > 0) {
            spawn_result_fini(&result);
            clock_sleep(clock_system(), i * SET_UP_PAUSE_NS, NULL);
        }
        is_due_again = false;
        r = run_once(request, &result, &is_due_again, err);
    }
    if (r == 0) {
        *ret_result = result;
    }
    return r;
}

void spawn_result_fini(struct spawn_result *result)
{
    free(result->output);
    *result = (struct spawn_result){0};
}
