// SPDX-License-Identifier: Apache-2.0
/* The group-committing writer: many threads, several transactions at a time, one bad batch among
 * good ones, and waiting. */
#include "../../support/store/fault.h"
#include "../../support/store/memory_store.h"
#include "store/sqlite/sqlite.h"
#include "store/writer.h"
#include "support.h"

#include "base/cancel.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/** So long that a test which waits for its end fails by the test runner's own limit. */
#define FOREVER_NS (3600 * NS_PER_S)
/** More threads than fit in one transaction. */
#define THREADS 300

/** A writer over a memory store whose operations a test can hold up and fail. */
struct rig {
    struct store *inner;
    struct store *store;
    struct writer *writer;
    _Atomic int fail_code;    /**< of commits that fail */
    _Atomic int fail_count;   /**< so many of the next commits fail */
    _Atomic int holds;        /**< so many of the next commits wait for `release` */
    _Atomic bool has_no_eyes; /**< last_position fails, so that only a wake-up can help */
    sem_t held;               /**< a commit is being held up */
    sem_t release;
};

static enum store_fault decide(void *context, const char *operation, uint64_t call, int *ret_code)
{
    (void)call;
    struct rig *rig = context;
    if (strcmp(operation, "last_position") == 0) {
        return atomic_load(&rig->has_no_eyes) ? STORE_FAULT_BEFORE : STORE_FAULT_NONE;
    }
    if (strcmp(operation, "commit") != 0) {
        return STORE_FAULT_NONE;
    }
    int holds = atomic_load(&rig->holds);
    while (holds > 0 && !atomic_compare_exchange_weak(&rig->holds, &holds, holds - 1)) {
    }
    if (holds > 0) {
        sem_post(&rig->held);
        sem_wait(&rig->release);
        return STORE_FAULT_NONE;
    }
    if (atomic_load(&rig->fail_count) > 0) {
        atomic_fetch_sub(&rig->fail_count, 1);
        *ret_code = atomic_load(&rig->fail_code);
        return STORE_FAULT_AFTER;
    }
    return STORE_FAULT_NONE;
}

static int make_rig(void **state)
{
    static struct rig rig;
    memset(&rig, 0, sizeof(rig));
    sem_init(&rig.held, 0, 0);
    sem_init(&rig.release, 0, 0);
    rig.inner = store_memory_new(NULL);
    rig.store =
        store_fault_new(rig.inner, &(struct store_fault_plan){.decide = decide, .context = &rig});
    rig.writer = writer_new(rig.store);
    *state = &rig;
    return 0;
}

static int free_rig(void **state)
{
    struct rig *rig = *state;
    writer_free(rig->writer);
    store_close(rig->store);
    store_close(rig->inner);
    sem_destroy(&rig->held);
    sem_destroy(&rig->release);
    return 0;
}

/** One thread that commits events to its own run. */
struct committer {
    struct writer *writer;
    struct test_id id;
    uint64_t epoch;
    uint64_t first_seq;
    uint64_t count; /**< batches of one event each */
    pthread_t thread;
    int code; /**< of the last commit */
    struct store_commit_result result;
    struct rondo_error err;
};

static void *commit_in_turn(void *argument)
{
    struct committer *committer = argument;
    struct store_event event = test_event("{}");
    for (uint64_t i = 0; i < committer->count && committer->code == 0; i++) {
        struct store_batch batch =
            test_batch(committer->id.text, committer->epoch, committer->first_seq + i, &event, 1);
        committer->code =
            writer_commit(committer->writer, &batch, &committer->result, &committer->err);
    }
    return NULL;
}

static struct committer make_committer(struct writer *writer, unsigned number)
{
    struct committer committer = {
        .writer = writer,
        .id = test_id(number),
        .epoch = 1,
        .first_seq = 1,
        .count = 1,
    };
    test_create(writer_store(writer), committer.id.text, "agent", false);
    return committer;
}

static void start(struct committer *committer)
{
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
    assert_int_equal(pthread_create(&committer->thread, &attributes, commit_in_turn, committer), 0);
    pthread_attr_destroy(&attributes);
}

static void join(struct committer *committer)
{
    assert_int_equal(pthread_join(committer->thread, NULL), 0);
}

#define RIG_TEST(name) TEST_WITH(name, make_rig, free_rig)

