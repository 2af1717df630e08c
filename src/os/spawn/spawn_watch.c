// SPDX-License-Identifier: Apache-2.0
/*
 * The loop around a running child: one poll over its output, its pidfd, the cancel token and the
 * sandbox's set-up. Three phases, never backwards: running, ending (TERM was sent, the grace
 * runs), killed. On the calling thread only.
 */
#include "os/spawn/spawn_watch.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "os/process/spawn_request.h"
#include "os/process/supervise_wire.h"
#include "os/sandbox/plan.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_CHUNK_BYTES 16384
/* A descendant that left the group can write for ever; after the child's end this much is read. */
#define DRAIN_BYTES (1024 * 1024)
/* While a deadline runs, looks are at most so far apart: one that comes much later means
 * a freeze.
 */
#define LONGEST_WAIT_NS NS_PER_S
#define FREEZE_NS       NS_PER_S
/* How often a token that is set already is looked at again for a higher level. */
#define CANCEL_LOOK_NS (10 * NS_PER_MS)
/* A supervisor that does not end this long after the order to kill is stopped or broken. */
#define SUPERVISOR_PATIENCE_NS (SUPERVISE_KILL_WAIT_NS + 5 * NS_PER_S)
#define NEVER_NS               INT64_MAX

enum watch_phase { WATCH_RUNNING, WATCH_ENDING, WATCH_KILLED };

struct child_watch {
    const struct spawn_request *request;
    const struct watch_child *child;
    struct output_tail *tail;
    struct spawn_result *result;
    enum watch_phase phase;
    int64_t started_ns;
    int64_t last_output_ns;
    int64_t phase_deadline_ns;
    int output_fd; /* -1 once the output has ended */
    int error_fd;
};

static int64_t now_ns(void)
{
    return clock_monotonic(clock_system());
}

/* --- output --- */

typedef void take_bytes(void *context, const char *bytes, size_t len);

/** Read once. @return bytes taken, 0 when there is nothing now or any more. */
static size_t take_output(struct child_watch *watch, int *fd, take_bytes *take)
{
    char chunk[READ_CHUNK_BYTES];
    ssize_t got = read(*fd, chunk, sizeof(chunk));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (got <= 0) {
        *fd = -1;
        return 0;
    }
    watch->last_output_ns = now_ns();
    output_tail_add(watch->tail, chunk, (size_t)got);
    if (take != NULL) {
        take(watch->request->on_output_context, chunk, (size_t)got);
    }
    return (size_t)got;
}

static void drain_output(struct child_watch *watch, int *fd, take_bytes *take)
{
    size_t drained = 0;
    size_t got = 1;
    while (*fd >= 0 && got > 0 && drained < DRAIN_BYTES) {
        got = take_output(watch, fd, take);
        drained += got;
    }
}

/* --- ending the child --- */

