// SPDX-License-Identifier: Apache-2.0
/*
 * Commit of batches, the hot path. An iteration's batch costs one look at the run's row, one
 * insertion for each event and one update of the row; everything else happens only when asked for.
 *
 * Threads: sqlite_write_begin holds the writer's mutex until sqlite_write_end.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <string.h>

/** A run's reader walks at most about so many events to find the one to begin with. */
#define MARK_INTERVAL 64
/** Odd, so that neighbouring keys get marks that are far apart. */
#define MARK_SHIFT 27

/** What SQL_RUN_FOR_COMMIT gives. */
struct commit_state {
    int64_t key;
    struct rules_row row;
    int64_t ended_ns;
    uint64_t last_position;
    int64_t last_checkpoint_key;
    bool has_mail; /**< after the mail that the batch has taken */
};

static int read_state(struct sqlite_connection *writer, const struct store_batch *batch,
                      struct commit_state *ret_state, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_RUN_FOR_COMMIT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, batch->run_id);
    sqlite_bind_unsigned(statement, 2, batch->mail_taken);
    r = sqlite_step_row(writer, statement, "read a run", err);
    int damage = r == 1 ? row_numbers(sqlite_row(writer, statement),
                                      sqlite3_column_count(statement), "a run", err)
                        : 0;
    r = damage < 0 ? damage : r;
    if (r == 1) {
        *ret_state = (struct commit_state){
            .key = sqlite3_column_int64(statement, 0),
            .row = {.epoch = (uint64_t)sqlite3_column_int64(statement, 1),
                    .last_seq = (uint64_t)sqlite3_column_int64(statement, 2),
                    .last_checkpoint = (uint64_t)sqlite3_column_int64(statement, 3),
                    .is_owned = sqlite3_column_int(statement, 4) != 0},
            .ended_ns = sqlite3_column_int64(statement, 5),
            .last_position = (uint64_t)sqlite3_column_int64(statement, 6),
            .last_checkpoint_key = sqlite3_column_int64(statement, 7),
            .has_mail = sqlite3_column_int(statement, 8) != 0,
        };
    }
    sqlite3_reset(statement);
    if (r == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", batch->run_id);
    }
    return r < 0 ? r : 0;
}

static int insert_mark(struct sqlite_connection *connection, int64_t run_key, uint64_t seq,
                       uint64_t position, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(connection, SQL_MARK_INSERT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, run_key);
    sqlite_bind_unsigned(statement, 2, seq);
    sqlite_bind_unsigned(statement, 3, position);
    return sqlite_run(connection, statement, "mark an event", err);
}

/** The run's key shifts its marks, so that loops that began together do not mark together. */
static bool is_marked(int64_t run_key, uint64_t seq)
{
    return ((uint64_t)run_key * MARK_SHIFT + seq) % MARK_INTERVAL == 0;
}

int sqlite_mark_event(struct sqlite_connection *writer, int64_t run_key, uint64_t seq,
                      uint64_t position, struct rondo_error *err)
{
    return is_marked(run_key, seq) ? insert_mark(writer, run_key, seq, position, err) : 0;
}

int sqlite_insert_events(struct sqlite_connection *connection, int64_t run_key, uint64_t seq,
                         const struct store_event *events, size_t count, uint64_t *last_position,
                         struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(connection, SQL_EVENT_INSERT, &statement, err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        seq++;
        sqlite_bind_number(statement, 1, run_key);
        sqlite_bind_unsigned(statement, 2, *last_position);
        sqlite_bind_unsigned(statement, 3, seq);
        sqlite_bind_number(statement, 4, events[i].time_ns);
        sqlite_bind_string(statement, 5, events[i].type);
        sqlite_bind_string_len(statement, 6, events[i].data, events[i].data_len);
        r = sqlite_run(connection, statement, "append an event", err);
        *last_position = (uint64_t)sqlite3_last_insert_rowid(connection->db);
        r = r < 0 ? r : sqlite_mark_event(connection, run_key, seq, *last_position, err);
    }
    return r;
}

/** Bind the columns from `seq` to `state`, which checkpoints and interims have in common. */
static void bind_content(sqlite3_stmt *statement, int first,
                         const struct store_checkpoint *checkpoint)
{
    sqlite_bind_unsigned(statement, first, checkpoint->seq);
    sqlite_bind_unsigned(statement, first + 1, checkpoint->iteration);
    sqlite_bind_number(statement, first + 2, checkpoint->time_ns);
    sqlite_bind_number(statement, first + 3, checkpoint->format);
    sqlite_bind_unsigned(statement, first + 4, checkpoint->state_size);
    sqlite_bind_number(statement, first + 5, checkpoint->is_packed);
    sqlite_bind_bytes(statement, first + 6, checkpoint->sha256, sizeof(checkpoint->sha256));
    sqlite_bind_string(statement, first + 7, checkpoint->conditions);
    sqlite_bind_string(statement, first + 8, checkpoint->custom_data);
    sqlite_bind_string(statement, first + 9, checkpoint->fold);
    sqlite_bind_bytes(statement, first + 10, checkpoint->state, checkpoint->state_len);
}