RIG_TEST(one_thread_commits_without_company)
{
    struct rig *rig = *state;
    struct committer alone = make_committer(rig->writer, 1);
    alone.count = 3;
    commit_in_turn(&alone);
    assert_int_equal(alone.code, 0);
    assert_int_equal(alone.result.outcome, STORE_COMMITTED);
    assert_int_equal(alone.result.position, 3);
    struct writer_counters counters = writer_counters(rig->writer);
    assert_int_equal(counters.transactions, 3);
    assert_int_equal(counters.batches, 3);
    assert_int_equal(counters.events, 3);
    assert_ptr_equal(writer_store(rig->writer), rig->store);
}

static void add_duration(void *context, int64_t duration_ns)
{
    unsigned *told = context;
    assert_true(duration_ns >= 0);
    ++*told;
}

RIG_TEST(somebody_is_told_the_time_of_each_transaction)
{
    struct rig *rig = *state;
    unsigned told = 0;
    struct committer alone = make_committer(rig->writer, 1);
    alone.count = 3;
    writer_observe(rig->writer, add_duration, &told);
    commit_in_turn(&alone);
    assert_int_equal(told, 3);
    writer_observe(rig->writer, NULL, NULL);
    struct committer other = make_committer(rig->writer, 2);
    other.count = 1;
    commit_in_turn(&other);
    assert_int_equal(told, 3);
}

RIG_TEST(batches_that_wait_share_a_transaction)
{
    struct rig *rig = *state;
    static struct committer committers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        committers[i] = make_committer(rig->writer, i);
        committers[i].count = 4;
    }
    atomic_store(&rig->holds, 1);
    start(&committers[0]);
    sem_wait(&rig->held);
    for (unsigned i = 1; i < THREADS; i++) {
        start(&committers[i]);
    }
    sem_post(&rig->release);
    for (unsigned i = 0; i < THREADS; i++) {
        join(&committers[i]);
        assert_int_equal(committers[i].code, 0);
        assert_int_equal(test_count_events(rig->inner, committers[i].id.text), 4);
    }
    struct writer_counters counters = writer_counters(rig->writer);
    assert_int_equal(counters.batches, 4 * THREADS);
    assert_int_equal(counters.events, 4 * THREADS);
    assert_true(counters.transactions < counters.batches);
    assert_int_equal(test_last_position(rig->inner), 4 * THREADS);
}

/** Hold up a first commit while others are started; then let all of them go. */
static void commit_together(struct rig *rig, struct committer *committers, size_t count)
{
    struct committer first = make_committer(rig->writer, 99999);
    atomic_store(&rig->holds, 1);
    start(&first);
    sem_wait(&rig->held);
    for (size_t i = 0; i < count; i++) {
        start(&committers[i]);
    }
    sem_post(&rig->release);
    join(&first);
    for (size_t i = 0; i < count; i++) {
        join(&committers[i]);
    }
}

RIG_TEST(a_fenced_batch_does_not_hurt_its_neighbours)
{
    struct rig *rig = *state;
    struct committer committers[3];
    for (unsigned i = 0; i < 3; i++) {
        committers[i] = make_committer(rig->writer, i);
    }
    committers[1].epoch = 7;
    commit_together(rig, committers, 3);
    assert_int_equal(committers[0].result.outcome, STORE_COMMITTED);
    assert_int_equal(committers[1].result.outcome, STORE_FENCED);
    assert_int_equal(committers[2].result.outcome, STORE_COMMITTED);
    assert_int_equal(writer_counters(rig->writer).events, 3);
}

RIG_TEST(a_refused_batch_does_not_hurt_its_neighbours)
{
    struct rig *rig = *state;
    struct committer committers[3];
    for (unsigned i = 0; i < 3; i++) {
        committers[i] = make_committer(rig->writer, i);
    }
    committers[1].first_seq = 9;
    commit_together(rig, committers, 3);
    assert_int_equal(committers[0].code, 0);
    assert_int_equal(committers[1].code, RONDO_ERR_STATE);
    assert_int_equal(committers[1].err.code, RONDO_ERR_STATE);
    assert_int_equal(committers[2].code, 0);
    assert_int_equal(test_count_events(rig->inner, NULL), 3);
}

RIG_TEST(a_failed_transaction_fails_each_of_its_batches)
{
    struct rig *rig = *state;
    struct committer committers[8];
    for (unsigned i = 0; i < 8; i++) {
        committers[i] = make_committer(rig->writer, i);
    }
    atomic_store(&rig->fail_code, RONDO_ERR_FULL);
    atomic_store(&rig->fail_count, 8);
    commit_together(rig, committers, 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(committers[i].code, RONDO_ERR_FULL);
        assert_int_equal(committers[i].err.code, RONDO_ERR_FULL);
        assert_true(committers[i].err.message[0] != '\0');
    }
    assert_int_equal(writer_counters(rig->writer).batches, 1);
}

