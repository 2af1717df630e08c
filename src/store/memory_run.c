// SPDX-License-Identifier: Apache-2.0
/* Runs and leases of the memory back end. Threads: each operation holds the store's mutex. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/memory_rows.h"
#include "store/rules.h"

#include <string.h>

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
        memory_rows_set_owner(store, other, "");
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
    memory_rows_set_owner(store, run, claim->owner);
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
    if (memory_rows_find(store, wish->id) != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "there is a run %s already", wish->id);
    }
    const struct memory_run *holder = clear_other_owners(store, wish, now_ns);
    if (holder != NULL) {
        *ret_result = (struct store_claim_result){.outcome = STORE_HELD, .holder = holder->row};
        return 0;
    }
    struct memory_run *run = memory_new_zero(1, sizeof(*run));
    run->row = rules_new_run(wish, first_count, now_ns);
    run->key = ++store->last_key;
    HASH_ADD_STR(store->by_id, row.id, run);
    DL_PREPEND(store->runs, run);
    memory_rows_insert_events(store, run, first, first_count);
    take_run(store, run, claim, now_ns, ret_result);
    return 0;
}

int memory_create_run(struct store *base, const struct store_run *run,
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
    struct memory_store *store = memory_rows_lock(base);
    rc = create_locked(store, run, first, first_count, claim, ret_result, err);
    memory_rows_unlock(store);
    return rc;
}

static int claim_locked(struct memory_store *store, const char *run_id,
                        const struct store_claim *claim, struct store_claim_result *ret_result,
                        struct rondo_error *err)
{
    int64_t now_ns = clock_now(store->clock);
    struct memory_run *run = memory_rows_find(store, run_id);
    if (run == NULL) {
        return memory_rows_missing(run_id, err);
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

int memory_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                     struct store_claim_result *ret_result, struct rondo_error *err)
{
    int rc = rules_check_claim(claim, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    rc = claim_locked(store, run_id, claim, ret_result, err);
    memory_rows_unlock(store);
    return rc;
}

int memory_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                        struct rondo_error *err)
{
    (void)err;
    struct memory_store *store = memory_rows_lock(base);
    struct memory_run *run = memory_rows_find(store, run_id);
    if (run != NULL && run->row.epoch == epoch) {
        memory_rows_set_owner(store, run, "");
        run->row.lease_until_ns = 0;
    }
    memory_rows_unlock(store);
    return 0;
}

int memory_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                        struct rondo_error *err)
{
    int rc = rules_check_claim(&(struct store_claim){.owner = owner, .lease_ns = lease_ns}, err);
    if (rc < 0) {
        return rc;
    }
    struct memory_store *store = memory_rows_lock(base);
    int64_t now_ns = clock_now(store->clock);
    struct memory_run *run;
    DL_FOREACH2(store->owned, run, owned_next)
    {
        if (strcmp(run->row.owner, owner) == 0) {
            run->row.lease_until_ns = now_ns + lease_ns;
            run->row.alive_ns = now_ns;
        }
    }
    memory_rows_unlock(store);
    return 0;
}
