// SPDX-License-Identifier: Apache-2.0
/*
 * Group commit without a thread of its own. Requests wait in a queue, first come first served.
 * A thread that finds a place to lead becomes a leader, and commits a group of what waits; when its
 * transaction is through, it makes the owner of the oldest waiting request the next leader. While
 * one fsync runs the next group gathers by itself, so nobody ever waits in order to be joined by
 * others.
 *
 * There are as many places as the store has for transactions at the same time: one for a file, a
 * few for a server. Each leader takes its share of the requests, so that their groups are of one
 * size. The runs of groups that are being committed are in a table: requests of one run are
 * committed in their order, each after the transaction before has ended. Groups may end in another
 * order than that of their positions.
 *
 * Threads: everything in struct writer is guarded by its mutex, which is never held during a commit
 * or a read. A request lives on its owner's stack and must not be touched after its semaphore was
 * posted. Lock order: the writer's mutex is taken last and calls nothing.
 */
#include "store/writer.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

/** Batches in one transaction. */
#define GROUP_MAX 256
/** Bytes after which a group takes no more batches: large states must not delay all others. */
#define GROUP_BYTES (8 * LIMIT_MIB)
/** Transactions at the same time. */
#define LEADERS_MAX 8
/** Slots of the table of runs for each leader; with their number a power of two, and more than
 *  twice as many as there are runs. */
#define RUN_SLOTS 1024
/** How often other processes' commits are looked for: at first, and when nothing happens. */
#define POLL_MIN_NS (10 * NS_PER_MS)
#define POLL_MAX_NS (50 * NS_PER_MS)
/** A store that answers slowly, because many servers ask it, is asked less often: the pause is at
 *  least so many times as long as its last answer took. */
#define POLL_SHARE 20
/** The same while no process writes to the store: only in case that is wrong. */
#define POLL_QUIET_NS (60 * NS_PER_S)

/** One thread's commit that waits. */
struct request {
    const struct store_batch *batch;
    struct store_commit_result result;
    struct rondo_error *err; /**< the caller's; may be NULL */
    int code;
    uint64_t run_hash; /**< never 0 */
    size_t bytes;
    bool is_leader; /**< woken to lead, not because it is done */
    sem_t wakeup;
    struct request *prev, *next;
};

/** One thread in writer_wait. */
struct watcher {
    int event_fd;   /**< -1 when the process has no descriptor left: then it only polls */
    uint64_t rings; /**< as it began */
    struct watcher *prev, *next;
};

struct writer {
    struct store *store;
    pthread_mutex_t mutex;
    struct request *queue; /**< empty while a place is free, but for runs that are in the table */
    size_t waiting;        /**< its length */
    unsigned leaders;
    unsigned leader_limit;
    size_t committing; /**< requests that leaders have taken */
    uint64_t *runs;    /**< hashes of their runs: a table with linear probing, 0 = a free slot */
    size_t slot_count;
    struct watcher *watchers;
    uint64_t known_position; /**< highest one that this process knows to be committed */
    uint64_t news;           /**< how often events were committed, as far as is known */
    uint64_t shown_position; /**< highest one that readers of all runs get, as far as is known */
    bool is_held_back;       /**< the store does not give them all that this process committed */
    uint64_t asked_news;     /**< `news` when it said so */
    int64_t polled_ns;       /**< when the store was asked last (monotonic) */
    int64_t answer_ns;       /**< how long its last answer took */
    bool is_quiet;           /**< no process has written to the store for a while */
    bool is_asked_quietly;   /**< the store was asked since then: only now may readers rest */
    uint64_t rings;          /**< how often writer_ring was called */
    struct writer_counters counters;
    writer_observe_fn *observe;
    void *observe_context;
    pthread_mutex_t listen_lock; /**< guards the next; held while they are called; taken first */
    struct writer_listener *listeners;
};

/** What one transaction carries. */
struct group {
    size_t count;
    struct request *requests[GROUP_MAX];
    const struct store_batch *batches[GROUP_MAX];
    struct store_commit_result results[GROUP_MAX];
};

/** Transactions that the store takes at the same time. */
static unsigned count_places(struct store *store)
{
    unsigned count = store->ops->commits_at_once != NULL ? store->ops->commits_at_once(store) : 1;
    return count < 1 ? 1 : count > LEADERS_MAX ? LEADERS_MAX : count;
}