RIG_TEST(a_batch_whose_answer_was_lost_can_be_handed_in_again)
{
    struct rig *rig = *state;
    struct committer committer = make_committer(rig->writer, 1);
    atomic_store(&rig->fail_code, RONDO_ERR_IO);
    atomic_store(&rig->fail_count, 1);
    commit_in_turn(&committer);
    assert_int_equal(committer.code, RONDO_ERR_IO);
    committer.code = 0;
    commit_in_turn(&committer);
    assert_int_equal(committer.code, 0);
    assert_int_equal(committer.result.outcome, STORE_ALREADY_COMMITTED);
    assert_int_equal(test_count_events(rig->inner, committer.id.text), 1);
}

RIG_TEST(two_batches_of_one_run_are_committed_in_their_order)
{
    struct rig *rig = *state;
    struct committer hand = make_committer(rig->writer, 1);
    struct committer early = hand;
    early.count = 100;
    struct committer renewals[4];
    for (size_t i = 0; i < 4; i++) {
        /* Handing in the same sequence is recognised when it comes second. */
        renewals[i] = early;
    }
    start(&early);
    for (size_t i = 0; i < 4; i++) {
        start(&renewals[i]);
    }
    join(&early);
    for (size_t i = 0; i < 4; i++) {
        join(&renewals[i]);
        assert_int_equal(renewals[i].code, 0);
    }
    assert_int_equal(early.code, 0);
    assert_int_equal(test_count_events(rig->inner, hand.id.text), 100);
}

/* ---- Several transactions at the same time -------------------------------------------------- */

/** Transactions that the store of these tests takes at the same time. */
#define PLACES 3
#define RUNS   5

/** What is being committed. */
static struct {
    struct store_ops ops;
    const struct store_ops *real;
    pthread_mutex_t lock;
    unsigned active[100]; /**< transactions of each run, by its number */
    unsigned transactions;
    unsigned most;             /**< transactions at the same time */
    size_t largest;            /**< batches of one */
    bool is_doubled;           /**< a run was in two */
    _Atomic uint64_t position; /**< that the next commits say they have; 0 = the real one */
} wide = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_active(const struct store_batch *const *batches, size_t count, int change)
{
    pthread_mutex_lock(&wide.lock);
    wide.transactions += (unsigned)change;
    wide.most = wide.transactions > wide.most ? wide.transactions : wide.most;
    wide.largest = count > wide.largest ? count : wide.largest;
    for (size_t i = 0; i < count; i++) {
        unsigned number = 0;
        while (number < 99 && strcmp(test_id(number).text, batches[i]->run_id) != 0) {
            number++;
        }
        wide.active[number] += (unsigned)change;
        wide.is_doubled = wide.is_doubled || wide.active[number] > 1;
    }
    pthread_mutex_unlock(&wide.lock);
}

static int commit_watched(struct store *store, const struct store_batch *const *batches,
                          size_t count, struct store_commit_result *ret_results,
                          struct rondo_error *err)
{
    note_active(batches, count, 1);
    int r = wide.real->commit(store, batches, count, ret_results, err);
    uint64_t position = atomic_load(&wide.position);
    for (size_t i = 0; position > 0 && i < count; i++) {
        ret_results[i].position = position;
    }
    note_active(batches, count, -1);
    return r;
}

static unsigned take_several(struct store *store)
{
    (void)store;
    return PLACES;
}

static int make_wide_rig(void **state)
{
    int r = make_rig(state);
    struct rig *rig = *state;
    writer_free(rig->writer);
    wide.real = rig->store->ops;
    wide.ops = *wide.real;
    wide.ops.commit = commit_watched;
    wide.ops.commits_at_once = take_several;
    wide.most = 0;
    wide.largest = 0;
    atomic_store(&wide.position, 0);
    rig->store->ops = &wide.ops;
    rig->writer = writer_new(rig->store);
    return r;
}

#define WIDE_TEST(name) TEST_WITH(name, make_wide_rig, free_rig)

