// SPDX-License-Identifier: Apache-2.0
/*
 * The back end without a disk. Rows live in two hashes (by id, by agent), events in one array per
 * run and one over all runs in order of position. Nothing is written before the whole transaction
 * is known to be acceptable, so there is nothing to roll back.
 *
 * Threads: one mutex over everything, callbacks included.
 */
#include "store/memory_store.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/rules.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

struct memory_run;

struct memory_event {
    struct memory_run *run;
    uint64_t position;
    uint64_t seq;
    int64_t time_ns;
    const char *type; /**< behind the data */
    size_t data_len;
    char data[];
};

/** An array that grows by doubling. */
struct event_array {
    struct memory_event **items;
    size_t count;
    size_t size;
};

struct memory_checkpoint {
    struct store_checkpoint content; /**< pointers are owned */
    struct memory_checkpoint *prev;
    struct memory_checkpoint *next;
};

struct memory_letter {
    uint64_t id;
    int64_t time_ns;
    char *kind;
    char *data;
    struct memory_letter *prev;
    struct memory_letter *next;
};

struct memory_run {
    struct store_run row;
    uint64_t last_checkpoint;
    struct event_array events;             /**< owns them; item i has seq i + 1 */
    struct memory_checkpoint *checkpoints; /**< newest first */
    struct memory_letter *letters;         /**< oldest first */
    struct memory_run *prev, *next;        /**< all runs, newest first */
    struct memory_run *owned_prev, *owned_next;
    UT_hash_handle hh;
};

struct memory_store {
    struct store base;
    const struct clock *clock;
    pthread_mutex_t mutex;
    struct memory_run *by_id; /**< hash */
    struct memory_run *runs;  /**< list */
    struct memory_run *owned; /**< list of those with an owner: claims look only here */
    struct event_array order; /**< all events by position */
    uint64_t last_position;
    uint64_t last_letter;
};

static struct memory_store *lock(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    pthread_mutex_lock(&store->mutex);
    return store;
}

static void unlock(struct memory_store *store)
{
    pthread_mutex_unlock(&store->mutex);
}

static struct memory_run *find_run(struct memory_store *store, const char *run_id)
{
    struct memory_run *run = NULL;
    HASH_FIND_STR(store->by_id, run_id, run);
    return run;
}

static int no_such_run(const char *run_id, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
}

static void append_event(struct event_array *array, struct memory_event *event)
{
    if (array->count == array->size) {
        array->size = array->size == 0 ? 8 : array->size * 2;
        array->items = memory_resize(array->items, array->size, sizeof(*array->items));
    }
    array->items[array->count++] = event;
}

static void set_owner(struct memory_store *store, struct memory_run *run, const char *owner)
{
    bool was_owned = run->row.owner[0] != '\0';
    bool is_owned = owner[0] != '\0';
    if (was_owned && !is_owned) {
        DL_DELETE2(store->owned, run, owned_prev, owned_next);
    } else if (!was_owned && is_owned) {
        DL_APPEND2(store->owned, run, owned_prev, owned_next);
    }
    snprintf(run->row.owner, sizeof(run->row.owner), "%s", owner);
}

static void free_checkpoint(struct memory_checkpoint *checkpoint)
{
    free((void *)checkpoint->content.state);
    free((void *)checkpoint->content.fold);
    free((void *)checkpoint->content.custom_data);
    free((void *)checkpoint->content.conditions);
    free(checkpoint);
}

static void free_letter(struct memory_letter *letter)
{
    free(letter->kind);
    free(letter->data);
    free(letter);
}

static void delete_run(struct memory_store *store, struct memory_run *run)
{
    struct memory_checkpoint *checkpoint, *next_checkpoint;
    DL_FOREACH_SAFE(run->checkpoints, checkpoint, next_checkpoint)
    {
        free_checkpoint(checkpoint);
    }
    struct memory_letter *letter, *next_letter;
    DL_FOREACH_SAFE(run->letters, letter, next_letter)
    {
        free_letter(letter);
    }
    for (size_t i = 0; i < run->events.count; i++) {
        free(run->events.items[i]);
    }
    free(run->events.items);
    set_owner(store, run, "");
    DL_DELETE(store->runs, run);
    HASH_DEL(store->by_id, run);
    free(run);
}

