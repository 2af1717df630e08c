// SPDX-License-Identifier: Apache-2.0
/*
 * The back end without a disk: its table of operations, mail, garbage collection and the end.
 * Threads: one mutex over everything, callbacks included.
 */
#include "memory_store.h"

#include "base/clock.h"
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <assert.h>

static void memory_close(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;
    struct memory_run *run, *next;
    DL_FOREACH_SAFE(store->runs, run, next)
    {
        memory_rows_delete(store, run);
    }
    memory_policy_free_all(store);
    memory_document_free_all(store);
    memory_note_free_all(store);
    free(store->order.items);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

static int memory_post(struct store *base, const char *run_id, const char *kind, const char *data,
                       struct rondo_error *err)
{
    int rc = rules_check_letter(kind, data, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    struct memory_run *run = memory_rows_find(store, run_id);
    if (run != NULL) {
        struct memory_letter *letter = memory_new_zero(1, sizeof(*letter));
        letter->id = ++store->last_letter;
        letter->time_ns = clock_now(store->clock);
        letter->kind = memory_dup_string(kind);
        letter->data = memory_dup_string(data);
        DL_APPEND(run->letters, letter);
    }
    memory_rows_unlock(store);
    return run != NULL ? 0 : memory_rows_missing(run_id, err);
}

static bool is_garbage(const struct store_run *run, int64_t ended_before_ns, int64_t now_ns)
{
    return run->ended_ns > 0 && run->ended_ns < ended_before_ns &&
           !rules_is_held(run, NULL, (struct rules_moment){.wall_ns = now_ns});
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
    struct memory_store *store = memory_rows_lock(base);
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
            memory_rows_delete(store, run);
        }
    }
    memory_rows_unlock(store);
    *ret_result = result;
    return 0;
}

static int memory_health(struct store *base, struct store_health *ret_health,
                         struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    *ret_health = (struct store_health){
        .location = "memory",
        .version = "memory",
        .schema = 9,
        .run_count = HASH_COUNT(store->by_id),
        .event_count = store->order.count,
        .is_intact = true,
    };
    memory_rows_unlock(store);
    return 0;
}

static struct store_schema memory_schema(struct store *base)
{
    (void)base;
    return (struct store_schema){.present = 9};
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
    .count_runs = memory_count_runs,
    .read_events = memory_read_events,
    .list_checkpoints = memory_list_checkpoints,
    .get_checkpoint = memory_get_checkpoint,
    .post = memory_post,
    .read_mail = memory_read_mail,
    .last_position = memory_last_position,
    .record_policy = memory_record_policy,
    .read_policies = memory_read_policies,
    .change_documents = memory_change_documents,
    .next_collection = memory_next_collection,
    .read_documents = memory_read_documents,
    .reserve_memories = memory_reserve_memories,
    .change_memories = memory_change_memories,
    .read_memories = memory_read_memories,
    .gc = memory_gc,
    .schema = memory_schema,
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