WIDE_TEST(a_commit_need_not_wait_for_those_of_other_runs)
{
    struct rig *rig = *state;
    struct committer slow = make_committer(rig->writer, 1);
    struct committer quick = make_committer(rig->writer, 2);
    quick.count = 10;
    atomic_store(&rig->holds, 1);
    start(&slow);
    sem_wait(&rig->held);
    commit_in_turn(&quick); /* Else it waits for ever. */
    assert_int_equal(quick.code, 0);
    assert_int_equal(test_count_events(rig->inner, slow.id.text), 0);
    sem_post(&rig->release);
    join(&slow);
    assert_int_equal(slow.code, 0);
    assert_int_equal(wide.most, 2);
}

static void wait_for_waiting(struct writer *writer, uint64_t count)
{
    while (writer_counters(writer).waiting < count) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
}

WIDE_TEST(a_run_is_in_one_transaction_at_a_time_and_its_batches_keep_their_order)
{
    struct rig *rig = *state;
    struct committer batches[4];
    batches[0] = make_committer(rig->writer, 1);
    atomic_store(&rig->holds, 1);
    start(&batches[0]);
    sem_wait(&rig->held);
    for (unsigned i = 1; i < 4; i++) {
        batches[i] = batches[0];
        batches[i].first_seq = i + 1;
        start(&batches[i]);
        wait_for_waiting(rig->writer, i);
    }
    struct committer other = make_committer(rig->writer, 2);
    other.count = 3;
    commit_in_turn(&other); /* There is a place for it, and none for the run that is held up. */
    assert_int_equal(other.code, 0);
    assert_int_equal(writer_counters(rig->writer).waiting, 3);
    sem_post(&rig->release);
    for (unsigned i = 0; i < 4; i++) {
        join(&batches[i]);
        assert_int_equal(batches[i].code, 0);
        assert_int_equal(batches[i].result.outcome, STORE_COMMITTED);
    }
    assert_int_equal(test_count_events(rig->inner, batches[0].id.text), 4);
    assert_false(wide.is_doubled);
}

WIDE_TEST(many_threads_of_a_few_runs_use_all_places_and_never_meet)
{
    struct rig *rig = *state;
    static struct committer committers[12 * RUNS];
    for (unsigned i = 0; i < RUNS; i++) {
        committers[i] = make_committer(rig->writer, i);
        committers[i].count = 60;
    }
    for (unsigned i = RUNS; i < 12 * RUNS; i++) {
        committers[i] = committers[i % RUNS]; /* What comes second is recognised. */
    }
    for (unsigned i = 0; i < 12 * RUNS; i++) {
        start(&committers[i]);
    }
    for (unsigned i = 0; i < 12 * RUNS; i++) {
        join(&committers[i]);
        assert_int_equal(committers[i].code, 0);
    }
    for (unsigned i = 0; i < RUNS; i++) {
        assert_int_equal(test_count_events(rig->inner, committers[i].id.text), 60);
    }
    assert_false(wide.is_doubled);
    assert_in_range(wide.most, 1, PLACES);
}

WIDE_TEST(leaders_share_what_waits)
{
    struct rig *rig = *state;
    static struct committer committers[PLACES + 36];
    atomic_store(&rig->holds, PLACES);
    for (unsigned i = 0; i < PLACES + 36; i++) {
        committers[i] = make_committer(rig->writer, i);
        start(&committers[i]);
        if (i < PLACES) {
            sem_wait(&rig->held);
        }
    }
    wait_for_waiting(rig->writer, 36);
    for (unsigned i = 0; i < PLACES; i++) {
        sem_post(&rig->release);
    }
    for (unsigned i = 0; i < PLACES + 36; i++) {
        join(&committers[i]);
        assert_int_equal(committers[i].code, 0);
    }
    assert_in_range(wide.largest, 2, 10);
    assert_int_equal(writer_counters(rig->writer).waiting, 0);
}

WIDE_TEST(a_failed_transaction_leaves_its_place_and_its_runs_free)
{
    struct rig *rig = *state;
    atomic_store(&rig->fail_code, RONDO_ERR_IO);
    for (unsigned i = 0; i < 3 * PLACES; i++) {
        struct committer committer = make_committer(rig->writer, i % 2 + 10 * i);
        atomic_store(&rig->fail_count, 1);
        commit_in_turn(&committer);
        assert_int_equal(committer.code, RONDO_ERR_IO);
        committer.code = 0;
        commit_in_turn(&committer);
        assert_int_equal(committer.code, 0);
    }
}

