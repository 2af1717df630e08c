// SPDX-License-Identifier: Apache-2.0
/*
 * A decorator around the store that all owners share: what was committed goes to the model at once,
 * and checkpoints that the world has damaged are damaged when they are read. It knows the rules of
 * store.h by itself, so that a store which forgot one would be caught as well.
 */
#include "sim.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct audit_store {
    struct store base;
    struct store *inner;
    struct sim_world *world;
};

static struct audit_store *self(struct store *base)
{
    return (struct audit_store *)base;
}

static void audit_close(struct store *base)
{
    free(self(base));
}

static int audit_create_run(struct store *base, const struct store_run *run,
                            const struct store_event *first, size_t first_count,
                            const struct store_claim *claim, struct store_claim_result *ret_result,
                            struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    int r = inner->ops->create_run(inner, run, first, first_count, claim, ret_result, err);
    if (r == 0 && ret_result->outcome == STORE_CLAIMED) {
        model_created(self(base)->world, run, first, first_count);
        model_held(sim_find_run(self(base)->world, run->id), claim->lease_ns);
    }
    return r;
}

static int audit_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                           struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    int r = inner->ops->claim_run(inner, run_id, claim, ret_result, err);
    if (r == 0 && ret_result->outcome == STORE_CLAIMED) {
        model_claimed(self(base)->world, run_id, ret_result);
        model_held(sim_find_run(self(base)->world, run_id), claim->lease_ns);
    }
    return r;
}

static int audit_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                              struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    struct store_run row = {0};
    inner->ops->get_run(inner, run_id, &row, NULL);
    int r = inner->ops->expire_lease(inner, run_id, epoch, err);
    if (r == 0 && row.epoch == epoch) { /* else nothing has happened */
        model_held(sim_find_run(self(base)->world, run_id), 0);
    }
    return r;
}

static int audit_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                              struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    struct sim_world *world = self(base)->world;
    int r = inner->ops->renew_leases(inner, owner, lease_ns, err);
    for (unsigned i = 0; r == 0 && i < world->run_count; i++) {
        struct store_run row;
        inner->ops->get_run(inner, world->runs[i].id, &row, NULL);
        if (strcmp(row.owner, owner) == 0) {
            model_held(&world->runs[i], lease_ns);
        }
    }
    return r;
}

static int audit_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                        struct store_commit_result *ret_results, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    struct sim_world *world = self(base)->world;
    struct store_run before;
    struct store_run after;
    sim_require(count == 1, world, NULL, "one thread made a group of %zu", count);
    inner->ops->get_run(inner, batches[0]->run_id, &before, NULL);
    int r = inner->ops->commit(inner, batches, count, ret_results, err);
    if (r == 0 && ret_results[0].outcome == STORE_COMMITTED) {
        inner->ops->get_run(inner, batches[0]->run_id, &after, NULL);
        model_committed(world, batches[0], &before, &after);
        model_held(sim_find_run(world, batches[0]->run_id), batches[0]->lease_ns);
    }
    return r;
}

static int audit_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                         struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->get_run(inner, run_id, ret_run, err);
}

static int audit_list_runs(struct store *base, const struct store_run_query *query,
                           store_run_fn *fn, void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->list_runs(inner, query, fn, context, err);
}

static int audit_read_events(struct store *base, const char *run_id, uint64_t after, uint32_t limit,
                             store_event_fn *fn, void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->read_events(inner, run_id, after, limit, fn, context, err);
}

static int audit_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                                  void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->list_checkpoints(inner, run_id, fn, context, err);
}

struct checkpoint_damage {
    const struct sim_run *run;
    store_checkpoint_fn *fn;
    void *context;
};

