// SPDX-License-Identifier: Apache-2.0
/*
 * The victim: runs loops on a store with the real driver and says on stdout what was acknowledged
 * to it, one line a write, so that its killer knows what must be in the store afterwards:
 *
 *     r                        ready, waiting at the barrier
 *     s RUN                    a run was created
 *     w RUN EPOCH HOW          a run was claimed
 *     h RUN DESCRIPTION        a run is held by another process
 *     a RUN ITERATION ATTEMPT SEQ   loop_next returned: this iteration's beginning is committed,
 *                              and all events up to SEQ are
 *     g RUN ITERATION          likewise, but the store fails and the run continues without it
 *     c RUN NUMBER             a checkpoint on demand was saved
 *     p RUN                    the run was given up
 *     e RUN STATUS             the run has its final status
 *     x RUN CODE MESSAGE       the loop cannot continue in this process
 *     f CODE MESSAGE           the store could not be opened, or no other run could be started
 *     ! TEXT                   something that must never be
 *
 * A body appends "RUN ITERATION ATTEMPT" to the effects file: the effect of the iteration on the
 * outside world, which no rollback takes back. Exit code 0 when every run ended by its limit.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "loop/driver/driver.h"
#include "loop/owner.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"
#include "victim_options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOP_STACK_BYTES (512 * 1024)
#define LIST_ROOM        4096
#define RETRY_NS         (20 * NS_PER_MS)
#define HOLD_NS          (600 * NS_PER_S)

struct victim {
    struct victim_options options;
    struct clock clock;
    struct store *store;
    struct runtime *runtime;
    int effects_fd;
    pthread_mutex_t lock; /* guards the next four */
    char (*waiting)[ID_SIZE];
    size_t waiting_count;
    size_t next_waiting;
    int64_t run_count;
    atomic_int failures;
    atomic_bool is_done; /* take no more runs */
};

static atomic_bool is_sync_off;

