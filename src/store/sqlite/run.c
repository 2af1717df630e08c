// SPDX-License-Identifier: Apache-2.0
/*
 * Creating and claiming runs, and their leases. A claim looks for owners that are in its way in the
 * same transaction in which it takes the run, so that of two processes exactly one wins.
 *
 * Threads: sqlite_write_begin holds the writer's mutex until sqlite_write_end.
 */
#include "base/clock.h"
#include "base/error.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <stdio.h>
#include <string.h>

/** Step a statement that gives at most one run. @return 1 found, 0 not, or a negative code */
static int step_run(struct sqlite_connection *writer, sqlite3_stmt *statement,
                    struct store_run *ret_run, int64_t *ret_key, struct rondo_error *err)
{
    int r = sqlite_step_row(writer, statement, "read a run", err);
    if (r == 1) {
        int damage = row_run(sqlite_row(writer, statement), 0, ret_run, ret_key, err);
        r = damage < 0 ? damage : 1;
    }
    sqlite3_reset(statement);
    return r;
}

static int find_run(struct sqlite_connection *writer, const char *run_id, struct store_run *ret_run,
                    int64_t *ret_key, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_RUN_BY_ID, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    return step_run(writer, statement, ret_run, ret_key, err);
}

/** Bind what SQL_RUN_OTHER_OWNED and SQL_RUN_EVICT ask for. */
static int bind_other_owned(struct sqlite_connection *writer, enum sqlite_sql which,
                            const struct store_run *run, int64_t key, sqlite3_stmt **ret_statement,
                            struct rondo_error *err)
{
    int r = sqlite_statement(writer, which, ret_statement, err);
    if (r == 0) {
        sqlite_bind_string(*ret_statement, 1, run->agent_id);
        sqlite_bind_number(*ret_statement, 2, key);
        sqlite_bind_number(*ret_statement, 3, run->is_exclusive);
    }
    return r;
}

/**
 * Find a running lease that is in the way as far as exclusiveness goes: the one that runs longest.
 * @return 1 when there is one (`ret_holder` is set), 0 when not; `*ret_count` counts all leases
 */
static int find_other_holder(struct sqlite_connection *writer, const struct store_run *run,
                             int64_t key, const char *boot, struct rules_moment now,
                             struct store_run *ret_holder, uint64_t *ret_count,
                             struct rondo_error *err)
{
    sqlite3_stmt *statement;
    bool is_held = false;
    int r = bind_other_owned(writer, SQL_RUN_OTHER_OWNED, run, key, &statement, err);
    while (r == 0 && (r = sqlite_step_row(writer, statement, "read a run", err)) == 1) {
        struct store_run holder;
        int64_t holder_key;
        r = row_run(sqlite_row(writer, statement), 0, &holder, &holder_key, err);
        (*ret_count)++;
        bool is_longer = !is_held || holder.lease_until_ns > ret_holder->lease_until_ns;
        if (r == 0 && rules_is_held(&holder, boot, now) && is_longer) {
            *ret_holder = holder;
            is_held = true;
        }
    }
    sqlite3_reset(statement);
    return r < 0 ? r : is_held;
}

/**
 * Clear the way for a claim as far as exclusiveness goes.
 * @param key the run's own, 0 when it is new
 * @return 1 when a running lease is in the way (`ret_holder` is set), 0 when the way is free
 */
static int clear_other_owners(struct sqlite_connection *writer, const struct store_run *run,
                              int64_t key, const char *boot, struct rules_moment now,
                              struct store_run *ret_holder, struct rondo_error *err)
{
    uint64_t count = 0;
    int r = find_other_holder(writer, run, key, boot, now, ret_holder, &count, err);
    if (r != 0 || count == 0) {
        return r;
    }
    /* All of these leases have run out. Without this, their owners could wake up late and renew
     * them beside the new owner. */
    sqlite3_stmt *statement;
    r = bind_other_owned(writer, SQL_RUN_EVICT, run, key, &statement, err);
    return r < 0 ? r : sqlite_run(writer, statement, "end leases that have run out", err);
}