/** Which part is hit depends on the number only, so that a damaged one stays as it is. */
static bool hand_on_damaged(const struct store_checkpoint *checkpoint, void *context)
{
    struct checkpoint_damage *damaging = context;
    uint64_t number = checkpoint->number;
    const struct sim_run *run = damaging->run;
    bool is_damaged =
        run != NULL && (number == 0 ? run->is_interim_damaged
                                    : number <= SIM_MAX_CHECKPOINTS && run->is_damaged[number]);
    if (!is_damaged) {
        return damaging->fn(checkpoint, damaging->context);
    }
    struct store_checkpoint damaged = *checkpoint;
    char *fold = memory_dup_string(checkpoint->fold);
    char *state = memory_dup_bytes(checkpoint->state, checkpoint->state_len);
    switch (number % 5) {
    case 0:
        damaged.sha256[7] ^= 1;
        break;
    case 1:
        fold[strlen(fold) / 2] ^= 1;
        break;
    case 2:
        damaged.iteration++;
        break;
    case 3:
        damaged.conditions = "{\"all\":\"met\"}";
        break;
    case 4:
        state[0] = (char)(state[0] ^ 1);
        damaged.time_ns += checkpoint->state_len == 0;
        break;
    }
    damaged.fold = fold;
    damaged.state = state;
    bool continues = damaging->fn(&damaged, damaging->context);
    free(fold);
    free(state);
    return continues;
}

static int audit_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                                store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    struct checkpoint_damage damaging = {
        .run = sim_find_run(self(base)->world, run_id), .fn = fn, .context = context};
    return inner->ops->get_checkpoint(inner, run_id, number, hand_on_damaged, &damaging, err);
}

static int audit_post(struct store *base, const char *run_id, const char *kind, const char *data,
                      struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->post(inner, run_id, kind, data, err);
}

static int audit_read_mail(struct store *base, const char *run_id, const char *owner,
                           store_letter_fn *fn, void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->read_mail(inner, run_id, owner, fn, context, err);
}

static int audit_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->last_position(inner, ret_position, err);
}

static int audit_record_policy(struct store *base, const struct store_policy_change *change,
                               uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->record_policy(inner, change, ret_number, ret_is_new, err);
}

static int audit_read_policies(struct store *base, const char *source, uint64_t before,
                               store_policy_fn *fn, void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->read_policies(inner, source, before, fn, context, err);
}

static int audit_count_runs(struct store *base, const struct store_run_query *query,
                            struct store_run_counts *ret_counts, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->count_runs(inner, query, ret_counts, err);
}

static int audit_change_documents(struct store *base, const struct store_change *changes,
                                  size_t count, bool *ret_is_applied, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->change_documents(inner, changes, count, ret_is_applied, err);
}

static int audit_next_collection(struct store *base, const char *after,
                                 char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->next_collection(inner, after, ret_name, err);
}

static int audit_read_documents(struct store *base, const struct store_document_query *query,
                                store_document_fn *fn, void *context, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->read_documents(inner, query, fn, context, err);
}

static int audit_gc(struct store *base, const struct store_gc_request *request,
                    struct store_gc_result *ret_result, struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->gc(inner, request, ret_result, err);
}

static int audit_health(struct store *base, struct store_health *ret_health,
                        struct rondo_error *err)
{
    struct store *inner = self(base)->inner;
    return inner->ops->health(inner, ret_health, err);
}

static struct store_schema audit_schema(struct store *base)
{
    struct store *inner = self(base)->inner;
    return inner->ops->schema(inner);
}

static const struct store_ops audit_ops = {
    .name = "audit",
    .close = audit_close,
    .create_run = audit_create_run,
    .claim_run = audit_claim_run,
    .expire_lease = audit_expire_lease,
    .renew_leases = audit_renew_leases,
    .commit = audit_commit,
    .get_run = audit_get_run,
    .list_runs = audit_list_runs,
    .count_runs = audit_count_runs,
    .read_events = audit_read_events,
    .list_checkpoints = audit_list_checkpoints,
    .get_checkpoint = audit_get_checkpoint,
    .post = audit_post,
    .read_mail = audit_read_mail,
    .last_position = audit_last_position,
    .record_policy = audit_record_policy,
    .read_policies = audit_read_policies,
    .change_documents = audit_change_documents,
    .next_collection = audit_next_collection,
    .read_documents = audit_read_documents,
    .gc = audit_gc,
    .schema = audit_schema,
    .health = audit_health,
};

struct store *audit_store_new(struct sim_world *world, struct store *inner)
{
    struct audit_store *store = memory_new_zero(1, sizeof(*store));
    store->base.ops = &audit_ops;
    store->inner = inner;
    store->world = world;
    return &store->base;
}