RIG_TEST(waiting_ends_at_once_when_there_is_something_already)
{
    struct rig *rig = *state;
    struct committer committer = make_committer(rig->writer, 1);
    commit_in_turn(&committer);
    assert_true(writer_wait(rig->writer, 0, FOREVER_NS, NULL));
}

RIG_TEST(waiting_sees_what_did_not_go_through_the_writer)
{
    struct rig *rig = *state;
    struct test_id id = test_id(1);
    test_create(rig->inner, id.text, "agent", false);
    test_append(rig->inner, id.text, 1, "{}");
    assert_true(writer_wait(rig->writer, 0, FOREVER_NS, NULL));
}

static int show_nothing(struct store *store, uint64_t *ret_position, struct rondo_error *err)
{
    (void)store;
    (void)err;
    *ret_position = 0;
    return 0;
}

RIG_TEST(waiting_does_not_end_for_what_readers_do_not_get_yet)
{
    struct rig *rig = *state;
    const struct store_ops *ops = rig->store->ops;
    struct store_ops lagging = *ops;
    lagging.last_position = show_nothing;
    struct committer committer = make_committer(rig->writer, 1);
    commit_in_turn(&committer);
    rig->store->ops = &lagging;
    assert_false(writer_wait(rig->writer, 0, 30 * NS_PER_MS, NULL));
    assert_false(writer_wait(rig->writer, 0, 30 * NS_PER_MS, NULL));
    rig->store->ops = ops;
    assert_true(writer_wait(rig->writer, 0, FOREVER_NS, NULL));
}

#define SLOW_NS (10 * NS_PER_MS)
static _Atomic int slow_answers;

static int answer_slowly(struct store *store, uint64_t *ret_position, struct rondo_error *err)
{
    clock_sleep(clock_system(), SLOW_NS, NULL);
    atomic_fetch_add(&slow_answers, 1);
    return show_nothing(store, ret_position, err);
}

RIG_TEST(a_store_that_answers_slowly_is_asked_less_often)
{
    struct rig *rig = *state;
    const struct store_ops *ops = rig->store->ops;
    struct store_ops slow = *ops;
    slow.last_position = answer_slowly;
    rig->store->ops = &slow;
    atomic_store(&slow_answers, 0);
    int64_t begun_ns = clock_monotonic(clock_system());
    assert_false(writer_wait(rig->writer, 0, 100 * SLOW_NS, NULL));
    int64_t waited_ns = clock_monotonic(clock_system()) - begun_ns;
    assert_true(atomic_load(&slow_answers) > 0);
    assert_true(atomic_load(&slow_answers) <= 1 + waited_ns / (20 * SLOW_NS));
    rig->store->ops = ops;
}

/** A thread in writer_wait. */
struct waiting {
    struct writer *writer;
    uint64_t after;
    struct cancel *cancel;
    bool is_new;
    pthread_t thread;
};

static void *wait_for_news(void *argument)
{
    struct waiting *waiting = argument;
    waiting->is_new = writer_wait(waiting->writer, waiting->after, FOREVER_NS, waiting->cancel);
    return NULL;
}

static sem_t asked;

static int show_fifty(struct store *store, uint64_t *ret_position, struct rondo_error *err)
{
    (void)store;
    (void)err;
    *ret_position = 50;
    sem_post(&asked);
    return 0;
}

WIDE_TEST(a_commit_with_a_lower_position_than_one_before_wakes_who_waits)
{
    struct rig *rig = *state;
    sem_init(&asked, 0, 0);
    wide.ops.last_position = show_fifty;
    struct committer late = make_committer(rig->writer, 1);
    struct committer early = make_committer(rig->writer, 2);
    atomic_store(&wide.position, 200);
    commit_in_turn(&late);
    struct waiting waiting = {.writer = rig->writer, .after = 50};
    assert_int_equal(pthread_create(&waiting.thread, NULL, wait_for_news, &waiting), 0);
    sem_wait(&asked); /* Now it waits, and readers of all runs get neither. */
    atomic_store(&wide.position, 100);
    commit_in_turn(&early);
    assert_int_equal(pthread_join(waiting.thread, NULL), 0);
    assert_true(waiting.is_new);
    sem_destroy(&asked);
}

RIG_TEST(waiting_ends_with_its_time)
{
    struct rig *rig = *state;
    assert_false(writer_wait(rig->writer, 0, 0, NULL));
    assert_false(writer_wait(rig->writer, 0, NS_PER_MS, NULL));
}