static void memory_close(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    struct memory_run *run, *next;
    DL_FOREACH_SAFE(store->runs, run, next)
    {
        delete_run(store, run);
    }
    free(store->order.items);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

static void insert_events(struct memory_store *store, struct memory_run *run,
                          const struct store_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t type_size = strlen(events[i].type) + 1;
        struct memory_event *event =
            memory_new(sizeof(*event) + events[i].data_len + 1 + type_size);
        event->run = run;
        event->position = ++store->last_position;
        event->seq = run->events.count + 1;
        event->time_ns = events[i].time_ns;
        event->data_len = events[i].data_len;
        memcpy(event->data, events[i].data, events[i].data_len);
        event->data[event->data_len] = '\0';
        memcpy(event->data + event->data_len + 1, events[i].type, type_size);
        event->type = event->data + event->data_len + 1;
        append_event(&run->events, event);
        append_event(&store->order, event);
    }
    run->row.last_seq = run->events.count;
}

/** The owned run that stands in the way of a claim for the longest time; NULL when none does. */
static struct memory_run *find_other_owned(struct memory_store *store, const struct store_run *run)
{
    struct memory_run *other;
    struct memory_run *longest = NULL;
    DL_FOREACH2(store->owned, other, owned_next)
    {
        if (strcmp(other->row.agent_id, run->agent_id) == 0 &&
            (other->row.is_exclusive || run->is_exclusive) && strcmp(other->row.id, run->id) != 0 &&
            (longest == NULL || other->row.lease_until_ns > longest->row.lease_until_ns)) {
            longest = other;
        }
    }
    return longest;
}

/** Make sure that no exclusive run of the agent is in the way. @return the holder, or NULL */
static const struct memory_run *clear_other_owners(struct memory_store *store,
                                                   const struct store_run *run, int64_t now_ns)
{
    struct memory_run *other = find_other_owned(store, run);
    if (other != NULL && other->row.lease_until_ns > now_ns) {
        return other;
    }
    /* These leases have all run out; their owners must not be able to renew them any more. */
    while ((other = find_other_owned(store, run)) != NULL) {
        set_owner(store, other, "");
        other->row.lease_until_ns = 0;
        other->row.epoch++;
    }
    return NULL;
}

static void take_run(struct memory_store *store, struct memory_run *run,
                     const struct store_claim *claim, int64_t now_ns,
                     struct store_claim_result *ret_result)
{
    *ret_result = (struct store_claim_result){
        .outcome = STORE_CLAIMED,
        .epoch = run->row.epoch + 1,
        .run = run->row,
    };
    set_owner(store, run, claim->owner);
    run->row.epoch++;
    run->row.lease_until_ns = now_ns + claim->lease_ns;
    run->row.alive_ns = now_ns;
}

static int create_locked(struct memory_store *store, const struct store_run *wish,
                         const struct store_event *first, size_t first_count,
                         const struct store_claim *claim, struct store_claim_result *ret_result,
                         struct rondo_error *err)
{
    int64_t now_ns = clock_now(store->clock);
    if (find_run(store, wish->id) != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "there is a run %s already", wish->id);
    }
    const struct memory_run *holder = clear_other_owners(store, wish, now_ns);
    if (holder != NULL) {
        *ret_result = (struct store_claim_result){.outcome = STORE_HELD, .holder = holder->row};
        return 0;
    }
    struct memory_run *run = memory_new_zero(1, sizeof(*run));
    run->row = rules_new_run(wish, first_count, now_ns);
    HASH_ADD_STR(store->by_id, row.id, run);
    DL_PREPEND(store->runs, run);
    insert_events(store, run, first, first_count);
    take_run(store, run, claim, now_ns, ret_result);
    return 0;
}

static int memory_create_run(struct store *base, const struct store_run *run,
                             const struct store_event *first, size_t first_count,
                             const struct store_claim *claim, struct store_claim_result *ret_result,
                             struct rondo_error *err)
{
    int rc = rules_check_claim(claim, err);
    if (rc == 0) {
        rc = rules_check_new_run(run, first, first_count, err);
    }
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = lock(base);
    rc = create_locked(store, run, first, first_count, claim, ret_result, err);
    unlock(store);
    return rc;
}

static int claim_locked(struct memory_store *store, const char *run_id,
                        const struct store_claim *claim, struct store_claim_result *ret_result,
                        struct rondo_error *err)
{
    int64_t now_ns = clock_now(store->clock);
    struct memory_run *run = find_run(store, run_id);
    if (run == NULL) {
        return no_such_run(run_id, err);
    }
    const struct memory_run *holder =
        rules_is_held(&run->row, now_ns) ? run : clear_other_owners(store, &run->row, now_ns);
    if (holder != NULL) {
        *ret_result = (struct store_claim_result){
            .outcome = STORE_HELD, .run = run->row, .holder = holder->row};
        return 0;
    }
    take_run(store, run, claim, now_ns, ret_result);
    return 0;
}