__attribute__((visibility("default"))) int fsync(int fd)
{
    return atomic_load(&is_sync_off) ? 0 : (int)syscall(SYS_fsync, fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return atomic_load(&is_sync_off) ? 0 : (int)syscall(SYS_fdatasync, fd);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    size_t used = len < (int)sizeof(line) - 1 ? (size_t)len : sizeof(line) - 2;
    for (size_t i = 0; i < used; i++) {
        line[i] = line[i] == '\n' ? ' ' : line[i];
    }
    line[used] = '\n';
    if (write(STDOUT_FILENO, line, used + 1) < 0) {
        _exit(3);
    }
}

static void hurried_sleep(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    const struct victim *victim = clock->context;
    clock_sleep(clock_system(), duration_ns / victim->options.hurry, cancel);
}

/** The state must be that of the iteration before; an interrupted try may have left its own. */
static void check_state(struct loop *loop)
{
    const struct run_state *state = loop_state(loop);
    const struct buf *bytes = loop_agent_state(loop);
    uint64_t remembered = bytes->len == 0 ? 0 : strtoull(buf_string(bytes), NULL, 10);
    bool is_right = remembered == state->iteration - 1 ||
                    (state->attempt > 1 && remembered == state->iteration);
    if (!is_right) {
        say("! iteration %" PRIu64 " attempt %" PRIu64 " of %s sees the state of %" PRIu64,
            state->iteration, state->attempt, loop_run_id(loop), remembered);
    }
}

static void set_state(struct victim *victim, struct loop *loop)
{
    size_t len = 32 + (size_t)victim->options.state_bytes;
    auto_free char *bytes = memory_new(len);
    struct random random = random_seeded(loop_state(loop)->iteration);
    random.fill(&random, bytes, len);
    snprintf(bytes, 32, "%" PRIu64 "\n", loop_state(loop)->iteration);
    if (loop_set_agent_state(loop, bytes, len, NULL) < 0) {
        say("! the state was refused");
    }
}

static void append_effect(struct victim *victim, struct loop *loop)
{
    char line[128];
    const struct run_state *state = loop_state(loop);
    int len = snprintf(line, sizeof(line), "%s %" PRIu64 " %" PRIu64 "\n", loop_run_id(loop),
                       state->iteration, state->attempt);
    if (victim->effects_fd >= 0 && write(victim->effects_fd, line, (size_t)len) != len) {
        say("! cannot append to the effects file: %s", strerror(errno));
    }
}

static void save_on_demand(struct victim *victim, struct loop *loop)
{
    uint64_t iteration = loop_state(loop)->iteration;
    if (victim->options.demand == 0 || iteration % (uint64_t)victim->options.demand != 0) {
        return;
    }
    struct rondo_error err = {0};
    if (loop_save_checkpoint(loop, "{\"on\":\"demand\"}", &err) == 0) {
        say("c %s %" PRIu64, loop_run_id(loop), loop_state(loop)->checkpoint_number);
    }
}

static void run_body(struct victim *victim, struct loop *loop)
{
    const struct run_state *state = loop_state(loop);
    if (loop_is_degraded(loop)) {
        say("g %s %" PRIu64, loop_run_id(loop), state->iteration);
    } else {
        say("a %s %" PRIu64 " %" PRIu64 " %" PRIu64, loop_run_id(loop), state->iteration,
            state->attempt, state->seq);
    }
    check_state(loop);
    set_state(victim, loop);
    save_on_demand(victim, loop);
    append_effect(victim, loop);
    if (victim->options.body_us > 0) {
        usleep((useconds_t)victim->options.body_us);
    }
    if (victim->options.hold && cancel_wait(loop_cancel(loop), HOLD_NS)) {
        loop_report(loop, &(struct loop_body_result){.outcome = LOOP_INTERRUPTED});
    }
}

/** Hold the run until somebody says something on stdin, then give it up. */
static void keep_until_told(struct loop *loop)
{
    char byte;
    struct rondo_error err = {0};
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
    if (loop_park(loop, &err) == 0) {
        say("p %s", loop_run_id(loop));
    } else {
        say("x %s %d %s", loop_run_id(loop), err.code, err.message);
    }
}

static void start_another(struct victim *victim);

static void turn(struct victim *victim, struct loop *loop)
{
    struct rondo_error err = {0};
    int r;
    while ((r = loop_next(loop, &err)) == LOOP_BODY) {
        run_body(victim, loop);
        if (victim->options.keep) {
            keep_until_told(loop);
            victim->is_done = true;
            return;
        }
    }
    if (r == LOOP_ENDED) {
        enum rondo_status status = loop_state(loop)->status;
        say("e %s %s", loop_run_id(loop), rondo_status_name(status));
        victim->failures += status != RONDO_MAX_ITERATIONS;
        return;
    }
    say("x %s %d %s", loop_run_id(loop), r, err.message);
    victim->failures++;
    if (victim->options.again) {
        start_another(victim);
    }
}

static void say_held(const struct store_run *holder)
{
    char text[OWNER_DESCRIPTION_SIZE];
    owner_describe(holder, text);
    say("h %s %s", holder->id, text);
}

static void not_met(const struct verifier *verifier, const struct loop_condition *condition,
                    int64_t timeout_ns, struct cancel *cancel, struct verify_result *ret_result)
{
    const struct victim *victim = verifier->context;
    (void)condition;
    (void)timeout_ns;
    (void)cancel;
    usleep((useconds_t)victim->options.verify_us);
    ret_result->status = RONDO_NOT_MET;
    ret_result->reason = RONDO_REASON_FAILED;
    ret_result->exit_code = 1;
}

static int start_run(struct victim *victim, struct loop **ret_loop, struct loop_opening *opening,
                     struct rondo_error *err)
{
    char workspace[] = "/usr"; /* Not where the store and its policies are: those decide. */
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = memory_dup_string(victim->options.agent);
    spec.kind = memory_dup_string("library");
    spec.workspace = memory_dup_string(workspace);
    spec.max_iterations = victim->options.iterations;
    spec.checkpoint_interval = victim->options.interval;
    spec.is_exclusive = victim->options.exclusive;
    spec.durability = victim->options.best_effort ? DURABILITY_BEST_EFFORT : DURABILITY_STRICT;
    if (victim->options.verify_us > 0) {
        loop_spec_add_condition(&spec, "never", "false", "given", NS_PER_S, NULL);
    }
    struct verifier verifier = {.evaluate = not_met, .context = victim};
    struct loop_parts parts = {.runtime = victim->runtime, .verifier = &verifier};
    int r = loop_start(&parts, &spec, ret_loop, opening, err);
    loop_spec_fini(&spec);
    if (r == 0 && !opening->is_held) {
        say("s %s", loop_run_id(*ret_loop));
    }
    return r;
}

/** What would follow a failed fsync must fail as well. */
static void start_another(struct victim *victim)
{
    struct loop *loop = NULL;
    struct loop_opening opening;
    struct rondo_error err = {0};
    int r = start_run(victim, &loop, &opening, &err);
    if (r < 0) {
        say("f %d %s", r, err.message);
    }
    loop_free(loop);
}

static int resume_run(struct victim *victim, const char *id, struct loop **ret_loop,
                      struct loop_opening *opening, struct rondo_error *err)
{
    struct verifier verifier = {.evaluate = not_met, .context = victim};
    struct loop_parts parts = {.runtime = victim->runtime, .verifier = &verifier};
    int64_t deadline = clock_monotonic(clock_system()) + victim->options.patience_ms * NS_PER_MS;
    int r;
    for (;;) {
        r = loop_resume(&parts, id, NULL, NULL, -1, ret_loop, opening, err);
        if (r < 0 || !opening->is_held || clock_monotonic(clock_system()) >= deadline) {
            break;
        }
        clock_sleep(clock_system(), RETRY_NS, NULL);
    }
    if (r == 0 && !opening->is_held) {
        say("w %s %" PRIu64 " %s", id, loop_state(*ret_loop)->epoch, opening->how);
    }
    return r;
}

/** Do one run, resumed or new, to its end. */
static void do_run(struct victim *victim, const char *id)
{
    struct loop *loop = NULL;
    struct loop_opening opening = {0};
    struct rondo_error err = {0};
    int r = id == NULL ? start_run(victim, &loop, &opening, &err)
                       : resume_run(victim, id, &loop, &opening, &err);
    bool is_of_others = victim->options.others && (r == RONDO_ERR_STATE || opening.is_held);
    if (is_of_others) {
        loop_free(loop);
        return;
    }
    if (r < 0) {
        say("x %s %d %s", id == NULL ? "-" : id, r, err.message);
        victim->failures++;
        if (victim->options.again) {
            start_another(victim);
        }
    } else if (opening.is_held) {
        say_held(&opening.holder);
        victim->failures++;
    } else {
        turn(victim, loop);
    }
    loop_free(loop);
}

/** @return whether there is a run to do; `ret_id` is "" for a new one */
static bool take_run(struct victim *victim, char *ret_id)
{
    bool is_found = true;
    pthread_mutex_lock(&victim->lock);
    ret_id[0] = '\0';
    if (victim->next_waiting < victim->waiting_count) {
        memcpy(ret_id, victim->waiting[victim->next_waiting++], ID_SIZE);
    } else if (victim->options.resume == NULL && victim->run_count < victim->options.runs) {
        victim->run_count++;
    } else {
        is_found = false;
    }
    pthread_mutex_unlock(&victim->lock);
    return is_found;
}

static void *thread_main(void *context)
{
    struct victim *victim = context;
    char id[ID_SIZE];
    while (victim->failures == 0 && !victim->is_done && take_run(victim, id)) {
        do_run(victim, id[0] == '\0' ? NULL : id);
    }
    return NULL;
}

static bool note_run(const struct store_run *run, void *context)
{
    struct victim *victim = context;
    victim->run_count++;
    bool is_over = run->summary.status == RONDO_MAX_ITERATIONS;
    if (!is_over && victim->waiting_count < LIST_ROOM) {
        memcpy(victim->waiting[victim->waiting_count++], run->id, ID_SIZE);
    }
    return true;
}

static int open_store(struct victim *victim, struct rondo_error *err)
{
    if (store_postgres_is_address(victim->options.store)) {
        const struct store_postgres_options options = {.address = victim->options.store,
                                                       .may_create = true};
        return store_postgres_open(&options, &victim->store, err);
    }
    struct store_sqlite_options store_options = {
        .path = victim->options.store,
        .may_create = true,
        .clock = &victim->clock,
        .busy_timeout_ns = victim->options.busy_ms * NS_PER_MS,
    };
    return store_sqlite_open(&store_options, &victim->store, err);
}

static int open_all(struct victim *victim, struct rondo_error *err)
{
    int r = open_store(victim, err);
    if (r < 0) {
        return r;
    }
    struct runtime_options runtime_options = {
        .store = victim->store,
        .clock = &victim->clock,
        .lease_ns = victim->options.lease_ms * NS_PER_MS,
        .policy = victim->options.policy,
        .is_store_remote = store_postgres_is_address(victim->options.store),
    };
    r = runtime_new(&runtime_options, &victim->runtime, err);
    if (r < 0) {
        return r;
    }
    victim->waiting = memory_new_zero(LIST_ROOM, ID_SIZE);
    if (victim->options.resume != NULL) {
        snprintf(victim->waiting[0], ID_SIZE, "%s", victim->options.resume);
        victim->waiting_count = 1;
        return 0;
    }
    struct store_run_query query = {0};
    return victim->store->ops->list_runs(victim->store, &query, note_run, victim, err);
}

static void run_threads(struct victim *victim)
{
    size_t count = (size_t)victim->options.threads;
    if (count == 1) {
        thread_main(victim); /* Keeps system calls countable for fault injection. */
        return;
    }
    pthread_t *threads = memory_new_zero(count, sizeof(*threads));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, LOOP_STACK_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (pthread_create(&threads[i], &attributes, thread_main, victim) != 0) {
            abort();
        }
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_attr_destroy(&attributes);
    free(threads);
}

static void wait_at_barrier(void)
{
    char byte;
    say("r");
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        _exit(4);
    }
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc > 2 && strcmp(argv[1], "--exec") == 0) {
        execvp(argv[2], &argv[2]); /* Programs that know nothing of this end with the test too. */
        perror(argv[2]);
        return 127;
    }
    struct victim victim = {.options = victim_options_parse(argc, argv), .effects_fd = -1};
    is_sync_off = victim.options.no_sync;
    victim.clock = *clock_system();
    victim.clock.sleep = hurried_sleep;
    victim.clock.context = &victim;
    pthread_mutex_init(&victim.lock, NULL);
    if (victim.options.effects != NULL) {
        victim.effects_fd =
            open(victim.options.effects, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    struct rondo_error err = {0};
    int r = open_all(&victim, &err);
    if (r < 0) {
        say("f %d %s", r, err.message);
        return 1;
    }
    if (victim.options.barrier) {
        wait_at_barrier();
    }
    run_threads(&victim);
    free(victim.waiting);
    runtime_free(victim.runtime);
    store_close(victim.store);
    return victim.failures == 0 ? 0 : 1;
}
