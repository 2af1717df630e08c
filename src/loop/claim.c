// SPDX-License-Identifier: Apache-2.0
/* Claiming a run for this process: dead holders are cleared out of the way, failures tried again.
 */
#include "base/error.h"
#include "loop/owner.h"
#include "loop/runtime.h"
#include "loop/runtime_internal.h"

#include <stdio.h>
#include <string.h>

/** Dead holders that one claim may clear out of the way. */
#define CLAIM_TRIES 16

/** Times that a claim is tried when the store fails, and the first pause, doubled each time. */
#define CLAIM_FAILURES 4
#define CLAIM_PAUSE_NS (20 * NS_PER_MS)

/** One claim as it is tried. */
struct claiming {
    struct runtime *runtime;
    const char *run_id;
    const struct store_run *new_run; /* NULL = claim an existing one */
    const struct store_event *first;
    size_t first_count;
    int failures; /* tries whose outcome is unknown: one of them may have taken effect */
    char dead_owner[STORE_OWNER_SIZE]; /* of the run, whose lease was ended here; "" = none */
};

/** A creation whose answer was lost is there on the second try. */
static int recognise_created(const struct claiming *claiming, struct store_claim_result *ret_result,
                             struct rondo_error *err)
{
    struct store *store = runtime_store(claiming->runtime);
    struct store_run run;
    int r = store->ops->get_run(store, claiming->run_id, &run, err);
    if (r == 0 && strcmp(run.owner, runtime_owner(claiming->runtime)) != 0) {
        r = error_set(err, RONDO_ERR_INVALID, "there is a run %s already", claiming->run_id);
    }
    if (r == 0) {
        *ret_result =
            (struct store_claim_result){.outcome = STORE_CLAIMED, .epoch = run.epoch, .run = run};
    }
    return r;
}

static int ask_store(const struct claiming *claiming, struct store_claim_result *ret_result,
                     struct rondo_error *err)
{
    struct runtime *runtime = claiming->runtime;
    struct store *store = runtime_store(runtime);
    struct store_claim claim = {.owner = runtime_owner(runtime),
                                .lease_ns = runtime_lease_ns(runtime),
                                .boot = runtime_boot(runtime)};
    if (claiming->new_run == NULL) {
        return store->ops->claim_run(store, claiming->run_id, &claim, ret_result, err);
    }
    int r = store->ops->create_run(store, claiming->new_run, claiming->first, claiming->first_count,
                                   &claim, ret_result, err);
    return r == RONDO_ERR_INVALID && claiming->failures > 0
               ? recognise_created(claiming, ret_result, err)
               : r;
}

/** Whether the holder is no living loop: a dead process, or this one without knowing it. */
static bool may_take_over(const struct claiming *claiming, const struct store_run *holder)
{
    struct runtime *runtime = claiming->runtime;
    if (strcmp(holder->owner, runtime_owner(runtime)) != 0) {
        return owner_is_dead(holder->owner);
    }
    if (runtime_is_running_here(runtime, holder->id)) {
        return false;
    }
    bool is_abandoned = runtime_is_abandoned(runtime, holder->id, holder->epoch);
    bool may_be_ours = claiming->failures > 0 && strcmp(holder->id, claiming->run_id) == 0;
    return is_abandoned || may_be_ours;
}

/** The store forgets the holder of a lease that is ended. */
static int end_lease_of(struct claiming *claiming, const struct store_run *holder,
                        struct rondo_error *err)
{
    struct store *store = runtime_store(claiming->runtime);
    bool is_others = strcmp(holder->owner, runtime_owner(claiming->runtime)) != 0;
    if (is_others && strcmp(holder->id, claiming->run_id) == 0) {
        snprintf(claiming->dead_owner, sizeof(claiming->dead_owner), "%s", holder->owner);
    }
    int r = 0;
    if (is_others && strcmp(holder->id, claiming->run_id) != 0) {
        /* A run of an exclusive agent, whose place is taken: it waits for somebody, too. */
        r = orphan_mark(store, holder->id, err);
    }
    return r < 0 ? r : store->ops->expire_lease(store, holder->id, holder->epoch, err);
}

/** The row as it was before the claim names the process that died holding the run. */
static void report_dead_owner(const struct claiming *claiming, struct store_run *run)
{
    if (run->owner[0] == '\0') {
        memcpy(run->owner, claiming->dead_owner, sizeof(run->owner));
    }
}

static bool should_ask_again(struct claiming *claiming, int r)
{
    bool may_pass =
        r == RONDO_ERR_IO || r == RONDO_ERR_FULL || r == RONDO_ERR_BUSY || r == RONDO_ERR_TIMEOUT;
    if (!may_pass || ++claiming->failures >= CLAIM_FAILURES) {
        return false;
    }
    clock_sleep(runtime_clock(claiming->runtime), CLAIM_PAUSE_NS << claiming->failures, NULL);
    return true;
}

int runtime_claim(struct runtime *runtime, const char *run_id, const struct store_run *new_run,
                  const struct store_event *first, size_t first_count,
                  struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct claiming claiming = {.runtime = runtime,
                                .run_id = run_id,
                                .new_run = new_run,
                                .first = first,
                                .first_count = first_count};
    for (int i = 0; i < CLAIM_TRIES; i++) {
        int r = ask_store(&claiming, ret_result, err);
        if (r == 0 && ret_result->outcome == STORE_CLAIMED) {
            runtime_forget_abandoned(runtime, run_id);
            report_dead_owner(&claiming, &ret_result->run);
            return 0;
        }
        if (r == 0 && !may_take_over(&claiming, &ret_result->holder)) {
            return 0;
        }
        if (r == 0) {
            r = end_lease_of(&claiming, &ret_result->holder, err);
        }
        if (r < 0 && !should_ask_again(&claiming, r)) {
            if (claiming.failures > 0) {
                runtime_abandon(runtime, run_id, 0); /* One of the tries may have taken effect. */
            }
            return r;
        }
    }
    return 0;
}