static int memory_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                            struct store_claim_result *ret_result, struct rondo_error *err)
{
    int rc = rules_check_claim(claim, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = lock(base);
    rc = claim_locked(store, run_id, claim, ret_result, err);
    unlock(store);
    return rc;
}

static int memory_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                               struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    struct memory_run *run = find_run(store, run_id);
    if (run != NULL && run->row.epoch == epoch) {
        set_owner(store, run, "");
        run->row.lease_until_ns = 0;
    }
    unlock(store);
    return 0;
}

static int memory_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                               struct rondo_error *err)
{
    int rc = rules_check_claim(&(struct store_claim){.owner = owner, .lease_ns = lease_ns}, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = lock(base);
    int64_t now_ns = clock_now(store->clock);
    struct memory_run *run;
    DL_FOREACH2(store->owned, run, owned_next)
    {
        if (strcmp(run->row.owner, owner) == 0) {
            run->row.lease_until_ns = now_ns + lease_ns;
            run->row.alive_ns = now_ns;
        }
    }
    unlock(store);
    return 0;
}

static void insert_checkpoint(struct memory_run *run, const struct store_checkpoint *checkpoint)
{
    struct memory_checkpoint *copy = memory_new_zero(1, sizeof(*copy));
    copy->content = *checkpoint;
    copy->content.state = checkpoint->state == NULL
                              ? NULL
                              : memory_dup_bytes(checkpoint->state, checkpoint->state_len);
    copy->content.fold = memory_dup_string(checkpoint->fold);
    copy->content.custom_data = memory_dup_string(checkpoint->custom_data);
    copy->content.conditions = memory_dup_string(checkpoint->conditions);
    DL_PREPEND(run->checkpoints, copy);
    run->last_checkpoint = checkpoint->number;
}

static void prune_checkpoints(struct memory_run *run, uint64_t keep)
{
    struct memory_checkpoint *checkpoint, *next;
    DL_FOREACH_SAFE(run->checkpoints, checkpoint, next)
    {
        if (checkpoint->content.number + keep <= run->last_checkpoint) {
            DL_DELETE(run->checkpoints, checkpoint);
            free_checkpoint(checkpoint);
        }
    }
}

static void delete_mail(struct memory_run *run, uint64_t up_to)
{
    while (run->letters != NULL && run->letters->id <= up_to) {
        struct memory_letter *letter = run->letters;
        DL_DELETE(run->letters, letter);
        free_letter(letter);
    }
}

static struct rules_row rules_row_of(const struct memory_run *run)
{
    return (struct rules_row){
        .epoch = run->row.epoch,
        .last_seq = run->row.last_seq,
        .last_checkpoint = run->last_checkpoint,
        .is_owned = run->row.owner[0] != '\0',
    };
}

static void apply_batch(struct memory_store *store, struct memory_run *run,
                        const struct store_batch *batch)
{
    int64_t now_ns = clock_now(store->clock);
    struct rules_row row = rules_row_of(run);
    if (rules_stores_checkpoint(&row, batch)) {
        insert_checkpoint(run, batch->checkpoint);
    }
    if (batch->keep_checkpoints > 0) {
        prune_checkpoints(run, batch->keep_checkpoints);
    }
    insert_events(store, run, batch->events, batch->event_count);
    delete_mail(run, batch->mail_taken);
    run->row.summary = batch->summary;
    run->row.alive_ns = now_ns;
    run->row.updated_ns = now_ns;
    run->row.ended_ns = rules_ended_ns(batch->summary.status, run->row.ended_ns, now_ns);
    run->row.lease_until_ns = batch->lease_ns > 0 ? now_ns + batch->lease_ns : 0;
    if (batch->lease_ns == 0) {
        set_owner(store, run, "");
    }
}

/** Decide about all batches before the first is applied: a refused one must leave no trace. */
static int decide_all(struct memory_store *store, const struct store_batch *const *batches,
                      size_t count, struct store_commit_result *results, struct rondo_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct memory_run *run = find_run(store, batches[i]->run_id);
        if (run == NULL) {
            return no_such_run(batches[i]->run_id, err);
        }
        struct rules_row row = rules_row_of(run);
        int rc = rules_decide(&row, batches[i], &results[i].outcome, err);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

static void finish_batch(struct memory_store *store, const struct store_batch *batch,
                         struct store_commit_result *result)
{
    struct memory_run *run = find_run(store, batch->run_id);
    result->position = 0;
    result->has_mail = false;
    if (result->outcome == STORE_FENCED) {
        return;
    }
    if (result->outcome == STORE_COMMITTED) {
        apply_batch(store, run, batch);
    }
    if (batch->event_count > 0) {
        size_t last = (size_t)(batch->first_seq + batch->event_count - 2);
        result->position = run->events.items[last]->position;
    }
    result->has_mail = run->letters != NULL && run->letters->prev->id > batch->mail_taken;
}

static int memory_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                         struct store_commit_result *ret_results, struct rondo_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = rules_check_batch(batches[i], err);
        if (rc < 0) {
            return rc;
        }
    }
    auto_free struct store_commit_result *results = memory_new_zero(count, sizeof(*results));
    struct memory_store *store = lock(base);
    int rc = decide_all(store, batches, count, results, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        finish_batch(store, batches[i], &results[i]);
    }
    unlock(store);
    if (rc == 0) {
        memcpy(ret_results, results, count * sizeof(*results));
    }
    return rc;
}