static int insert_run(struct sqlite_connection *writer, const struct store_run *run,
                      const struct store_claim *claim, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_RUN_INSERT, &statement, err);
    if (r < 0) {
        return r;
    }
    const struct store_summary *summary = &run->summary;
    sqlite_bind_string(statement, 1, run->id);
    sqlite_bind_string(statement, 2, run->agent_id);
    sqlite_bind_number(statement, 3, run->is_exclusive);
    sqlite_bind_string(statement, 4, claim->owner);
    sqlite_bind_number(statement, 5, run->created_ns + claim->lease_ns);
    sqlite_bind_number(statement, 6, run->created_ns);
    sqlite_bind_number(statement, 7, run->ended_ns);
    sqlite_bind_number(statement, 8, summary->status);
    sqlite_bind_unsigned(statement, 9, summary->iteration);
    sqlite_bind_unsigned(statement, 10, summary->iteration_limit);
    sqlite_bind_number(statement, 11, summary->conditions_met);
    sqlite_bind_number(statement, 12, summary->conditions_total);
    sqlite_bind_number(statement, 13, summary->tokens);
    sqlite_bind_number(statement, 14, summary->cost_micro);
    sqlite_bind_unsigned(statement, 15, run->last_seq);
    sqlite_bind_number(statement, 16, summary->warnings);
    sqlite_bind_number(statement, 17, row_pause(summary));
    sqlite_bind_string(statement, 18, claim->boot == NULL ? "" : claim->boot);
    sqlite_bind_number(statement, 19, run->alive_monotonic_ns);
    sqlite_bind_string(statement, 20, run->parent);
    return sqlite_run(writer, statement, "create a run", err);
}

/** Append the first events of the run that was inserted last. */
static int insert_first_events(struct sqlite_connection *writer, const struct store_event *first,
                               size_t count, struct rondo_error *err)
{
    int64_t key = sqlite3_last_insert_rowid(writer->db);
    uint64_t position = 0;
    int r = sqlite_insert_events(writer, key, 0, first, count, &position, err);
    sqlite3_stmt *statement;
    if (r == 0) {
        r = sqlite_statement(writer, SQL_RUN_SET_LAST, &statement, err);
    }
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, key);
    sqlite_bind_unsigned(statement, 2, position);
    return sqlite_run(writer, statement, "create a run", err);
}

/** Create the run inside a transaction. `run` is complete but for the claim. */
static int create_in_transaction(struct sqlite_connection *writer, const struct store_run *run,
                                 const struct store_event *first, const struct store_claim *claim,
                                 struct store_claim_result *result, struct rondo_error *err)
{
    struct store_run existing;
    int64_t key;
    int r = find_run(writer, run->id, &existing, &key, err);
    if (r == 1) {
        return error_set(err, RONDO_ERR_INVALID, "there is a run %s already", run->id);
    }
    if (r == 0) {
        r = clear_other_owners(writer, run, 0, claim->boot,
                               (struct rules_moment){run->created_ns, run->alive_monotonic_ns},
                               &result->holder, err);
    }
    if (r != 0) {
        result->outcome = STORE_HELD;
        return r < 0 ? r : 0;
    }
    r = insert_run(writer, run, claim, err);
    if (r == 0 && run->last_seq > 0) {
        r = insert_first_events(writer, first, (size_t)run->last_seq, err);
    }
    result->outcome = STORE_CLAIMED;
    result->epoch = 1;
    result->run = *run;
    return r;
}