int sqlite_insert_checkpoint(struct sqlite_connection *writer, int64_t run_key,
                             int64_t previous_key, const struct store_checkpoint *checkpoint,
                             struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_CHECKPOINT_INSERT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, run_key);
    sqlite_bind_unsigned(statement, 2, checkpoint->number);
    sqlite_bind_number(statement, 3, previous_key);
    bind_content(statement, 4, checkpoint);
    r = sqlite_run(writer, statement, "store a checkpoint", err);
    /* The caller's memory must not stay bound after the call. */
    sqlite3_clear_bindings(statement);
    return r;
}

int sqlite_replace_interim(struct sqlite_connection *writer, int64_t run_key,
                           const struct store_checkpoint *interim, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_INTERIM_PUT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, run_key);
    bind_content(statement, 2, interim);
    r = sqlite_run(writer, statement, "store an interim checkpoint", err);
    sqlite3_clear_bindings(statement);
    return r;
}

/** Run a statement whose parameters are a run's key and one more number. */
static int run_for_key(struct sqlite_connection *writer, enum sqlite_sql which, int64_t run_key,
                       uint64_t number, const char *doing, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, which, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, run_key);
    if (sqlite3_bind_parameter_count(statement) > 1) {
        sqlite_bind_unsigned(statement, 2, number);
    }
    return sqlite_run(writer, statement, doing, err);
}

/** Store the batch's checkpoint and prune; `after` gets the run's newest one. */
static int store_checkpoint(struct sqlite_connection *writer, const struct commit_state *state,
                            const struct store_batch *batch, struct commit_state *after,
                            struct rondo_error *err)
{
    int r = 0;
    if (rules_stores_checkpoint(&state->row, batch)) {
        r = sqlite_insert_checkpoint(writer, state->key, state->last_checkpoint_key,
                                     batch->checkpoint, err);
        after->row.last_checkpoint = batch->checkpoint->number;
        after->last_checkpoint_key = sqlite3_last_insert_rowid(writer->db);
        if (r == 0) {
            r = run_for_key(writer, SQL_INTERIM_DELETE, state->key, 0,
                            "delete an interim checkpoint", err);
        }
    }
    if (r == 0 && batch->interim != NULL) {
        r = sqlite_replace_interim(writer, state->key, batch->interim, err);
    }
    uint64_t newest = after->row.last_checkpoint;
    if (r == 0 && batch->keep_checkpoints > 0 && newest > batch->keep_checkpoints) {
        r = run_for_key(writer, SQL_CHECKPOINT_PRUNE, state->key, newest - batch->keep_checkpoints,
                        "prune checkpoints", err);
    }
    return r;
}

/** @param state the run as it is after the batch, but for what the batch's summary says */
static int update_run(struct sqlite_connection *writer, const struct commit_state *state,
                      const struct store_batch *batch, struct rules_moment now,
                      struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_RUN_UPDATE, &statement, err);
    if (r < 0) {
        return r;
    }
    const struct store_summary *summary = &batch->summary;
    sqlite_bind_number(statement, 1, state->key);
    sqlite_bind_number(statement, 2, batch->lease_ns > 0 ? now.wall_ns + batch->lease_ns : 0);
    sqlite_bind_number(statement, 3, now.wall_ns);
    sqlite_bind_number(statement, 4, rules_ended_ns(summary->status, state->ended_ns, now.wall_ns));
    sqlite_bind_number(statement, 5, summary->status);
    sqlite_bind_unsigned(statement, 6, summary->iteration);
    sqlite_bind_unsigned(statement, 7, summary->iteration_limit);
    sqlite_bind_number(statement, 8, summary->conditions_met);
    sqlite_bind_number(statement, 9, summary->conditions_total);
    sqlite_bind_number(statement, 10, summary->tokens);
    sqlite_bind_number(statement, 11, summary->cost_micro);
    sqlite_bind_unsigned(statement, 12, state->row.last_seq);
    sqlite_bind_unsigned(statement, 13, state->last_position);
    sqlite_bind_unsigned(statement, 14, state->row.last_checkpoint);
    sqlite_bind_number(statement, 15, state->last_checkpoint_key);
    sqlite_bind_number(statement, 16, summary->warnings);
    sqlite_bind_number(statement, 17, row_pause(summary));
    sqlite_bind_number(statement, 18, now.monotonic_ns);
    r = sqlite_run(writer, statement, "update a run", err);
    if (r == 0 && batch->lease_ns == 0) {
        r = run_for_key(writer, SQL_RUN_RELEASE, state->key, 0, "give a run up", err);
    }
    return r;
}

