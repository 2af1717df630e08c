// SPDX-License-Identifier: Apache-2.0
/*
 * Writing a piece of another store. Events keep their positions, so that they are chained and
 * marked as commits would have done it.
 *
 * Threads: sqlite_write_begin holds the writer's mutex until the end of the transaction.
 */
#include "base/error.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"

#include <inttypes.h>
#include <string.h>

/** What SQL_IMPORT_FIND gives of a run. */
struct import_place {
    char id[ID_SIZE];
    int64_t key;
    uint64_t last_seq;
    uint64_t last_position;
    uint64_t last_checkpoint;
    int64_t last_checkpoint_key;
};

static int find_run(struct sqlite_connection *writer, const char *run_id,
                    struct import_place *ret_place, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_IMPORT_FIND, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run_id);
    r = sqlite_step_row(writer, statement, "find a run", err);
    if (r == 1) {
        int damage = row_numbers(sqlite_row(writer, statement), sqlite3_column_count(statement),
                                 "a run", err);
        *ret_place = (struct import_place){
            .key = sqlite3_column_int64(statement, 0),
            .last_seq = (uint64_t)sqlite3_column_int64(statement, 1),
            .last_position = (uint64_t)sqlite3_column_int64(statement, 2),
            .last_checkpoint = (uint64_t)sqlite3_column_int64(statement, 3),
            .last_checkpoint_key = sqlite3_column_int64(statement, 4),
        };
        memccpy(ret_place->id, run_id, '\0', sizeof(ret_place->id) - 1);
        r = damage < 0 ? damage : 1;
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (r == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", run_id);
    }
    return r < 0 ? r : 0;
}

static int save_place(struct sqlite_connection *writer, const struct import_place *place,
                      struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_IMPORT_SET_LAST, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, place->key);
    sqlite_bind_unsigned(statement, 2, place->last_seq);
    sqlite_bind_unsigned(statement, 3, place->last_position);
    sqlite_bind_unsigned(statement, 4, place->last_checkpoint);
    sqlite_bind_number(statement, 5, place->last_checkpoint_key);
    return sqlite_run(writer, statement, "update a run", err);
}

/** Have the place of a run; that of the run before is saved. @param run_id NULL = only save */
static int turn_to(struct sqlite_connection *writer, const char *run_id, struct import_place *place,
                   struct rondo_error *err)
{
    if (run_id != NULL && strcmp(place->id, run_id) == 0) {
        return 0;
    }
    int r = place->id[0] != '\0' ? save_place(writer, place, err) : 0;
    return r < 0 || run_id == NULL ? r : find_run(writer, run_id, place, err);
}

static int insert_run(struct sqlite_connection *writer, const struct store_run *given,
                      struct rondo_error *err)
{
    const struct store_run run = rules_imported_run(given);
    const struct store_summary *summary = &run.summary;
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_IMPORT_RUN, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, run.id);
    sqlite_bind_string(statement, 2, run.agent_id);
    sqlite_bind_number(statement, 3, run.is_exclusive);
    sqlite_bind_string(statement, 4, run.owner);
    sqlite_bind_unsigned(statement, 5, run.epoch);
    sqlite_bind_number(statement, 6, run.lease_until_ns);
    sqlite_bind_number(statement, 7, run.alive_ns);
    sqlite_bind_number(statement, 8, run.created_ns);
    sqlite_bind_number(statement, 9, run.updated_ns);
    sqlite_bind_number(statement, 10, run.ended_ns);
    sqlite_bind_number(statement, 11, summary->status);
    sqlite_bind_unsigned(statement, 12, summary->iteration);
    sqlite_bind_unsigned(statement, 13, summary->iteration_limit);
    sqlite_bind_number(statement, 14, summary->conditions_met);
    sqlite_bind_number(statement, 15, summary->conditions_total);
    sqlite_bind_number(statement, 16, summary->tokens);
    sqlite_bind_number(statement, 17, summary->cost_micro);
    sqlite_bind_number(statement, 18, summary->warnings);
    sqlite_bind_number(statement, 19, row_pause(summary));
    sqlite_bind_string(statement, 20, run.parent);
    r = sqlite_run(writer, statement, "write a run", err);
    sqlite3_clear_bindings(statement);
    return r;
}