struct writer *writer_new(struct store *store)
{
    struct writer *writer = memory_new_zero(1, sizeof(*writer));
    writer->store = store;
    writer->leader_limit = count_places(store);
    writer->slot_count = RUN_SLOTS;
    while (writer->slot_count < (size_t)RUN_SLOTS * writer->leader_limit) {
        writer->slot_count *= 2;
    }
    writer->runs = memory_new_zero(writer->slot_count, sizeof(*writer->runs));
    int r = pthread_mutex_init(&writer->mutex, NULL);
    assert(r == 0);
    r = pthread_mutex_init(&writer->listen_lock, NULL);
    assert(r == 0);
    return writer;
}

void writer_free(struct writer *writer)
{
    if (writer == NULL) {
        return;
    }
    assert(writer->queue == NULL && writer->leaders == 0 && writer->watchers == NULL);
    assert(writer->listeners == NULL);
    pthread_mutex_destroy(&writer->listen_lock);
    pthread_mutex_destroy(&writer->mutex);
    free(writer->runs);
    free(writer);
}

struct store *writer_store(struct writer *writer)
{
    return writer->store;
}

struct writer_counters writer_counters(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    struct writer_counters counters = writer->counters;
    counters.waiting = writer->waiting;
    pthread_mutex_unlock(&writer->mutex);
    return counters;
}

void writer_observe(struct writer *writer, writer_observe_fn *observe, void *context)
{
    pthread_mutex_lock(&writer->mutex);
    writer->observe = observe;
    writer->observe_context = context;
    pthread_mutex_unlock(&writer->mutex);
}

/** Two runs with the same hash are never committed together, which costs nothing but time. */
static uint64_t hash_run(const char *run_id)
{
    return hash_bytes(HASH_START, run_id, strlen(run_id)) | 1;
}

static size_t size_of_batch(const struct store_batch *batch)
{
    size_t size = batch->checkpoint != NULL ? batch->checkpoint->state_len : 0;
    size += batch->interim != NULL ? batch->interim->state_len : 0;
    for (size_t i = 0; i < batch->event_count; i++) {
        size += batch->events[i].data_len;
    }
    return size;
}

/* ---- The table of runs. The mutex is held. --------------------------------------------------- */

/** The slot that has a hash, or the free one where it would be. */
static size_t find_slot(const struct writer *writer, uint64_t hash)
{
    size_t slot = (hash >> 1) % writer->slot_count;
    while (writer->runs[slot] != 0 && writer->runs[slot] != hash) {
        slot = (slot + 1) % writer->slot_count;
    }
    return slot;
}

/** Remove a hash that is there, and move those after it to where they are found. */
static void remove_run(struct writer *writer, uint64_t hash)
{
    size_t count = writer->slot_count;
    size_t hole = find_slot(writer, hash);
    assert(writer->runs[hole] == hash);
    for (size_t slot = (hole + 1) % count; writer->runs[slot] != 0; slot = (slot + 1) % count) {
        size_t home = (writer->runs[slot] >> 1) % count;
        if ((slot + count - home) % count >= (slot + count - hole) % count) {
            writer->runs[hole] = writer->runs[slot];
            hole = slot;
        }
    }
    writer->runs[hole] = 0;
}

/** Take a request out of the queue, unless its run is being committed. */
static bool take_request(struct writer *writer, struct request *request)
{
    size_t slot = find_slot(writer, request->run_hash);
    if (writer->runs[slot] != 0) {
        return false;
    }
    writer->runs[slot] = request->run_hash;
    DL_DELETE(writer->queue, request);
    writer->waiting--;
    writer->committing++;
    return true;
}

/* ---- Groups --------------------------------------------------------------------------------- */

static void add_to_group(struct group *group, struct request *request)
{
    group->requests[group->count] = request;
    group->batches[group->count] = request->batch;
    group->count++;
}

/**
 * Move requests from the queue to a leader's group; a run's second request waits. A lone leader
 * takes everything. Of several each takes a part, and leaves one for the next leader.
 */
static void take_group(struct writer *writer, struct request *own, struct group *group)
{
    size_t total = writer->committing + writer->waiting;
    size_t parts = writer->leader_limit == 1 ? 1 : writer->leader_limit + 1;
    size_t share = (total + parts - 1) / parts;
    size_t most = share < GROUP_MAX ? share : GROUP_MAX;
    size_t bytes = own->bytes;
    group->count = 0;
    add_to_group(group, own);
    struct request *request, *next;
    DL_FOREACH_SAFE(writer->queue, request, next)
    {
        if (group->count >= most || bytes >= GROUP_BYTES) {
            break;
        }
        if (take_request(writer, request)) {
            add_to_group(group, request);
            bytes += request->bytes;
        }
    }
}