static int memory_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                          struct rondo_error *err)
{
    struct memory_store *store = lock(base);
    const struct memory_run *run = find_run(store, run_id);
    if (run != NULL) {
        *ret_run = run->row;
    }
    unlock(store);
    return run != NULL ? 0 : no_such_run(run_id, err);
}

static bool matches(const struct store_run *run, const struct store_run_query *query)
{
    if (query->id_prefix != NULL &&
        strncmp(run->id, query->id_prefix, strlen(query->id_prefix)) != 0) {
        return false;
    }
    if (query->agent_id != NULL && strcmp(run->agent_id, query->agent_id) != 0) {
        return false;
    }
    return !query->only_running || run->summary.status == RONDO_RUNNING;
}

static int memory_list_runs(struct store *base, const struct store_run_query *query,
                            store_run_fn *fn, void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    uint32_t given = 0;
    const struct memory_run *run;
    DL_FOREACH(store->runs, run)
    {
        if (query->limit != 0 && given == query->limit) {
            break;
        }
        if (matches(&run->row, query)) {
            given++;
            if (!fn(&run->row, context)) {
                break;
            }
        }
    }
    unlock(store);
    return 0;
}

/** Index of the first event behind `position`. */
static size_t index_behind(const struct event_array *order, uint64_t position)
{
    size_t low = 0;
    size_t high = order->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order->items[middle]->position <= position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool give_event(const struct memory_event *event, store_event_fn *fn, void *context)
{
    const struct store_event view = {
        .run_id = event->run->row.id,
        .position = event->position,
        .seq = event->seq,
        .time_ns = event->time_ns,
        .type = event->type,
        .data = event->data,
        .data_len = event->data_len,
    };
    return fn(&view, context);
}

static int memory_read_events(struct store *base, const char *run_id, uint64_t after,
                              uint32_t limit, store_event_fn *fn, void *context,
                              struct rondo_error *err)
{
    (void)err;
    static const struct event_array none;
    struct memory_store *store = lock(base);
    const struct event_array *events = &store->order;
    if (run_id != NULL) {
        const struct memory_run *run = find_run(store, run_id);
        events = run != NULL ? &run->events : &none;
    }
    size_t i = after >= UINT32_MAX && after >= events->count ? events->count : (size_t)after;
    if (run_id == NULL) {
        i = index_behind(events, after);
    }
    uint32_t given = 0;
    while (i < events->count && (limit == 0 || given < limit) &&
           give_event(events->items[i], fn, context)) {
        i++;
        given++;
    }
    unlock(store);
    return 0;
}

static int memory_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                                   void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    const struct memory_run *run = find_run(store, run_id);
    const struct memory_checkpoint *checkpoint = run != NULL ? run->checkpoints : NULL;
    for (; checkpoint != NULL; checkpoint = checkpoint->next) {
        struct store_checkpoint view = checkpoint->content;
        view.state = NULL;
        view.state_len = 0;
        view.fold = NULL;
        if (!fn(&view, context)) {
            break;
        }
    }
    unlock(store);
    return 0;
}

static int memory_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                                 store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    struct memory_store *store = lock(base);
    const struct memory_run *run = find_run(store, run_id);
    const struct memory_checkpoint *checkpoint = run != NULL ? run->checkpoints : NULL;
    while (checkpoint != NULL && number != 0 && checkpoint->content.number != number) {
        checkpoint = checkpoint->next;
    }
    if (checkpoint != NULL) {
        fn(&checkpoint->content, context);
    }
    unlock(store);
    return checkpoint != NULL
               ? 0
               : error_set(err, RONDO_ERR_NOT_FOUND, "run %s has no such checkpoint", run_id);
}

