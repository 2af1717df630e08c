// SPDX-License-Identifier: Apache-2.0
/*
 * Writing a piece of another store: one transaction in one round trip. It goes to the tables
 * themselves, with statements that say how many rows they wrote; the functions of the schema would
 * give times, versions and numbers of their own.
 *
 * Threads: postgres_begin holds a connection's mutex until postgres_end.
 */
#include "base/error.h"
#include "base/memory.h"
#include "store/postgres/internal.h"
#include "store/rules.h"

#include <stdlib.h>
#include <string.h>

/** The statements of a piece, and how many rows each has to write. */
struct importing {
    struct postgres_query *queries;
    int64_t *expected; /**< -1 = it gives no number */
    size_t count;
};

/** A new statement. Valid until the next one. */
static struct postgres_query *add_query(struct importing *importing, enum postgres_sql which,
                                        int64_t expected)
{
    struct postgres_query *query = &importing->queries[importing->count];
    query->which = which;
    importing->expected[importing->count++] = expected;
    return query;
}

static void add_run(struct importing *importing, const struct store_run *given)
{
    const struct store_run run = rules_imported_run(given);
    struct postgres_query *query = add_query(importing, PG_IMPORT_RUN, -1);
    postgres_add_text(query, given->id);
    postgres_add_text(query, given->agent_id);
    postgres_add_text(query, given->parent);
    postgres_add_flag(query, run.is_exclusive);
    postgres_add_text(query, given->owner);
    postgres_add_unsigned(query, run.epoch);
    postgres_add_number(query, run.lease_until_ns);
    postgres_add_number(query, run.alive_ns);
    postgres_add_number(query, run.created_ns);
    postgres_add_number(query, run.updated_ns);
    postgres_add_number(query, run.ended_ns);
    postgres_add_summary(query, &given->summary);
}

static void add_events(struct importing *importing, const struct store_event *events, size_t count)
{
    struct postgres_query *query = add_query(importing, PG_IMPORT_EVENTS, (int64_t)count);
    struct buf *array = postgres_add_array(query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(query, array, events[i].run_id);
    }
    array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, (int64_t)events[i].seq);
    }
    array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, (int64_t)events[i].position);
    }
    postgres_add_events(query, events, count);
}

static void add_checkpoint(struct importing *importing, const struct store_run_checkpoint *part)
{
    bool is_interim = part->is_interim;
    struct postgres_query *query =
        add_query(importing, is_interim ? PG_IMPORT_INTERIM : PG_IMPORT_CHECKPOINT, 1);
    postgres_add_text(query, part->run_id);
    if (!is_interim) {
        postgres_add_unsigned(query, part->checkpoint.number);
    }
    postgres_add_content(query, &part->checkpoint);
}

static void add_letter(struct importing *importing, const struct store_letter *letter)
{
    struct postgres_query *query = add_query(importing, PG_IMPORT_LETTER, 1);
    postgres_add_text(query, letter->run_id);
    postgres_add_number(query, letter->time_ns);
    postgres_add_text(query, letter->kind);
    postgres_add_string(query, letter->data);
}

static void add_documents(struct importing *importing, const struct store_document *documents,
                          size_t count)
{
    struct postgres_query *query = add_query(importing, PG_IMPORT_DOCUMENTS, (int64_t)count);
    struct buf *array = postgres_add_array(query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(query, array, documents[i].collection);
    }
    array = postgres_add_array(query, POSTGRES_BYTES, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_bytes(array, documents[i].key, strlen(documents[i].key));
    }
    array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, (int64_t)documents[i].version);
    }
    array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, documents[i].updated_ns);
    }
    array = postgres_add_array(query, POSTGRES_BYTES, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_bytes(array, documents[i].data, documents[i].data_len);
    }
}

static void add_policy(struct importing *importing, const struct store_policy_change *change)
{
    struct postgres_query *query = add_query(importing, PG_IMPORT_TEXT, -1);
    postgres_add_text(query, change->digest);
    postgres_add_bytes(query, change->text, change->text_len);
    query = add_query(importing, PG_IMPORT_POLICY, -1);
    postgres_add_unsigned(query, change->number);
    postgres_add_number(query, change->time_ns);
    postgres_add_string(query, change->source);
    postgres_add_text(query, change->digest);
    postgres_add_text(query, change->how);
    postgres_add_string(query, change->by);
}

