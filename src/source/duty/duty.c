// SPDX-License-Identifier: Apache-2.0
/*
 * Duty's life and its thread, which waits for everything at once: a run that ended, a request that
 * may start, a source that is due or readable, a role file that changed. Without any of these it
 * sleeps.
 */
#include "source/duty/duty.h"

#include "base/error.h"
#include "base/memory.h"
#include "loop/runtime.h"
#include "source/duty/duty_internal.h"
#include "source/webhook/hook_ports.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)1024 * 1024)
/** Descriptors of its own, before those of sources. */
enum { POLL_WAKE, POLL_WATCH, POLL_TIMER, POLL_OWN };

/* ---- Talking -------------------------------------------------------------------------------- */

static void log_line(const struct duty *duty, const char *format, va_list arguments)
{
    char line[RONDO_ERROR_MESSAGE_SIZE + 512];
    vsnprintf(line, sizeof(line), format, arguments);
    if (duty->options.log != NULL) {
        duty->options.log(duty->options.log_context, line);
    }
}

void duty_log(const struct duty *duty, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_line(duty, format, arguments);
    va_end(arguments);
}

void duty_tell(const struct duty *duty, const char *format, ...)
{
    va_list arguments;
    if (!duty->options.is_quiet) {
        va_start(arguments, format);
        log_line(duty, format, arguments);
        va_end(arguments);
    }
}

void duty_wake(struct duty *duty)
{
    uint64_t one = 1;
    /* A counter that is full has been written before, which is as good. */
    (void)!write(duty->wake_fd, &one, sizeof(one));
}

static void wake(void *context)
{
    duty_wake(context);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/** What poll() waits for. */
struct duty_poll {
    struct pollfd *fds;
    struct duty_source **sources; /* of fds[POLL_OWN + i] */
    size_t count;
    size_t room;
};

static void add_poll(struct duty_poll *list, int fd, struct duty_source *source)
{
    if (list->count == list->room) {
        list->room = list->room * 2 + 16;
        list->fds = memory_resize(list->fds, list->room, sizeof(*list->fds));
        list->sources = memory_resize(list->sources, list->room, sizeof(*list->sources));
    }
    list->fds[list->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    list->sources[list->count++] = source;
}

static void fill_poll(struct duty *duty, struct duty_poll *list)
{
    int64_t now_ns = clock_monotonic(duty->clock);
    list->count = 0;
    add_poll(list, duty->wake_fd, NULL);
    add_poll(list, duty->watch_fd, NULL);
    add_poll(list, duty->timer_fd, NULL);
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (struct duty_source *at = role->sources; at != NULL; at = at->next) {
            int fd = at->source == NULL || at->type->descriptor == NULL || at->retry_ns > now_ns
                         ? -1
                         : at->type->descriptor(at->source);
            if (fd >= 0) {
                add_poll(list, fd, at);
            }
        }
    }
}

/** Have the timer ring at a time of the wall clock, or when that is set. */
static void set_timer(struct duty *duty, int64_t due_ns)
{
    struct itimerspec when = {0};
    if (due_ns != SOURCE_NEVER) {
        due_ns = due_ns > 0 ? due_ns : 1;
        when.it_value.tv_sec = due_ns / NS_PER_S;
        when.it_value.tv_nsec = due_ns % NS_PER_S;
    } else { /* Still to be told when the clock is set: a year from now. */
        when.it_value.tv_sec = clock_now(duty->clock) / NS_PER_S + INT64_C(31536000);
    }
    timerfd_settime(duty->timer_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL);
}

static int64_t earlier(int64_t left, int64_t right)
{
    return right != 0 && right < left ? right : left;
}

/** Milliseconds until something of the monotonic clock is due, rounded up. */
static int poll_timeout(const struct duty *duty)
{
    int64_t until_ns = duty->upkeep_at_ns;
    until_ns = earlier(until_ns, duty->peers_at_ns);
    until_ns = earlier(until_ns, duty->read_at_ns);
    until_ns = earlier(until_ns, duty->restart_at_ns);
    until_ns = earlier(until_ns, duty->restart_at_ns == 0 ? intake_retry_ns(duty->intake) : 0);
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (const struct duty_source *at = role->sources; at != NULL; at = at->next) {
            until_ns = earlier(until_ns, at->retry_ns);
        }
    }
    int64_t held_until_ns = SOURCE_NEVER;
    if (duty_is_holding(duty, &held_until_ns)) {
        until_ns = earlier(until_ns, clock_monotonic(duty->clock) + DUTY_BUDGET_NS);
    }
    int64_t left_ns = until_ns - clock_monotonic(duty->clock);
    int64_t left_ms = left_ns <= 0 ? 0 : left_ns / NS_PER_MS + 1;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void drain_counter(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof(count));
}