/** Whether an error speaks about one batch rather than about the store. */
static bool is_refusal(int code)
{
    return code == RONDO_ERR_INVALID || code == RONDO_ERR_NOT_FOUND || code == RONDO_ERR_STATE ||
           code == RONDO_ERR_LIMIT;
}

static void set_outcome(struct request *request, int code, const struct store_commit_result *result,
                        const struct rondo_error *err)
{
    request->code = code;
    if (code == 0) {
        request->result = *result;
    } else if (request->err != NULL) {
        *request->err = *err;
    }
}

/** @return the number of transactions that were committed */
static uint64_t commit_each_alone(struct writer *writer, struct group *group)
{
    const struct store_ops *ops = writer->store->ops;
    uint64_t transactions = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct rondo_error err = {0};
        int r = ops->commit(writer->store, &group->batches[i], 1, &group->results[i], &err);
        set_outcome(group->requests[i], r, &group->results[i], &err);
        transactions += r == 0;
    }
    return transactions;
}

/** Commit the group, without any lock held. @return the number of transactions */
static uint64_t commit_group(struct writer *writer, struct group *group)
{
    struct rondo_error err = {0};
    int r = writer->store->ops->commit(writer->store, group->batches, group->count, group->results,
                                       &err);
    if (is_refusal(r) && group->count > 1) {
        return commit_each_alone(writer, group);
    }
    for (size_t i = 0; i < group->count; i++) {
        set_outcome(group->requests[i], r, &group->results[i], &err);
    }
    return r == 0;
}

/** Wake everybody in writer_wait. The mutex is held, so that no watcher goes away meanwhile. */
static void notify_watchers(struct writer *writer)
{
    struct watcher *watcher;
    DL_FOREACH(writer->watchers, watcher)
    {
        eventfd_write(watcher->event_fd, 1);
    }
}

/** Note that events were committed up to a position. The mutex is held. */
static void note_committed(struct writer *writer, uint64_t position)
{
    if (position > writer->known_position) {
        writer->known_position = position;
    }
    writer->news++;
    notify_watchers(writer);
}

/** Count what was committed, and wake the readers. The mutex is held. */
static void record_group(struct writer *writer, const struct group *group, uint64_t transactions)
{
    uint64_t position = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct request *request = group->requests[i];
        remove_run(writer, request->run_hash);
        if (request->code == 0 && request->result.outcome != STORE_FENCED &&
            request->result.outcome != STORE_OUTDATED) {
            writer->counters.batches++;
            writer->counters.events += request->batch->event_count;
            if (request->result.position > position) {
                position = request->result.position;
            }
        }
    }
    writer->committing -= group->count;
    writer->counters.transactions += transactions;
    if (position > 0) {
        note_committed(writer, position);
    }
}

/** Give free places to the oldest requests. The mutex is held. @return how many */
static size_t choose_leaders(struct writer *writer, struct request *ret_leaders[LEADERS_MAX])
{
    size_t count = 0;
    struct request *request, *next;
    DL_FOREACH_SAFE(writer->queue, request, next)
    {
        if (writer->leaders == writer->leader_limit) {
            break;
        }
        if (take_request(writer, request)) {
            request->is_leader = true;
            writer->leaders++;
            ret_leaders[count++] = request;
        }
    }
    return count;
}

/** Commit a group, its leader's own request first, and pass the place on. */
static void lead(struct writer *writer, struct group *group)
{
    struct request *next_leaders[LEADERS_MAX];
    int64_t begun_ns = clock_monotonic(clock_system());
    uint64_t transactions = commit_group(writer, group);
    int64_t duration_ns = clock_monotonic(clock_system()) - begun_ns;

    pthread_mutex_lock(&writer->mutex);
    record_group(writer, group, transactions);
    writer->leaders--;
    size_t next_count = choose_leaders(writer, next_leaders);
    writer_observe_fn *observe = writer->observe;
    void *context = writer->observe_context;
    pthread_mutex_unlock(&writer->mutex);
    /* The next leaders go first: the disk is what everybody waits for. */
    for (size_t i = 0; i < next_count; i++) {
        sem_post(&next_leaders[i]->wakeup);
    }
    for (size_t i = 1; i < group->count; i++) {
        sem_post(&group->requests[i]->wakeup);
    }
    if (observe != NULL) {
        observe(context, duration_ns);
    }
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
        assert(errno == EINTR);
    }
}

