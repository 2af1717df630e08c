// SPDX-License-Identifier: Apache-2.0
/*
 * Creating and claiming runs; leases. A run that was claimed without its claimer's knowing would be
 * held for ever, because its owner renews all that it holds. So when the connection is lost at the
 * commit of a claim, it is found out whether that went through: by a number in the row, which
 * nobody else can guess or read. If that cannot be found out either, the claim is told as failed;
 * who claimed ends the lease later if it is his (runtime_abandon() of the loops).
 *
 * Threads: postgres_begin holds a connection's mutex until postgres_end.
 */
#include "base/digest.h"
#include "base/error.h"
#include "store/postgres/internal.h"
#include "store/rules.h"

#include <string.h>

/** Times that a claim looks for itself after its connection was lost. */
#define FIND_TRIES 3

int64_t postgres_claim_number(const struct postgres_store *store, const char *run_id)
{
    unsigned char bytes[DIGEST_SIZE];
    uint64_t number = 0;
    struct digest digest = digest_begin();
    digest_add(&digest, store->secret, sizeof(store->secret));
    digest_add(&digest, run_id, strlen(run_id));
    digest_finish(&digest, bytes);
    memcpy(&number, bytes, sizeof(number));
    return (int64_t)(number >> 1);
}

/**
 * Whether a claim went through; waits until its transaction has ended.
 * @param run   as it was before the claim
 * @param epoch that of the claim
 * @return 1, 0 or a negative code
 */
static int find_claim(struct postgres_store *store, const struct store_run *run, uint64_t epoch,
                      struct rondo_error *err)
{
    PGresult *result = NULL;
    auto_query struct postgres_query query = {.which = PG_RUN_CLAIMED};
    postgres_add_text(&query, run->agent_id);
    postgres_add_text(&query, run->id);
    postgres_add_number(&query, postgres_claim_number(store, run->id));
    postgres_add_unsigned(&query, epoch);
    int r = RONDO_ERR_IO;
    for (int i = 0; r == RONDO_ERR_IO && i < FIND_TRIES; i++) {
        r = postgres_perform(store, &query, &result, "look for a claim", err);
    }
    if (r == 0) {
        struct checked_row row = postgres_row(store, result, 0);
        r = postgres_check_answer(&row, "f", "look for a claim", err);
        r = r == 0 && postgres_flag(&row, 0) ? 1 : r;
        store->pq.clear(result);
    }
    return r;
}

/** Read what a claim gave. */
static int read_claim(const struct postgres_store *store, const PGresult *result,
                      struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct checked_row row = postgres_row(store, result, 0);
    int64_t key = 0;
    int r = postgres_check_answer(&row, "nn", "claim a run", err);
    if (r < 0) {
        return r;
    }
    *ret_result = (struct store_claim_result){
        .outcome = postgres_number(&row, 0) == 0 ? STORE_CLAIMED : STORE_HELD,
        .epoch = (uint64_t)postgres_number(&row, 1),
    };
    return postgres_row_run(
        &row, 2, ret_result->outcome == STORE_CLAIMED ? &ret_result->run : &ret_result->holder,
        &key, err);
}

/** One try. @param ret_is_unclear whether it failed in the commit */
static int try_claim(struct postgres_connection *connection, struct postgres_query *query,
                     const char *doing, struct store_claim_result *ret_result, bool *ret_is_unclear,
                     struct rondo_error *err)
{
    PGresult *result = NULL;
    *ret_is_unclear = false;
    int r = postgres_try(connection, query, 1, POSTGRES_FIRST, &result, doing, err);
    if (r < 0) {
        return r;
    }
    r = read_claim(connection->store, result, ret_result, err);
    connection->store->pq.clear(result);
    if (r < 0) {
        postgres_rollback(connection);
        return r;
    }
    r = postgres_try(connection, NULL, 0, POSTGRES_LAST, NULL, doing, err);
    *ret_is_unclear = r == RONDO_ERR_IO;
    return r;
}

/** Perform a query that claims; what went through although the connection was lost, counts. */
static int perform_claim(struct postgres_store *store, struct postgres_query *query,
                         const char *doing, struct store_claim_result *ret_result,
                         struct rondo_error *err)
{
    struct store_claim_result result = {0};
    bool is_unclear = false;
    int r = RONDO_ERR_BUSY;
    for (int tries = 0; r == RONDO_ERR_BUSY && tries < POSTGRES_TRIES; tries++) {
        struct postgres_connection *connection = NULL;
        if (tries > 0) {
            postgres_pause(tries);
        }
        r = postgres_begin(store, false, &connection, err);
        if (r < 0) {
            return r;
        }
        r = try_claim(connection, query, doing, &result, &is_unclear, err);
        postgres_end(connection);
    }
    if (is_unclear) {
        /* One that found the run held has changed nothing. */
        struct rondo_error found = {0};
        bool is_through = result.outcome == STORE_HELD ||
                          find_claim(store, &result.run, result.epoch, &found) == 1;
        r = is_through ? 0 : r;
    }
    if (r == 0) {
        *ret_result = result;
        postgres_announce(store);
    }
    return postgres_settle(r, err);
}

int postgres_create_run(struct store *base, const struct store_run *run,
                        const struct store_event *first, size_t first_count,
                        const struct store_claim *claim, struct store_claim_result *ret_result,
                        struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    int r = rules_check_claim(claim, err);
    if (r == 0) {
        r = rules_check_new_run(run, first, first_count, err);
    }
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_RUN_CREATE};
    postgres_add_moment(&query, store);
    postgres_add_text(&query, run->id);
    postgres_add_text(&query, run->agent_id);
    postgres_add_text(&query, run->parent);
    postgres_add_flag(&query, run->is_exclusive);
    postgres_add_text(&query, claim->owner);
    postgres_add_number(&query, claim->lease_ns);
    postgres_add_text(&query, claim->boot != NULL ? claim->boot : "");
    postgres_add_number(&query, postgres_claim_number(store, run->id));
    postgres_add_summary(&query, &run->summary);
    postgres_add_events(&query, first, first_count);
    return perform_claim(store, &query, "create a run", ret_result, err);
}

int postgres_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                       struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    int r = rules_check_claim(claim, err);
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_RUN_CLAIM};
    postgres_add_moment(&query, store);
    postgres_add_text(&query, run_id);
    postgres_add_text(&query, claim->owner);
    postgres_add_number(&query, claim->lease_ns);
    postgres_add_text(&query, claim->boot != NULL ? claim->boot : "");
    postgres_add_number(&query, postgres_claim_number(store, run_id));
    return perform_claim(store, &query, "claim a run", ret_result, err);
}

int postgres_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                          struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    auto_query struct postgres_query query = {.which = PG_RUN_EXPIRE};
    postgres_add_text(&query, run_id);
    postgres_add_unsigned(&query, epoch);
    int r = postgres_perform_again(store, &query, NULL, "end a lease", err);
    if (r == 0) {
        postgres_announce(store);
    }
    return r;
}

int postgres_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                          struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    int r = rules_check_claim(&(struct store_claim){.owner = owner, .lease_ns = lease_ns}, err);
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_RUN_RENEW};
    postgres_add_moment(&query, store);
    postgres_add_text(&query, owner);
    postgres_add_number(&query, lease_ns);
    return postgres_perform_again(store, &query, NULL, "renew leases", err);
}