/** Wait, and call what became readable. */
static void wait_for_events(struct duty *duty, struct duty_poll *list)
{
    fill_poll(duty, list);
    if (poll(list->fds, list->count, poll_timeout(duty)) <= 0) {
        return;
    }
    drain_counter(duty->wake_fd);
    drain_counter(duty->timer_fd); /* ECANCELED: the clock was set */
    if (duty->watch_fd >= 0 && list->fds[POLL_WATCH].revents != 0) {
        duty_note_changes(duty);
    }
    for (size_t i = POLL_OWN; i < list->count; i++) {
        if (list->fds[i].revents != 0) {
            duty_call_ready(duty, list->sources[i]);
        }
    }
}

static void reload(struct duty *duty)
{
    struct rondo_error err = {0};
    duty->read_at_ns = 0;
    duty_watch_folders(duty);
    if (duty_read_roles(duty, &err) < 0) {
        duty_log(duty, "%s", err.message);
    }
}

static void upkeep(struct duty *duty)
{
    struct rondo_error err = {0};
    duty->upkeep_at_ns = clock_monotonic(duty->clock) + DUTY_UPKEEP_NS;
    int r = intake_purge(duty->intake, &err);
    r = r < 0 ? r : intake_adopt(duty->intake, &err);
    if (r < 0) {
        duty_log(duty, "%s", err.message);
    }
    malloc_trim(0); /* A burst of events is over: what it used need not stay. */
}

static void *duty_main(void *context)
{
    struct duty *duty = context;
    struct duty_poll list = {0};
    while (!atomic_load(&duty->is_ending)) {
        int64_t now_ns = clock_monotonic(duty->clock);
        if (duty->read_at_ns != 0 && duty->read_at_ns <= now_ns) {
            reload(duty);
        }
        if (duty->upkeep_at_ns <= now_ns) {
            upkeep(duty);
        }
        if (duty->peers_at_ns <= now_ns) {
            duty_look_at_peers(duty);
        }
        int64_t due_ns = duty_fire_due(duty);
        duty_release_held(duty);
        duty_start_requests(duty);
        duty_show_sources(duty);
        (void)duty_is_holding(duty, &due_ns);
        set_timer(duty, due_ns);
        wait_for_events(duty, &list);
    }
    free(list.fds);
    free(list.sources);
    return NULL;
}

/* ---- Start and end -------------------------------------------------------------------------- */

static void set_options(struct duty *duty, const struct duty_options *options)
{
    struct duty_options *own = &duty->options;
    *own = *options;
    own->workspace = memory_dup_string(options->workspace);
    own->config_folder = memory_dup_string(options->config_folder);
    own->prices_file = memory_dup_string(options->prices_file);
    own->skill_folder = memory_dup_string(options->skill_folder);
    own->model = memory_dup_string(options->model);
    own->paths = NULL;
    duty->paths = memory_dup_list(options->paths);
    duty->store = runtime_store(options->runtime);
    duty->clock = runtime_clock(options->runtime);
}

static int open_descriptors(struct duty *duty, struct rondo_error *err)
{
    duty->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    duty->timer_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (duty->wake_fd < 0 || duty->timer_fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot start the sources");
    }
    return 0;
}

/** An event did not become a run of its own, or is late. Any thread. */
static void tell_notice(void *context, const struct start_refusal *refusal)
{
    auto_buf struct buf text = {0};
    if (refusal->unsaid > 0) {
        refusal_sentence(refusal, &text);
        duty_log(context, "%s: %s", refusal->role, buf_string(&text));
    }
}

static int open_intake(struct duty *duty, struct rondo_error *err)
{
    struct intake_options options = {
        .store = duty->store,
        .clock = duty->clock,
        .random = runtime_random(duty->options.runtime),
        .owner = runtime_owner(duty->options.runtime),
        .max_running = duty->options.max_running,
        .on_ready = wake,
        .on_notice = tell_notice,
        .is_dead = duty_owner_is_dead,
        .context = duty,
    };
    return intake_open(&options, &duty->intake, err);
}