int writer_commit(struct writer *writer, const struct store_batch *batch,
                  struct store_commit_result *ret_result, struct rondo_error *err)
{
    struct request request = {
        .batch = batch,
        .err = err,
        .run_hash = hash_run(batch->run_id),
        .bytes = size_of_batch(batch),
    };
    int r = sem_init(&request.wakeup, 0, 0);
    assert(r == 0);

    struct group group;
    pthread_mutex_lock(&writer->mutex);
    DL_APPEND(writer->queue, &request);
    writer->waiting++;
    bool leads = writer->leaders < writer->leader_limit && take_request(writer, &request);
    if (leads) {
        writer->leaders++;
        take_group(writer, &request, &group);
    }
    pthread_mutex_unlock(&writer->mutex);

    if (!leads) {
        wait_for(&request.wakeup);
        if (request.is_leader) {
            leads = true;
            pthread_mutex_lock(&writer->mutex);
            take_group(writer, &request, &group);
            pthread_mutex_unlock(&writer->mutex);
        }
    }
    if (leads) {
        lead(writer, &group);
    }
    sem_destroy(&request.wakeup);
    if (request.code == 0) {
        *ret_result = request.result;
    }
    return request.code;
}

/** Whether it is this thread's turn to ask the store; others use the answer. */
static bool may_poll(struct writer *writer)
{
    int64_t now_ns = clock_monotonic(clock_system());
    int64_t pause_ns = POLL_SHARE * writer->answer_ns;
    pause_ns = pause_ns < POLL_MIN_NS ? POLL_MIN_NS : pause_ns;
    bool is_due = writer->polled_ns == 0 || now_ns - writer->polled_ns >= pause_ns ||
                  (writer->is_quiet && !writer->is_asked_quietly);
    if (is_due) {
        writer->polled_ns = now_ns;
        writer->is_asked_quietly = writer->is_quiet;
    }
    return is_due;
}

/**
 * Take in what the store said.
 * @param known what this process had committed before it was asked
 * @param news how often
 */
static void note_shown(struct writer *writer, uint64_t position, uint64_t known, uint64_t news)
{
    if (position > writer->shown_position) {
        writer->shown_position = position;
    }
    if (news >= writer->asked_news) {
        writer->is_held_back = position < known;
        writer->asked_news = news;
    }
    if (position > writer->known_position) {
        note_committed(writer, position);
    }
}

/**
 * Whether there is something after `after` to read; asks the store if that is due. A store may hold
 * readers back while other transactions are open: what was committed here is then not yet worth
 * reading, but once, because readers of its run get it.
 * @param seen commits up to this one have woken the caller
 */
static bool has_news(struct writer *writer, uint64_t after, uint64_t seen)
{
    pthread_mutex_lock(&writer->mutex);
    uint64_t known = writer->known_position;
    uint64_t news = writer->news;
    bool is_committed = known > after;
    bool is_new = writer->shown_position > after || (is_committed && news > seen);
    bool may_be_shown = !writer->is_held_back || news > writer->asked_news;
    bool is_due = !is_new && ((is_committed && may_be_shown) || may_poll(writer));
    pthread_mutex_unlock(&writer->mutex);
    uint64_t position = 0;
    if (!is_due) {
        return is_new;
    }
    int64_t asked_ns = clock_monotonic(clock_system());
    int r = writer->store->ops->last_position(writer->store, &position, NULL);
    pthread_mutex_lock(&writer->mutex);
    if (r < 0) {
        writer->is_asked_quietly = false;
        pthread_mutex_unlock(&writer->mutex);
        return is_committed;
    }
    writer->answer_ns = clock_monotonic(clock_system()) - asked_ns;
    note_shown(writer, position, known, news);
    is_new = writer->shown_position > after;
    pthread_mutex_unlock(&writer->mutex);
    return is_new;
}

/** @return the number of the newest commit */
static uint64_t begin_watch(struct writer *writer, struct watcher *watcher)
{
    watcher->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_lock(&writer->mutex);
    uint64_t seen = writer->news;
    watcher->rings = writer->rings;
    DL_APPEND(writer->watchers, watcher);
    pthread_mutex_unlock(&writer->mutex);
    return seen;
}

/** How long to sleep before the store is asked again. @return 0 = not at all: it was rung */
static int64_t next_interval(struct writer *writer, const struct watcher *watcher,
                             int64_t interval_ns)
{
    pthread_mutex_lock(&writer->mutex);
    bool is_rung = watcher->rings != writer->rings;
    bool can_rest = writer->is_quiet && writer->is_asked_quietly && watcher->event_fd >= 0;
    pthread_mutex_unlock(&writer->mutex);
    return is_rung ? 0 : can_rest ? POLL_QUIET_NS : interval_ns;
}