static int memory_post(struct store *base, const char *run_id, const char *kind, const char *data,
                       struct rondo_error *err)
{
    int rc = rules_check_letter(kind, data, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = lock(base);
    struct memory_run *run = find_run(store, run_id);
    if (run != NULL) {
        struct memory_letter *letter = memory_new_zero(1, sizeof(*letter));
        letter->id = ++store->last_letter;
        letter->time_ns = clock_now(store->clock);
        letter->kind = memory_dup_string(kind);
        letter->data = memory_dup_string(data);
        DL_APPEND(run->letters, letter);
    }
    unlock(store);
    return run != NULL ? 0 : no_such_run(run_id, err);
}

static bool give_letters(const struct memory_run *run, store_letter_fn *fn, void *context)
{
    const struct memory_letter *letter;
    DL_FOREACH(run->letters, letter)
    {
        const struct store_letter view = {
            .run_id = run->row.id,
            .id = letter->id,
            .time_ns = letter->time_ns,
            .kind = letter->kind,
            .data = letter->data,
        };
        if (!fn(&view, context)) {
            return false;
        }
    }
    return true;
}

static int memory_read_mail(struct store *base, const char *run_id, const char *owner,
                            store_letter_fn *fn, void *context, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    if (run_id != NULL) {
        const struct memory_run *run = find_run(store, run_id);
        if (run != NULL) {
            give_letters(run, fn, context);
        }
    } else {
        const struct memory_run *run;
        DL_FOREACH2(store->owned, run, owned_next)
        {
            if (strcmp(run->row.owner, owner) == 0 && !give_letters(run, fn, context)) {
                break;
            }
        }
    }
    unlock(store);
    return 0;
}

static int memory_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    *ret_position = store->last_position;
    unlock(store);
    return 0;
}

static bool is_garbage(const struct store_run *run, int64_t ended_before_ns, int64_t now_ns)
{
    return run->ended_ns > 0 && run->ended_ns < ended_before_ns && !rules_is_held(run, now_ns);
}

/** Take the events of garbage out of the order of all events. */
static void forget_order(struct memory_store *store, int64_t ended_before_ns, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < store->order.count; i++) {
        struct memory_event *event = store->order.items[i];
        if (!is_garbage(&event->run->row, ended_before_ns, now_ns)) {
            store->order.items[kept++] = event;
        }
    }
    store->order.count = kept;
}

static int memory_gc(struct store *base, const struct store_gc_request *request,
                     struct store_gc_result *ret_result, struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    int64_t now_ns = clock_now(store->clock);
    struct store_gc_result result = {0};
    if (!request->is_dry_run) {
        forget_order(store, request->ended_before_ns, now_ns);
    }
    struct memory_run *run, *next;
    DL_FOREACH_SAFE(store->runs, run, next)
    {
        if (!is_garbage(&run->row, request->ended_before_ns, now_ns)) {
            continue;
        }
        const struct memory_checkpoint *checkpoint;
        int checkpoints;
        DL_COUNT(run->checkpoints, checkpoint, checkpoints);
        result.runs++;
        result.events += run->row.last_seq;
        result.checkpoints += (uint64_t)checkpoints;
        if (!request->is_dry_run) {
            delete_run(store, run);
        }
    }
    unlock(store);
    *ret_result = result;
    return 0;
}

static int memory_health(struct store *base, struct store_health *ret_health,
                         struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = lock(base);
    *ret_health = (struct store_health){
        .location = "memory",
        .version = "memory",
        .schema = 1,
        .run_count = HASH_COUNT(store->by_id),
        .event_count = store->order.count,
        .is_intact = true,
    };
    unlock(store);
    return 0;
}

static const struct store_ops memory_ops = {
    .name = "memory",
    .close = memory_close,
    .create_run = memory_create_run,
    .claim_run = memory_claim_run,
    .expire_lease = memory_expire_lease,
    .renew_leases = memory_renew_leases,
    .commit = memory_commit,
    .get_run = memory_get_run,
    .list_runs = memory_list_runs,
    .read_events = memory_read_events,
    .list_checkpoints = memory_list_checkpoints,
    .get_checkpoint = memory_get_checkpoint,
    .post = memory_post,
    .read_mail = memory_read_mail,
    .last_position = memory_last_position,
    .gc = memory_gc,
    .health = memory_health,
};

struct store *store_memory_new(const struct clock *clock)
{
    struct memory_store *store = memory_new_zero(1, sizeof(*store));
    store->base.ops = &memory_ops;
    store->clock = clock != NULL ? clock : clock_system();
    int rc = pthread_mutex_init(&store->mutex, NULL);
    assert(rc == 0);
    return &store->base;
}