RIG_TEST(a_commit_wakes_all_who_wait_without_any_polling)
{
    struct rig *rig = *state;
    atomic_store(&rig->has_no_eyes, true);
    struct waiting waiting[4];
    for (size_t i = 0; i < 4; i++) {
        waiting[i] = (struct waiting){.writer = rig->writer, .after = i / 2};
        assert_int_equal(pthread_create(&waiting[i].thread, NULL, wait_for_news, &waiting[i]), 0);
    }
    struct committer committer = make_committer(rig->writer, 1);
    committer.count = 2;
    commit_in_turn(&committer);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(waiting[i].thread, NULL), 0);
        assert_true(waiting[i].is_new);
    }
}

RIG_TEST(a_cancel_token_ends_the_waiting)
{
    struct rig *rig = *state;
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    struct waiting waiting = {.writer = rig->writer, .cancel = &cancel};
    assert_int_equal(pthread_create(&waiting.thread, NULL, wait_for_news, &waiting), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    assert_int_equal(pthread_join(waiting.thread, NULL), 0);
    assert_false(waiting.is_new);
    assert_false(writer_wait(rig->writer, 0, FOREVER_NS, &cancel));
    cancel_fini(&cancel);
}

static void *wait_for_ring(void *argument)
{
    struct waiting *waiting = argument;
    waiting->is_new = writer_wait(waiting->writer, 0, FOREVER_NS, NULL);
    cancel_set(waiting->cancel, CANCEL_NOW);
    return NULL;
}

RIG_TEST(a_ring_ends_the_waiting_without_news)
{
    struct rig *rig = *state;
    struct cancel ended;
    assert_int_equal(cancel_init(&ended, NULL), 0);
    struct waiting waiting = {.writer = rig->writer, .cancel = &ended, .is_new = true};
    assert_int_equal(pthread_create(&waiting.thread, NULL, wait_for_ring, &waiting), 0);
    while (!cancel_wait(&ended, NS_PER_MS)) {
        writer_ring(rig->writer); /* One before the wait has begun ends nothing. */
    }
    assert_int_equal(pthread_join(waiting.thread, NULL), 0);
    assert_false(waiting.is_new);
    assert_true(writer_rings(rig->writer) > 0);
    cancel_fini(&ended);
}

static struct store *open_sqlite(const char *path)
{
    struct store *store = NULL;
    struct store_sqlite_options options = {.path = path, .may_create = true};
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    return store;
}

TEST(a_commit_of_another_process_is_seen)
{
    char *folder = test_folder_new();
    char *path = test_path(folder, "store.db");
    store_close(open_sqlite(path));
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *store = open_sqlite(path);
        struct test_id id = test_id(1);
        test_create(store, id.text, "agent", false);
        char byte;
        if (read(gate[0], &byte, 1) == 1) {
            test_append(store, id.text, 1, "{}");
        }
        store_close(store);
        _exit(0);
    }
    struct store *store = open_sqlite(path);
    struct writer *writer = writer_new(store);
    struct waiting waiting = {.writer = writer};
    assert_int_equal(pthread_create(&waiting.thread, NULL, wait_for_news, &waiting), 0);
    assert_int_equal(write(gate[1], "x", 1), 1);
    assert_int_equal(pthread_join(waiting.thread, NULL), 0);
    assert_true(waiting.is_new);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(test_count_events(store, NULL), 1);
    writer_free(writer);
    store_close(store);
    close(gate[0]);
    close(gate[1]);
    test_folder_free(folder);
    free(path);
}

TEST(many_threads_commit_to_sqlite_and_nothing_is_lost)
{
    char *folder = test_folder_new();
    char *path = test_path(folder, "store.db");
    struct store *store = open_sqlite(path);
    struct writer *writer = writer_new(store);
    struct committer committers[32];
    for (unsigned i = 0; i < 32; i++) {
        committers[i] = make_committer(writer, i);
        committers[i].count = 50;
    }
    for (unsigned i = 0; i < 32; i++) {
        start(&committers[i]);
    }
    for (unsigned i = 0; i < 32; i++) {
        join(&committers[i]);
        assert_string_equal(committers[i].err.message, "");
        assert_int_equal(test_count_events(store, committers[i].id.text), 50);
    }
    assert_int_equal(writer_counters(writer).events, 32 * 50);
    writer_free(writer);
    store_close(store);
    test_folder_free(folder);
    free(path);
}

int main(void)
{
    return test_run(NULL, NULL);
}
