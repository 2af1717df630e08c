// SPDX-License-Identifier: Apache-2.0
/*
 * The failing decorator. Each operation is the same three lines around the inner store's: ask the
 * plan, call or not, report or not.
 *
 * Threads: calls are counted atomically; the plan itself must cope with being asked from several
 * threads.
 */
#include "fault.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fault_store {
    struct store base;
    struct store *inner;
    struct store_fault_plan plan;
    _Atomic uint64_t calls;
};

/** What the plan said about one call. */
struct fault_verdict {
    struct store *inner;
    enum store_fault fault;
    int code;
    const char *operation;
};

static struct fault_verdict ask(struct store *base, const char *operation)
{
    struct fault_store *store = (struct fault_store *)base;
    struct fault_verdict verdict = {
        .inner = store->inner,
        .code = RONDO_ERR_IO,
        .operation = operation,
    };
    uint64_t call = atomic_fetch_add(&store->calls, 1) + 1;
    if (store->plan.decide != NULL) {
        verdict.fault = store->plan.decide(store->plan.context, operation, call, &verdict.code);
    }
    return verdict;
}

static bool fails_before(const struct fault_verdict *verdict)
{
    return verdict->fault == STORE_FAULT_BEFORE;
}

/** The answer: the inner store's code, or the planned failure. */
static int answer(const struct fault_verdict *verdict, int inner_code, struct rondo_error *err)
{
    switch (verdict->fault) {
    case STORE_FAULT_NONE:
        return inner_code;
    case STORE_FAULT_BEFORE:
        return error_set(err, verdict->code, "planned failure before %s", verdict->operation);
    case STORE_FAULT_AFTER:
        return error_set(err, verdict->code, "planned failure after %s", verdict->operation);
    }
    return inner_code;
}

static void fault_close(struct store *base)
{
    free(base);
}

static int fault_create_run(struct store *base, const struct store_run *run,
                            const struct store_event *first, size_t first_count,
                            const struct store_claim *claim, struct store_claim_result *ret_result,
                            struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "create_run");
    struct store_claim_result result;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->create_run(verdict.inner, run, first, first_count, claim, &result,
                                            err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_result = result;
    }
    return rc;
}

static int fault_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                           struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "claim_run");
    struct store_claim_result result;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->claim_run(verdict.inner, run_id, claim, &result, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_result = result;
    }
    return rc;
}

static int fault_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                              struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "expire_lease");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->expire_lease(verdict.inner, run_id, epoch, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                              struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "renew_leases");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->renew_leases(verdict.inner, owner, lease_ns, err);
    }
    return answer(&verdict, rc, err);
}

static unsigned fault_commits_at_once(struct store *base)
{
    struct store *inner = ((struct fault_store *)base)->inner;
    return inner->ops->commits_at_once != NULL ? inner->ops->commits_at_once(inner) : 1;
}

static int fault_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                        struct store_commit_result *ret_results, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "commit");
    auto_free struct store_commit_result *results = memory_new_zero(count, sizeof(*results));
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->commit(verdict.inner, batches, count, results, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        memcpy(ret_results, results, count * sizeof(*results));
    }
    return rc;
}

static int fault_get_run(struct store *base, const char *run_id, struct store_run *ret_run,
                         struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "get_run");
    struct store_run run;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->get_run(verdict.inner, run_id, &run, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_run = run;
    }
    return rc;
}

static int fault_list_runs(struct store *base, const struct store_run_query *query,
                           store_run_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "list_runs");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->list_runs(verdict.inner, query, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_count_runs(struct store *base, const struct store_run_query *query,
                            struct store_run_counts *ret_counts, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "count_runs");
    struct store_run_counts counts;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->count_runs(verdict.inner, query, &counts, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_counts = counts;
    }
    return rc;
}