static int insert_event(struct sqlite_connection *writer, const struct store_event *event,
                        struct import_place *place, struct rondo_error *err)
{
    if (event->seq != place->last_seq + 1 || event->position <= place->last_position) {
        return error_set(err, RONDO_ERR_STATE,
                         "event %" PRIu64 " of run %s cannot follow number %" PRIu64, event->seq,
                         place->id, place->last_seq);
    }
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_IMPORT_EVENT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_unsigned(statement, 1, event->position);
    sqlite_bind_number(statement, 2, place->key);
    sqlite_bind_unsigned(statement, 3, place->last_position);
    sqlite_bind_unsigned(statement, 4, event->seq);
    sqlite_bind_number(statement, 5, event->time_ns);
    sqlite_bind_string(statement, 6, event->type);
    sqlite_bind_string_len(statement, 7, event->data, event->data_len);
    r = sqlite_run(writer, statement, "write an event", err);
    sqlite3_clear_bindings(statement);
    place->last_seq = event->seq;
    place->last_position = event->position;
    return r < 0 ? r : sqlite_mark_event(writer, place->key, event->seq, event->position, err);
}

static int insert_checkpoint(struct sqlite_connection *writer,
                             const struct store_run_checkpoint *part, struct import_place *place,
                             struct rondo_error *err)
{
    if (part->is_interim) {
        return sqlite_replace_interim(writer, place->key, &part->checkpoint, err);
    }
    if (part->checkpoint.number <= place->last_checkpoint) {
        return error_set(err, RONDO_ERR_STATE,
                         "checkpoint %" PRIu64 " of run %s cannot follow number %" PRIu64,
                         part->checkpoint.number, place->id, place->last_checkpoint);
    }
    int r = sqlite_insert_checkpoint(writer, place->key, place->last_checkpoint_key,
                                     &part->checkpoint, err);
    place->last_checkpoint = part->checkpoint.number;
    place->last_checkpoint_key = sqlite3_last_insert_rowid(writer->db);
    return r;
}

static int insert_letter(struct sqlite_connection *writer, const struct store_letter *letter,
                         struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_LETTER_INSERT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, letter->run_id);
    sqlite_bind_number(statement, 2, letter->time_ns);
    sqlite_bind_string(statement, 3, letter->kind);
    sqlite_bind_string(statement, 4, letter->data);
    r = sqlite_run(writer, statement, "write a command", err);
    sqlite3_clear_bindings(statement);
    if (r == 0 && sqlite3_changes(writer->db) == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no run %s", letter->run_id);
    }
    return r;
}

static int insert_parts_of_runs(struct sqlite_connection *writer, const struct store_piece *piece,
                                struct rondo_error *err)
{
    struct import_place place = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < piece->run_count; i++) {
        r = insert_run(writer, &piece->runs[i], err);
    }
    for (size_t i = 0; r == 0 && i < piece->event_count; i++) {
        r = turn_to(writer, piece->events[i].run_id, &place, err);
        r = r < 0 ? r : insert_event(writer, &piece->events[i], &place, err);
    }
    for (size_t i = 0; r == 0 && i < piece->checkpoint_count; i++) {
        r = turn_to(writer, piece->checkpoints[i].run_id, &place, err);
        r = r < 0 ? r : insert_checkpoint(writer, &piece->checkpoints[i], &place, err);
    }
    r = r < 0 ? r : turn_to(writer, NULL, &place, err);
    for (size_t i = 0; r == 0 && i < piece->letter_count; i++) {
        r = insert_letter(writer, &piece->letters[i], err);
    }
    return r;
}