static void end_watch(struct writer *writer, struct watcher *watcher)
{
    pthread_mutex_lock(&writer->mutex);
    DL_DELETE(writer->watchers, watcher);
    pthread_mutex_unlock(&writer->mutex);
    if (watcher->event_fd >= 0) {
        close(watcher->event_fd);
    }
}

/** Sleep until a commit in this process, a cancellation, or the end of the interval. */
static void sleep_watching(const struct watcher *watcher, const struct cancel *cancel,
                           int64_t interval_ns)
{
    struct pollfd fds[] = {
        {.fd = watcher->event_fd, .events = POLLIN},
        {.fd = cancel != NULL ? cancel->event_fd : -1, .events = POLLIN},
    };
    struct timespec timeout = {
        .tv_sec = interval_ns / NS_PER_S,
        .tv_nsec = interval_ns % NS_PER_S,
    };
    ppoll(fds, sizeof(fds) / sizeof(fds[0]), &timeout, NULL);
    eventfd_t ignored;
    eventfd_read(watcher->event_fd, &ignored);
}

static int64_t at_most(int64_t number, int64_t limit)
{
    return number < limit ? number : limit;
}

bool writer_wait(struct writer *writer, uint64_t after, int64_t timeout_ns, struct cancel *cancel)
{
    const struct clock *clock = clock_system();
    int64_t begun_ns = clock_monotonic(clock);
    int64_t interval_ns = POLL_MIN_NS;
    struct watcher watcher = {0};
    uint64_t seen = begin_watch(writer, &watcher);
    bool is_new = has_news(writer, after, seen);
    while (!is_new && !cancel_is_set(cancel)) {
        int64_t left_ns = timeout_ns - (clock_monotonic(clock) - begun_ns);
        int64_t pause_ns = next_interval(writer, &watcher, interval_ns);
        if (left_ns <= 0 || pause_ns == 0) {
            break;
        }
        sleep_watching(&watcher, cancel, at_most(left_ns, pause_ns));
        interval_ns = at_most(interval_ns * 3 / 2, POLL_MAX_NS);
        is_new = has_news(writer, after, seen);
    }
    end_watch(writer, &watcher);
    return is_new;
}

/* ---- Quiet ---------------------------------------------------------------------------------- */

void writer_ring(struct writer *writer)
{
    struct watcher *watcher;
    pthread_mutex_lock(&writer->mutex);
    writer->rings++;
    DL_FOREACH(writer->watchers, watcher)
    {
        eventfd_write(watcher->event_fd, 1);
    }
    pthread_mutex_unlock(&writer->mutex);
}

uint64_t writer_rings(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    uint64_t rings = writer->rings;
    pthread_mutex_unlock(&writer->mutex);
    return rings;
}

bool writer_is_quiet(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    bool is_quiet = writer->is_quiet;
    pthread_mutex_unlock(&writer->mutex);
    return is_quiet;
}

int64_t writer_pace(struct writer *writer, int64_t pace_ns)
{
    return writer_is_quiet(writer) && pace_ns < POLL_QUIET_NS ? POLL_QUIET_NS : pace_ns;
}

void writer_set_quiet(struct writer *writer, bool is_quiet)
{
    struct writer_listener *listener;
    pthread_mutex_lock(&writer->mutex);
    bool was_quiet = writer->is_quiet;
    writer->is_quiet = is_quiet;
    writer->is_asked_quietly = false;
    pthread_mutex_unlock(&writer->mutex);
    if (!was_quiet || is_quiet) {
        return;
    }
    writer_ring(writer);
    pthread_mutex_lock(&writer->listen_lock);
    DL_FOREACH(writer->listeners, listener)
    {
        listener->call(listener->context);
    }
    pthread_mutex_unlock(&writer->listen_lock);
}

void writer_listen(struct writer *writer, struct writer_listener *listener)
{
    pthread_mutex_lock(&writer->listen_lock);
    DL_APPEND(writer->listeners, listener);
    pthread_mutex_unlock(&writer->listen_lock);
}

void writer_unlisten(struct writer *writer, struct writer_listener *listener)
{
    pthread_mutex_lock(&writer->listen_lock);
    DL_DELETE(writer->listeners, listener);
    pthread_mutex_unlock(&writer->listen_lock);
}