int sqlite_create_run(struct store *base, const struct store_run *run,
                      const struct store_event *first, size_t first_count,
                      const struct store_claim *claim, struct store_claim_result *ret_result,
                      struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = rules_check_claim(claim, err);
    if (r == 0) {
        r = rules_check_new_run(run, first, first_count, err);
    }
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    /* The time is read inside the transaction: waiting for it may have taken long. */
    struct rules_moment now = rules_now(store->clock);
    struct store_run created = rules_new_run(run, first_count, now.wall_ns);
    created.alive_monotonic_ns = now.monotonic_ns;
    struct store_claim_result result = {0};
    r = create_in_transaction(&store->writer, &created, first, claim, &result, err);
    r = sqlite_write_end(store, r, false, err);
    if (r == 0) {
        *ret_result = result;
    }
    return r;
}

static int take_run(struct sqlite_connection *writer, int64_t key, const struct store_claim *claim,
                    struct rules_moment now, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_RUN_CLAIM, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, key);
    sqlite_bind_string(statement, 2, claim->owner);
    sqlite_bind_number(statement, 3, now.wall_ns + claim->lease_ns);
    sqlite_bind_number(statement, 4, now.wall_ns);
    sqlite_bind_string(statement, 5, claim->boot == NULL ? "" : claim->boot);
    sqlite_bind_number(statement, 6, now.monotonic_ns);
    return sqlite_run(writer, statement, "claim a run", err);
}

static int claim_in_transaction(struct sqlite_connection *writer, const char *run_id,
                                const struct store_claim *claim, struct rules_moment now,
                                struct store_claim_result *result, struct rondo_error *err)
{
    int64_t key;
    int r = find_run(writer, run_id, &result->run, &key, err);
    if (r <= 0) {
        return r < 0 ? r : error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
    }
    if (rules_is_held(&result->run, claim->boot, now)) {
        result->outcome = STORE_HELD;
        result->holder = result->run;
        return 0;
    }
    r = clear_other_owners(writer, &result->run, key, claim->boot, now, &result->holder, err);
    if (r != 0) {
        result->outcome = STORE_HELD;
        return r < 0 ? r : 0;
    }
    result->outcome = STORE_CLAIMED;
    result->epoch = result->run.epoch + 1;
    return take_run(writer, key, claim, now, err);
}

int sqlite_claim_run(struct store *base, const char *run_id, const struct store_claim *claim,
                     struct store_claim_result *ret_result, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = rules_check_claim(claim, err);
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    struct store_claim_result result = {0};
    r = claim_in_transaction(&store->writer, run_id, claim, rules_now(store->clock), &result, err);
    r = sqlite_write_end(store, r, false, err);
    if (r == 0) {
        *ret_result = result;
    }
    return r;
}

int sqlite_expire_lease(struct store *base, const char *run_id, uint64_t epoch,
                        struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = sqlite_write_begin(store, err);
    if (r < 0) {
        return r;
    }
    sqlite3_stmt *statement;
    r = sqlite_statement(&store->writer, SQL_RUN_EXPIRE, &statement, err);
    if (r == 0) {
        sqlite_bind_string(statement, 1, run_id);
        sqlite_bind_unsigned(statement, 2, epoch);
        r = sqlite_run(&store->writer, statement, "end a lease", err);
    }
    return sqlite_write_end(store, r, false, err);
}

int sqlite_renew_leases(struct store *base, const char *owner, int64_t lease_ns,
                        struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = rules_check_claim(&(struct store_claim){.owner = owner, .lease_ns = lease_ns}, err);
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    sqlite3_stmt *statement;
    r = sqlite_statement(&store->writer, SQL_RUN_RENEW, &statement, err);
    if (r == 0) {
        struct rules_moment now = rules_now(store->clock);
        sqlite_bind_string(statement, 1, owner);
        sqlite_bind_number(statement, 2, now.wall_ns + lease_ns);
        sqlite_bind_number(statement, 3, now.wall_ns);
        sqlite_bind_number(statement, 4, now.monotonic_ns);
        r = sqlite_run(&store->writer, statement, "renew leases", err);
    }
    return sqlite_write_end(store, r, false, err);
}