static int apply_batch(struct sqlite_store *store, const struct commit_state *state,
                       const struct store_batch *batch, uint64_t *ret_position,
                       struct rondo_error *err)
{
    struct sqlite_connection *writer = &store->writer;
    struct commit_state after = *state;
    int r = sqlite_insert_events(writer, state->key, state->row.last_seq, batch->events,
                                 batch->event_count, &after.last_position, err);
    after.row.last_seq += batch->event_count;
    if (r == 0) {
        r = store_checkpoint(writer, state, batch, &after, err);
    }
    if (r == 0 && batch->mail_taken > 0) {
        r = run_for_key(writer, SQL_LETTER_DELETE, state->key, batch->mail_taken, "delete mail",
                        err);
    }
    if (r == 0 && batch->update != NULL) {
        r = sqlite_update_document(store, batch->update, err);
    }
    if (r == 0) {
        uint64_t changed = 0;
        r = sqlite_apply_memories(writer, batch->memories, batch->memory_count, &changed, err);
    }
    if (r == 0) {
        r = update_run(writer, &after, batch, rules_now(store->clock), err);
    }
    *ret_position = batch->event_count > 0 ? after.last_position : 0;
    return r;
}

/** Find the position of an event that was committed before. */
static int read_position(struct sqlite_connection *writer, const char *run_id, uint64_t seq,
                         uint64_t *ret_position, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_EVENT_READ_RUN, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    sqlite_bind_unsigned(statement, 2, seq - 1);
    sqlite_bind_number(statement, 3, 1);
    r = sqlite_step_row(writer, statement, "read an event", err);
    if (r == 1) {
        *ret_position = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    if (r == 0) {
        return error_set(err, RONDO_ERR_CORRUPT, "%s lacks an event that the run's row counts",
                         writer->store->path);
    }
    return r < 0 ? r : 0;
}

/** Find out whether the premise of a batch holds. @param outcome STORE_OUTDATED if not */
static int check_premise(struct sqlite_connection *writer, const struct commit_state *state,
                         const struct store_batch *batch, enum store_commit_outcome *outcome,
                         struct rondo_error *err)
{
    const struct store_premise *premise = batch->premise;
    uint64_t version = 0;
    int r = premise->collection == NULL
                ? 0
                : sqlite_document_version(writer, premise->collection, premise->key, &version, err);
    if (r == 0 && !rules_holds_premise(batch, state->has_mail, version)) {
        *outcome = STORE_OUTDATED;
    }
    return r;
}

static int commit_batch(struct sqlite_store *store, const struct store_batch *batch,
                        struct store_commit_result *ret_result, struct rondo_error *err)
{
    struct sqlite_connection *writer = &store->writer;
    struct commit_state state;
    struct store_commit_result result = {.outcome = STORE_COMMITTED};
    int r = read_state(writer, batch, &state, err);
    if (r == 0) {
        r = rules_decide(&state.row, batch, &result.outcome, err);
    }
    if (r == 0 && result.outcome == STORE_COMMITTED && batch->premise != NULL) {
        r = check_premise(writer, &state, batch, &result.outcome, err);
    }
    if (r < 0) {
        return r;
    }
    switch (result.outcome) {
    case STORE_COMMITTED:
        r = apply_batch(store, &state, batch, &result.position, err);
        result.has_mail = state.has_mail;
        break;
    case STORE_ALREADY_COMMITTED:
        r = read_position(writer, batch->run_id, batch->first_seq + batch->event_count - 1,
                          &result.position, err);
        result.has_mail = state.has_mail;
        break;
    case STORE_FENCED:
    case STORE_OUTDATED:
        break;
    }
    *ret_result = result;
    return r;
}

static int commit_all(struct sqlite_store *store, const struct store_batch *const *batches,
                      size_t count, struct store_commit_result *ret_results,
                      struct rondo_error *err)
{
    /* Results go to the caller only when the transaction has gone through. */
    auto_free struct store_commit_result *results = memory_new_zero(count, sizeof(*results));
    bool has_old = false;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = commit_batch(store, batches[i], &results[i], err);
        has_old = has_old || (r == 0 && results[i].outcome == STORE_ALREADY_COMMITTED);
    }
    r = sqlite_write_end(store, r, has_old, err);
    if (r == 0) {
        memcpy(ret_results, results, count * sizeof(*results));
    }
    return r;
}

int sqlite_commit(struct store *base, const struct store_batch *const *batches, size_t count,
                  struct store_commit_result *ret_results, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = rules_check_batch(batches[i], err);
    }
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    return r < 0 ? r : commit_all(store, batches, count, ret_results, err);
}