static void add_memories(struct importing *importing, const struct store_piece *piece)
{
    for (size_t i = 0; i < piece->owner_count; i++) {
        struct postgres_query *query = add_query(importing, PG_IMPORT_OWNER, -1);
        postgres_add_number(query, piece->owners[i].key);
        postgres_add_text(query, piece->owners[i].name);
        postgres_add_number(query, piece->owners[i].last);
    }
    if (piece->owner_count > 0) {
        add_query(importing, PG_IMPORT_OWNER_KEY, -1);
    }
    for (size_t i = 0; i < piece->memory_count; i++) {
        postgres_add_memory_change(add_query(importing, PG_MEMORY_ADD, 1), &piece->memories[i]);
    }
}

/** Statements of a piece at most: two for each change of policies, and what comes once. */
static size_t count_queries(const struct store_piece *piece)
{
    return piece->run_count + piece->checkpoint_count + piece->letter_count +
           2 * piece->policy_count + piece->owner_count + piece->memory_count + 6;
}

static void add_all(struct importing *importing, const struct postgres_store *store,
                    const struct store_piece *piece)
{
    add_query(importing, PG_IMPORT_LOCK, -1);
    if (piece->mark_count > 0) {
        postgres_add_changes(add_query(importing, PG_DOCUMENT_CHANGE, -1), store, piece->marks,
                             piece->mark_count);
    }
    if (piece->last_position > 0) {
        postgres_add_unsigned(add_query(importing, PG_IMPORT_LAST, -1), piece->last_position);
    }
    for (size_t i = 0; i < piece->run_count; i++) {
        add_run(importing, &piece->runs[i]);
    }
    if (piece->event_count > 0) {
        add_events(importing, piece->events, piece->event_count);
    }
    for (size_t i = 0; i < piece->checkpoint_count; i++) {
        add_checkpoint(importing, &piece->checkpoints[i]);
    }
    for (size_t i = 0; i < piece->letter_count; i++) {
        add_letter(importing, &piece->letters[i]);
    }
    if (piece->document_count > 0) {
        add_documents(importing, piece->documents, piece->document_count);
    }
    for (size_t i = 0; i < piece->policy_count; i++) {
        add_policy(importing, &piece->policies[i]);
    }
    add_memories(importing, piece);
}

/** Whether each statement wrote what it had to. */
static int check_counts(const struct postgres_store *store, const struct importing *importing,
                        PGresult **results, struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < importing->count; i++) {
        struct checked_row row = postgres_row(store, results[i], 0);
        if (importing->expected[i] < 0) {
            continue;
        }
        r = postgres_check_answer(&row, "n", "import", err);
        if (r == 0 && postgres_number(&row, 0) != importing->expected[i]) {
            r = error_set(err, RONDO_ERR_STATE,
                          "a piece does not follow what %s has: %lld of %lld rows could be written",
                          store->address.shown, (long long)postgres_number(&row, 0),
                          (long long)importing->expected[i]);
        }
    }
    return r;
}

/** All statements, and the end of the transaction when they wrote what they had to. */
static int perform(struct postgres_connection *connection, const struct importing *importing,
                   struct rondo_error *err)
{
    PGresult **results = memory_new_zero(importing->count, sizeof(PGresult *));
    connection->patience_ns = POSTGRES_LONG_PATIENCE_NS;
    int r = postgres_try(connection, importing->queries, importing->count, POSTGRES_FIRST, results,
                         "import", err);
    if (r == 0) {
        r = check_counts(connection->store, importing, results, err);
        if (r < 0) {
            postgres_rollback(connection);
        } else {
            r = postgres_try(connection, NULL, 0, POSTGRES_LAST, NULL, "import", err);
        }
    }
    postgres_clear(connection->store, results, importing->count);
    free(results);
    return r;
}

int postgres_import(struct store *base, const struct store_piece *piece, bool *ret_is_applied,
                    struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_connection *connection = NULL;
    struct rondo_error found = {0};
    int r = rules_check_piece(piece, err);
    r = r < 0 ? r : postgres_begin(store, false, &connection, err);
    if (r < 0) {
        return r;
    }
    size_t size = count_queries(piece);
    struct importing importing = {.queries = memory_new_zero(size, sizeof(*importing.queries)),
                                  .expected = memory_new_zero(size, sizeof(*importing.expected))};
    add_all(&importing, store, piece);
    r = perform(connection, &importing, &found);
    for (size_t i = 0; i < importing.count; i++) {
        postgres_query_fini(&importing.queries[i]);
    }
    free(importing.queries);
    free(importing.expected);
    postgres_end(connection);
    if (r == 0 || r == POSTGRES_MISMATCH) {
        *ret_is_applied = r == 0;
        return 0;
    }
    if (err != NULL) {
        *err = found;
    }
    return r;
}
