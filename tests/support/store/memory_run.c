// SPDX-License-Identifier: Apache-2.0
/* Runs and leases of the memory back end. Threads: each operation holds the store's mutex. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "memory_rows.h"
#include "store/rules.h"

#include <stdio.h>
#include <string.h>

/**
 * The owned run that blocks a claim: of those whose lease runs, the one that does for
 * the longest time, else any; NULL when none does.
 */
static struct memory_run *find_other_owned(struct memory_store *store, const struct store_run *run,
                                           const char *boot, struct rules_moment now)
{
    struct memory_run *other;
    struct memory_run *found = NULL;
    bool is_held = false;
    DL_FOREACH2(store->owned, other, owned_next)
    {
        if (strcmp(other->row.agent_id, run->agent_id) != 0 ||
            (!other->row.is_exclusive && !run->is_exclusive) ||
            strcmp(other->row.id, run->id) == 0) {
            continue;
        }
        bool is_other_held = rules_is_held(&other->row, boot, now);
        bool is_longer = found == NULL || other->row.lease_until_ns > found->row.lease_until_ns;
        if (found == NULL || (is_other_held && !is_held) ||
            (is_other_held == is_held && is_longer)) {
            found = other;
            is_held = is_other_held;
        }
    }
    return found;
}

/** Make sure that no exclusive run of the agent is in the way. @return the holder, or NULL */
static const struct memory_run *clear_other_owners(struct memory_store *store,
                                                   const struct store_run *run, const char *boot,
                                                   struct rules_moment now)
{
    struct memory_run *other = find_other_owned(store, run, boot, now);
    if (other != NULL && rules_is_held(&other->row, boot, now)) {
        return other;
    }
    /* These leases have all run out; their owners must not be able to renew them any more. */
    while ((other = find_other_owned(store, run, boot, now)) != NULL) {
        memory_rows_set_owner(store, other, "");
        other->row.lease_until_ns = 0;
        other->row.epoch++;
    }
    return NULL;
}

static void renew(struct store_run *row, int64_t lease_ns, struct rules_moment now)
{
    row->lease_until_ns = now.wall_ns + lease_ns;
    row->alive_ns = now.wall_ns;
    row->alive_monotonic_ns = now.monotonic_ns;
}

static void take_run(struct memory_store *store, struct memory_run *run,
                     const struct store_claim *claim, struct rules_moment now,
                     struct store_claim_result *ret_result)
{
    *ret_result = (struct store_claim_result){
        .outcome = STORE_CLAIMED,
        .epoch = run->row.epoch + 1,
        .run = run->row,
    };
    memory_rows_set_owner(store, run, claim->owner);
    run->row.epoch++;
    snprintf(run->row.boot, sizeof(run->row.boot), "%s", claim->boot == NULL ? "" : claim->boot);
    renew(&run->row, claim->lease_ns, now);
}

static int create_locked(struct memory_store *store, const struct store_run *wish,
                         const struct store_event *first, size_t first_count,
                         const struct store_claim *claim, struct store_claim_result *ret_result,
                         struct rondo_error *err)
{
    struct rules_moment now = rules_now(store->clock);
    if (memory_rows_find(store, wish->id) != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "there is a run %s already", wish->id);
    }
    const struct memory_run *holder = clear_other_owners(store, wish, claim->boot, now);
    if (holder != NULL) {
        *ret_result = (struct store_claim_result){.outcome = STORE_HELD, .holder = holder->row};
        return 0;
    }
    struct memory_run *run = memory_new_zero(1, sizeof(*run));
    run->row = rules_new_run(wish, first_count, now.wall_ns);
    run->key = ++store->last_key;
    HASH_ADD_STR(store->by_id, row.id, run);
    DL_PREPEND(store->runs, run);
    memory_rows_insert_events(store, run, first, first_count);
    take_run(store, run, claim, now, ret_result);
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
    struct rules_moment now = rules_now(store->clock);
    struct memory_run *run = memory_rows_find(store, run_id);
    if (run == NULL) {
        return memory_rows_missing(run_id, err);
    }
    const struct memory_run *holder = rules_is_held(&run->row, claim->boot, now)
                                          ? run
                                          : clear_other_owners(store, &run->row, claim->boot, now);
    if (holder != NULL) {
        *ret_result = (struct store_claim_result){
            .outcome = STORE_HELD, .run = run->row, .holder = holder->row};
        return 0;
    }
    take_run(store, run, claim, now, ret_result);
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
    struct rules_moment now = rules_now(store->clock);
    struct memory_run *run;
    DL_FOREACH2(store->owned, run, owned_next)
    {
        if (strcmp(run->row.owner, owner) == 0) {
            renew(&run->row, lease_ns, now);
        }
    }
    memory_rows_unlock(store);
    return 0;
}