static int insert_document(struct sqlite_connection *writer, const struct store_document *document,
                           struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_IMPORT_DOCUMENT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, document->collection);
    sqlite_bind_string(statement, 2, document->key);
    sqlite_bind_unsigned(statement, 3, document->version);
    sqlite_bind_number(statement, 4, document->updated_ns);
    sqlite_bind_string_len(statement, 5, document->data, document->data_len);
    r = sqlite_run(writer, statement, "write a document", err);
    sqlite3_clear_bindings(statement);
    return r;
}

static int insert_policy(struct sqlite_connection *writer, const struct store_policy_change *change,
                         struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_POLICY_KEEP_TEXT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, change->digest);
    sqlite_bind_string_len(statement, 2, change->text, change->text_len);
    r = sqlite_run(writer, statement, "keep the text of policies", err);
    sqlite3_clear_bindings(statement);
    r = r < 0 ? r : sqlite_statement(writer, SQL_IMPORT_POLICY, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_unsigned(statement, 1, change->number);
    sqlite_bind_number(statement, 2, change->time_ns);
    sqlite_bind_string(statement, 3, change->source);
    sqlite_bind_string(statement, 4, change->digest);
    sqlite_bind_string(statement, 5, change->how);
    sqlite_bind_string(statement, 6, change->by);
    r = sqlite_run(writer, statement, "write a change of policies", err);
    sqlite3_clear_bindings(statement);
    return r;
}

static int insert_owner(struct sqlite_connection *writer, const struct store_memory_owner *owner,
                        struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_make_memory_tables(writer, err);
    r = r < 0 ? r : sqlite_statement(writer, SQL_IMPORT_OWNER, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, owner->key);
    sqlite_bind_string(statement, 2, owner->name);
    sqlite_bind_number(statement, 3, owner->last);
    r = sqlite_run(writer, statement, "write an owner of memories", err);
    sqlite3_clear_bindings(statement);
    return r;
}

static int insert_memories(struct sqlite_connection *writer, const struct store_piece *piece,
                           struct rondo_error *err)
{
    uint64_t changed = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < piece->owner_count; i++) {
        r = insert_owner(writer, &piece->owners[i], err);
    }
    r = r < 0 ? r
              : sqlite_apply_memories(writer, piece->memories, piece->memory_count, &changed, err);
    if (r == 0 && changed != piece->memory_count) {
        return error_set(err, RONDO_ERR_STATE, "a memory is there already, or has no owner");
    }
    return r;
}

/** As after gc, a row of no run keeps the highest position that was given. */
static int keep_position(struct sqlite_connection *writer, uint64_t position,
                         struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_GC_KEEP_POSITION, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_unsigned(statement, 1, position);
    return sqlite_run(writer, statement, "keep the last position", err);
}

/** @return 1 applied, 0 when a mark does not fit, or a negative code */
static int apply_piece(struct sqlite_store *store, const struct store_piece *piece,
                       struct rondo_error *err)
{
    struct sqlite_connection *writer = &store->writer;
    int fits = sqlite_apply_changes(store, piece->marks, piece->mark_count, err);
    if (fits <= 0) {
        return fits;
    }
    int r = insert_parts_of_runs(writer, piece, err);
    for (size_t i = 0; r == 0 && i < piece->document_count; i++) {
        r = insert_document(writer, &piece->documents[i], err);
    }
    for (size_t i = 0; r == 0 && i < piece->policy_count; i++) {
        r = insert_policy(writer, &piece->policies[i], err);
    }
    r = r < 0 ? r : insert_memories(writer, piece, err);
    if (r == 0 && piece->last_position > 0) {
        r = keep_position(writer, piece->last_position, err);
    }
    return r < 0 ? r : 1;
}

int sqlite_import(struct store *base, const struct store_piece *piece, bool *ret_is_applied,
                  struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = rules_check_piece(piece, err);
    r = r < 0 ? r : sqlite_write_begin(store, err);
    if (r < 0) {
        return r;
    }
    r = apply_piece(store, piece, err);
    bool is_applied = r == 1;
    r = r == 0 ? sqlite_write_cancel(store, err)
               : sqlite_write_end(store, r < 0 ? r : 0, false, err);
    if (r == 0) {
        *ret_is_applied = is_applied;
    }
    return r;
}