static int fault_read_events(struct store *base, const char *run_id, uint64_t after, uint32_t limit,
                             store_event_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "read_events");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->read_events(verdict.inner, run_id, after, limit, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_list_checkpoints(struct store *base, const char *run_id, store_checkpoint_fn *fn,
                                  void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "list_checkpoints");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->list_checkpoints(verdict.inner, run_id, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_get_checkpoint(struct store *base, const char *run_id, uint64_t number,
                                store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "get_checkpoint");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->get_checkpoint(verdict.inner, run_id, number, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_post(struct store *base, const char *run_id, const char *kind, const char *data,
                      struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "post");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->post(verdict.inner, run_id, kind, data, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_read_mail(struct store *base, const char *run_id, const char *owner,
                           store_letter_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "read_mail");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->read_mail(verdict.inner, run_id, owner, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_last_position(struct store *base, uint64_t *ret_position, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "last_position");
    uint64_t position = 0;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->last_position(verdict.inner, &position, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_position = position;
    }
    return rc;
}

static int fault_record_policy(struct store *base, const struct store_policy_change *change,
                               uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "record_policy");
    uint64_t number = 0;
    bool is_new = false;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->record_policy(verdict.inner, change, &number, &is_new, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_number = number;
        *ret_is_new = is_new;
    }
    return rc;
}

static int fault_read_policies(struct store *base, const char *source, uint64_t before,
                               store_policy_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "read_policies");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->read_policies(verdict.inner, source, before, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_change_documents(struct store *base, const struct store_change *changes,
                                  size_t count, bool *ret_is_applied, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "change_documents");
    bool is_applied = false;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->change_documents(verdict.inner, changes, count, &is_applied, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_is_applied = is_applied;
    }
    return rc;
}

static int fault_next_collection(struct store *base, const char *after,
                                 char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "next_collection");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->next_collection(verdict.inner, after, ret_name, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_read_documents(struct store *base, const struct store_document_query *query,
                                store_document_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "read_documents");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->read_documents(verdict.inner, query, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_reserve_memories(struct store *base, const char *owner, uint32_t count,
                                  int64_t *ret_first, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "reserve_memories");
    int64_t first = 0;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->reserve_memories(verdict.inner, owner, count, &first, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_first = first;
    }
    return rc;
}

static int fault_change_memories(struct store *base, const struct store_memory_change *changes,
                                 size_t count, uint64_t *ret_changed, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "change_memories");
    uint64_t changed = 0;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->change_memories(verdict.inner, changes, count, &changed, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_changed = changed;
    }
    return rc;
}

static int fault_read_memories(struct store *base, const struct store_memory_query *query,
                               store_memory_fn *fn, void *context, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "read_memories");
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->read_memories(verdict.inner, query, fn, context, err);
    }
    return answer(&verdict, rc, err);
}

static int fault_gc(struct store *base, const struct store_gc_request *request,
                    struct store_gc_result *ret_result, struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "gc");
    struct store_gc_result result;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->gc(verdict.inner, request, &result, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_result = result;
    }
    return rc;
}

static int fault_health(struct store *base, struct store_health *ret_health,
                        struct rondo_error *err)
{
    struct fault_verdict verdict = ask(base, "health");
    struct store_health health;
    int rc = 0;
    if (!fails_before(&verdict)) {
        rc = verdict.inner->ops->health(verdict.inner, &health, err);
    }
    rc = answer(&verdict, rc, err);
    if (rc == 0) {
        *ret_health = health;
    }
    return rc;
}

static struct store_schema fault_schema(struct store *base)
{
    struct store *inner = ((struct fault_store *)base)->inner;
    return inner->ops->schema(inner);
}

static const struct store_ops fault_ops = {
    .name = "fault",
    .close = fault_close,
    .create_run = fault_create_run,
    .claim_run = fault_claim_run,
    .expire_lease = fault_expire_lease,
    .renew_leases = fault_renew_leases,
    .commits_at_once = fault_commits_at_once,
    .commit = fault_commit,
    .get_run = fault_get_run,
    .list_runs = fault_list_runs,
    .count_runs = fault_count_runs,
    .read_events = fault_read_events,
    .list_checkpoints = fault_list_checkpoints,
    .get_checkpoint = fault_get_checkpoint,
    .post = fault_post,
    .read_mail = fault_read_mail,
    .last_position = fault_last_position,
    .record_policy = fault_record_policy,
    .read_policies = fault_read_policies,
    .change_documents = fault_change_documents,
    .next_collection = fault_next_collection,
    .read_documents = fault_read_documents,
    .reserve_memories = fault_reserve_memories,
    .change_memories = fault_change_memories,
    .read_memories = fault_read_memories,
    .gc = fault_gc,
    .schema = fault_schema,
    .health = fault_health,
};

struct store *store_fault_new(struct store *inner, const struct store_fault_plan *plan)
{
    struct fault_store *store = memory_new_zero(1, sizeof(*store));
    store->base.ops = &fault_ops;
    store->inner = inner;
    store->plan = *plan;
    return &store->base;
}