/** Whether there is anything to do at all. */
static int check_roles(const struct duty *duty, struct rondo_error *err)
{
    size_t used = 0;
    size_t working = 0;
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        used += role->is_used ? 1 : 0;
        for (const struct duty_source *at = role->sources; at != NULL; at = at->next) {
            /* Without a trigger, nothing would ever schedule a follow-up. */
            working += at->source != NULL && strcmp(at->type->name, "scheduled") != 0 ? 1 : 0;
        }
    }
    if (used == 0) {
        return error_set(err, RONDO_ERR_INVALID, "no role can be used");
    }
    if (working == 0) {
        return error_set(err, RONDO_ERR_INVALID,
                         "no role has a trigger that works; add `triggers` to its `spec`");
    }
    duty_tell(duty, "%zu role%s on duty with %zu source%s", used, used == 1 ? "" : "s", working,
              working == 1 ? "" : "s");
    return 0;
}

static int start_thread(struct duty *duty, struct rondo_error *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failure = pthread_create(&duty->thread, &attributes, duty_main, duty);
    pthread_attr_destroy(&attributes);
    if (failure != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, failure, "cannot start the sources");
    }
    duty->has_thread = true;
    return 0;
}

int duty_start(const struct duty_options *options, struct duty **ret_duty, struct rondo_error *err)
{
    struct duty *duty = memory_new_zero(1, sizeof(*duty));
    duty->watch_fd = -1;
    set_options(duty, options);
    duty->ports = hook_ports_new();
    pthread_mutex_init(&duty->peers_lock, NULL);
    pthread_rwlock_init(&duty->hooks_lock, NULL);
    int r = open_descriptors(duty, err);
    r = r < 0 ? r : duty_join_peers(duty, err);
    r = r < 0 ? r : open_intake(duty, err);
    if (r == 0) {
        duty_forget_sources(duty);
        struct rondo_error watch_err = {0};
        if (duty_watch(duty, &watch_err) < 0) {
            duty_log(duty, "%s: changes of role files take effect at the next start",
                     watch_err.message);
        }
        r = duty_read_roles(duty, err);
    }
    r = r < 0 ? r : duty_count_running(duty, err);
    r = r < 0 ? r : check_roles(duty, err);
    if (r == 0) {
        duty_note_folders(duty);
    }
    duty->is_started = true;
    duty->upkeep_at_ns = clock_monotonic(duty->clock) + DUTY_UPKEEP_NS;
    duty->peers_at_ns = clock_monotonic(duty->clock) + DUTY_PEERS_NS;
    r = r < 0 ? r : start_thread(duty, err);
    if (r < 0) {
        duty_stop(duty);
        return r;
    }
    runtime_listen(duty->options.runtime, wake, duty);
    *ret_duty = duty;
    return 0;
}

void duty_drain(struct duty *duty)
{
    atomic_store(&duty->is_ending, true);
    if (duty->has_thread) {
        runtime_listen(duty->options.runtime, NULL, NULL);
        duty_wake(duty);
        pthread_join(duty->thread, NULL);
        duty->has_thread = false;
    }
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        duty_close_sources(duty, role);
    }
}

void duty_stop(struct duty *duty)
{
    if (duty == NULL) {
        return;
    }
    duty_drain(duty);
    duty_free_roles(duty);
    hook_ports_free(duty->ports);
    intake_close(duty->intake);
    duty_leave_peers(duty);
    pthread_mutex_destroy(&duty->peers_lock);
    if (duty->wake_fd > 0) {
        close(duty->wake_fd);
    }
    if (duty->timer_fd > 0) {
        close(duty->timer_fd);
    }
    free(duty->skill_watches);
    if (duty->watch_fd >= 0) {
        close(duty->watch_fd);
    }
    pthread_rwlock_destroy(&duty->hooks_lock);
    memory_free_list(duty->paths);
    free((char *)duty->options.workspace);
    free((char *)duty->options.config_folder);
    free((char *)duty->options.prices_file);
    free((char *)duty->options.skill_folder);
    free((char *)duty->options.model);
    free(duty);
}

struct intake *duty_intake(struct duty *duty)
{
    return duty->intake;
}