static void order_supervisor(const struct child_watch *watch, char order)
{
    /* When the supervisor is gone its end shows in the pidfd; the order is not needed then. A
     * stopped supervisor could not obey. */
    (void)send(watch->child->lifeline_fd, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    kill(watch->child->pid, SIGCONT);
}

/** A supervisor is in this group too and ignores the signal. */
static void terminate(const struct child_watch *watch)
{
    if (watch->child->plan == NULL || !sandbox_plan_terminate(watch->child->plan)) {
        kill(-watch->child->pid, SIGTERM);
    }
}

static void enter_killed(struct child_watch *watch)
{
    watch->phase = WATCH_KILLED;
    watch->phase_deadline_ns = NEVER_NS;
    if (watch->child->lifeline_fd >= 0) {
        order_supervisor(watch, SUPERVISE_KILL);
        watch->phase_deadline_ns = now_ns() + SUPERVISOR_PATIENCE_NS;
    } else {
        kill(-watch->child->pid, SIGKILL);
    }
}

static void enter_ending(struct child_watch *watch, enum spawn_end end)
{
    int64_t grace_ns = watch->request->grace_ns > 0 ? watch->request->grace_ns : SPAWN_GRACE_NS;
    watch->result->end = end;
    watch->phase = WATCH_ENDING;
    watch->phase_deadline_ns = now_ns() + grace_ns;
    terminate(watch);
}

static void look_at_cancel(struct child_watch *watch)
{
    enum cancel_level level = cancel_level(watch->request->cancel);
    if (level == CANCEL_NONE || watch->phase == WATCH_KILLED) {
        return;
    }
    if (watch->phase == WATCH_RUNNING) {
        watch->result->end = SPAWN_CANCELLED;
        snprintf(watch->result->reason, sizeof(watch->result->reason), "cancelled");
    }
    if (level == CANCEL_NOW) {
        enter_killed(watch);
    } else if (watch->phase == WATCH_RUNNING) {
        enter_ending(watch, SPAWN_CANCELLED);
    }
}

/* --- deadlines --- */

struct deadline {
    int64_t at_ns;
    int64_t length_ns;
    const char *text;
};

static void take_earlier(struct deadline *earliest, int64_t from_ns, int64_t length_ns,
                         const char *text)
{
    if (length_ns > 0 && length_ns < earliest->at_ns - from_ns) {
        *earliest = (struct deadline){from_ns + length_ns, length_ns, text};
    }
}

static struct deadline next_deadline(const struct child_watch *watch)
{
    const struct spawn_request *request = watch->request;
    struct deadline earliest = {.at_ns = NEVER_NS};
    take_earlier(&earliest, watch->started_ns, request->total_ns, "ran longer than");
    if (watch->tail->total == 0) {
        take_earlier(&earliest, watch->started_ns, request->first_output_ns,
                     "wrote nothing at all for");
    } else {
        take_earlier(&earliest, watch->last_output_ns, request->silence_ns, "wrote nothing for");
    }
    return earliest;
}

static void look_at_deadlines(struct child_watch *watch)
{
    int64_t now = now_ns();
    if (watch->phase == WATCH_RUNNING) {
        struct deadline deadline = next_deadline(watch);
        if (now >= deadline.at_ns) {
            char length[FORMAT_DURATION_SIZE];
            format_duration(deadline.length_ns, length);
            snprintf(watch->result->reason, sizeof(watch->result->reason), "%s %s", deadline.text,
                     length);
            enter_ending(watch, SPAWN_TIMED_OUT);
        }
    } else if (now >= watch->phase_deadline_ns && watch->phase == WATCH_ENDING) {
        enter_killed(watch);
    } else if (now >= watch->phase_deadline_ns) {
        watch->phase_deadline_ns = NEVER_NS;
        kill(-watch->child->pid, SIGKILL);
    }
}

/* --- the loop --- */

static int64_t time_to_wait(const struct child_watch *watch)
{
    int64_t until =
        watch->phase == WATCH_RUNNING ? next_deadline(watch).at_ns : watch->phase_deadline_ns;
    int64_t wait = until == NEVER_NS ? NEVER_NS : until - now_ns();
    if (watch->phase == WATCH_RUNNING && wait != NEVER_NS && wait > LONGEST_WAIT_NS) {
        wait = LONGEST_WAIT_NS;
    }
    if (watch->phase == WATCH_ENDING && watch->request->cancel != NULL && wait > CANCEL_LOOK_NS) {
        wait = CANCEL_LOOK_NS;
    }
    return wait > 0 ? wait : 0;
}

/**
 * A wait that took much longer than it was meant to: this process was stopped. That time counts
 * against no deadline of the child: Rondo did not see whether it was silent.
 */
static void excuse_freeze(struct child_watch *watch, int64_t begun_ns, int64_t wait_ns)
{
    int64_t late_ns = wait_ns == NEVER_NS ? 0 : now_ns() - begun_ns - wait_ns;
    if (late_ns > FREEZE_NS) {
        watch->started_ns += late_ns;
        watch->last_output_ns += late_ns;
    }
}

enum { SLOT_PIDFD, SLOT_OUTPUT, SLOT_ERRORS, SLOT_CANCEL, SLOT_PLAN, SLOT_COUNT };

/** Wait for the next event and handle it. @return whether the child has ended. */
static bool step(struct child_watch *watch)
{
    const struct watch_child *child = watch->child;
    bool looks_at_token = watch->phase == WATCH_RUNNING && watch->request->cancel != NULL;
    struct pollfd slots[SLOT_COUNT] = {
        [SLOT_PIDFD] = {.fd = child->pidfd, .events = POLLIN},
        [SLOT_OUTPUT] = {.fd = watch->output_fd, .events = POLLIN},
        [SLOT_ERRORS] = {.fd = watch->error_fd, .events = POLLIN},
        [SLOT_CANCEL] = {.fd = looks_at_token ? watch->request->cancel->event_fd : -1,
                         .events = POLLIN},
        [SLOT_PLAN] = {.fd = child->plan == NULL ? -1 : sandbox_plan_poll_fd(child->plan),
                       .events = POLLIN},
    };
    int64_t wait = time_to_wait(watch);
    struct timespec timeout = {.tv_sec = wait / NS_PER_S, .tv_nsec = wait % NS_PER_S};
    int64_t begun_ns = now_ns();
    if (ppoll(slots, SLOT_COUNT, wait == NEVER_NS ? NULL : &timeout, NULL) < 0) {
        return false;
    }
    excuse_freeze(watch, begun_ns, wait);
    if (slots[SLOT_OUTPUT].revents != 0) {
        take_output(watch, &watch->output_fd, watch->request->on_output);
    }
    if (slots[SLOT_ERRORS].revents != 0) {
        take_output(watch, &watch->error_fd, watch->request->on_errors);
    }
    if (slots[SLOT_PLAN].revents != 0) {
        sandbox_plan_advance(child->plan);
    }
    return slots[SLOT_PIDFD].revents != 0;
}

/** Kill what is left of the group and reap. The unreaped leader keeps the group's number ours. */
static int reap(struct child_watch *watch, struct rondo_error *err)
{
    kill(-watch->child->pid, SIGKILL);
    siginfo_t info = {0};
    while (waitid(P_PIDFD, (id_t)watch->child->pidfd, &info, WEXITED) != 0) {
        if (errno != EINTR) {
            return error_set_errno(err, RONDO_ERR_SYSTEM, errno,
                                   "cannot learn how the child ended (is SIGCHLD ignored?)");
        }
    }
    struct spawn_result *result = watch->result;
    if (info.si_code == CLD_EXITED) {
        result->exit_code = info.si_status;
    } else {
        result->signal = info.si_status;
    }
    if (watch->phase == WATCH_RUNNING) {
        result->end = info.si_code == CLD_EXITED ? SPAWN_EXITED : SPAWN_SIGNALLED;
    }
    return 0;
}

int spawn_watch(const struct spawn_request *request, const struct watch_child *child,
                struct output_tail *tail, struct spawn_result *result, struct rondo_error *err)
{
    struct child_watch watch = {
        .request = request,
        .child = child,
        .tail = tail,
        .result = result,
        .started_ns = now_ns(),
        .output_fd = child->output_fd,
        .error_fd = child->error_fd,
    };
    bool has_ended = false;
    while (!has_ended) {
        look_at_cancel(&watch);
        look_at_deadlines(&watch);
        has_ended = step(&watch);
    }
    int r = reap(&watch, err);
    drain_output(&watch, &watch.output_fd, request->on_output);
    drain_output(&watch, &watch.error_fd, request->on_errors);
    return r;
}
