// SPDX-License-Identifier: Apache-2.0
/*
 * Memories: their changes, and reading them by age. The index of words has no triggers: each row
 * that comes or goes is entered or taken out here, in the same transaction.
 *
 * Threads: sqlite_write_begin holds the writer's mutex until the end of the transaction,
 * sqlite_read_begin that of the reader, callbacks included.
 */
#include "base/error.h"
#include "store/rules.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/memory_search.h"
#include "store/sqlite/schema.h"

/** Old memories that are deleted at a time. */
#define PRUNE_STEP 256

int sqlite_make_memory_tables(struct sqlite_connection *writer, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_MEMORY_TABLES, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(writer, statement, "look for memories", err);
    sqlite3_reset(statement);
    if (r == 0 && sqlite_schema_add_memories(writer->db) != SQLITE_OK) {
        return sqlite_fail(writer, "make the tables of memories", err);
    }
    return r < 0 ? r : 0;
}

/** Whether there may be memories to read. @return 1, 0 or a negative code */
static int has_tables(struct sqlite_store *store, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_MEMORY_TABLES, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    r = sqlite_step_row(reader, statement, "look for memories", err);
    sqlite_read_end(reader, statement);
    return r;
}

static int reserve(struct sqlite_connection *writer, const char *owner, uint32_t count,
                   int64_t *ret_first, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int64_t key = 0;
    int64_t number = 0;
    int r = sqlite_statement(writer, SQL_MEMORY_RESERVE, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, owner);
    sqlite_bind_number(statement, 2, count);
    r = sqlite_step_row(writer, statement, "reserve memories", err);
    if (r == 1) {
        r = row_numbers(sqlite_row(writer, statement), sqlite3_column_count(statement),
                        "an owner of memories", err);
        key = sqlite3_column_int64(statement, 0);
        number = sqlite3_column_int64(statement, 1);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (r == 0 && (number >= LIMIT_MEMORY_IDS || key >= INT64_MAX / LIMIT_MEMORY_IDS - 1)) {
        return error_set(err, RONDO_ERR_LIMIT, "%s has had too many memories", owner);
    }
    *ret_first = key * LIMIT_MEMORY_IDS + number - count + 1;
    return r;
}

int sqlite_reserve_memories(struct store *base, const char *owner, uint32_t count,
                            int64_t *ret_first, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int64_t first = 0;
    int r = rules_check_memory_owner(owner, err);
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    r = sqlite_make_memory_tables(&store->writer, err);
    r = r < 0 ? r : reserve(&store->writer, owner, count, &first, err);
    r = sqlite_write_end(store, r, false, err);
    if (r == 0) {
        *ret_first = first;
    }
    return r;
}

/** Run a statement whose first parameter is an id. @param time bound as the second if it has one */
static int run_for_id(struct sqlite_connection *writer, enum sqlite_sql which, int64_t id,
                      int64_t time_ns, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, which, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, id);
    if (sqlite3_bind_parameter_count(statement) > 1) {
        sqlite_bind_number(statement, 2, time_ns);
    }
    return sqlite_run(writer, statement, "change a memory", err);
}

static int add_memory(struct sqlite_connection *writer, const struct store_memory *memory,
                      uint64_t *changed, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_MEMORY_INSERT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, memory->id);
    sqlite_bind_string(statement, 2, memory->owner);
    sqlite_bind_number(statement, 3, memory->kind);
    sqlite_bind_number(statement, 4, memory->created_ns);
    sqlite_bind_number(statement, 5, memory->consolidated_ns);
    sqlite_bind_string(statement, 6, memory->category);
    sqlite_bind_string(statement, 7, memory->run_id);
    sqlite_bind_unsigned(statement, 8, memory->iteration);
    sqlite_bind_string(statement, 9, memory->source);
    sqlite_bind_string(statement, 10, memory->metadata);
    sqlite_bind_string(statement, 11, memory->content);
    sqlite_bind_string(statement, 12, memory->grams);
    r = sqlite_run(writer, statement, "add a memory", err);
    /* The caller's memory must not stay bound after the call. */
    sqlite3_clear_bindings(statement);
    if (r < 0 || sqlite3_changes(writer->db) == 0) {
        return r;
    }
    ++*changed;
    return run_for_id(writer, SQL_MEMORY_INDEX, memory->id, 0, err);
}

static int embed_memory(struct sqlite_connection *writer, const struct store_memory *memory,
                        uint64_t *changed, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_VECTOR_PUT, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, memory->id);
    sqlite_bind_string(statement, 2, memory->vector_model);
    sqlite_bind_bytes(statement, 3, memory->vector, memory->vector_len);
    r = sqlite_run(writer, statement, "add a vector", err);
    sqlite3_clear_bindings(statement);
    *changed += r == 0 ? (uint64_t)sqlite3_changes(writer->db) : 0;
    return r;
}

static int forget_memory(struct sqlite_connection *writer, int64_t id, uint64_t *changed,
                         struct rondo_error *err)
{
    int r = run_for_id(writer, SQL_MEMORY_UNINDEX, id, 0, err);
    if (r == 0) {
        r = run_for_id(writer, SQL_VECTOR_DELETE, id, 0, err);
    }
    if (r == 0) {
        r = run_for_id(writer, SQL_MEMORY_DELETE, id, 0, err);
    }
    *changed += r == 0 ? (uint64_t)sqlite3_changes(writer->db) : 0;
    return r;
}

/** Read ids of those that are too many. @return how many, or a negative code */
static int read_oldest(struct sqlite_connection *writer, const struct store_memory_change *change,
                       int64_t *ret_ids, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int count = 0;
    int r = sqlite_statement(writer, SQL_MEMORY_OLDEST, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, change->memory.owner);
    sqlite_bind_number(statement, 2, change->memory.kind);
    sqlite_bind_unsigned(statement, 3, change->keep);
    sqlite_bind_number(statement, 4, PRUNE_STEP);
    while ((r = sqlite_step_row(writer, statement, "prune memories", err)) == 1) {
        ret_ids[count++] = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return r < 0 ? r : count;
}

static int prune_memories(struct sqlite_connection *writer,
                          const struct store_memory_change *change, uint64_t *changed,
                          struct rondo_error *err)
{
    int64_t ids[PRUNE_STEP];
    int count = 0;
    int r = 0;
    do {
        count = read_oldest(writer, change, ids, err);
        for (int i = 0; r == 0 && i < count; i++) {
            r = forget_memory(writer, ids[i], changed, err);
        }
    } while (r == 0 && count == PRUNE_STEP);
    return count < 0 ? count : r;
}

static int apply_change(struct sqlite_connection *writer, const struct store_memory_change *change,
                        uint64_t *changed, struct rondo_error *err)
{
    switch (change->kind) {
    case STORE_MEMORY_ADD:
        return add_memory(writer, &change->memory, changed, err);
    case STORE_MEMORY_FORGET:
        return forget_memory(writer, change->memory.id, changed, err);
    case STORE_MEMORY_CONSOLIDATE: {
        int r = run_for_id(writer, SQL_MEMORY_CONSOLIDATE, change->memory.id,
                           change->memory.consolidated_ns, err);
        *changed += r == 0 ? (uint64_t)sqlite3_changes(writer->db) : 0;
        return r;
    }
    case STORE_MEMORY_EMBED:
        return embed_memory(writer, &change->memory, changed, err);
    case STORE_MEMORY_PRUNE:
        return prune_memories(writer, change, changed, err);
    }
    return 0;
}

int sqlite_apply_memories(struct sqlite_connection *writer,
                          const struct store_memory_change *changes, size_t count,
                          uint64_t *changed, struct rondo_error *err)
{
    int r = count == 0 ? 0 : sqlite_make_memory_tables(writer, err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = apply_change(writer, &changes[i], changed, err);
    }
    return r;
}

int sqlite_change_memories(struct store *base, const struct store_memory_change *changes,
                           size_t count, uint64_t *ret_changed, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    uint64_t changed = 0;
    int r = rules_check_memories(changes, count, err);
    if (r == 0) {
        r = sqlite_write_begin(store, err);
    }
    if (r < 0) {
        return r;
    }
    r = sqlite_apply_memories(&store->writer, changes, count, &changed, err);
    /* When nothing was left to do, an earlier try may have done it without its answer. */
    r = sqlite_write_end(store, r, changed == 0, err);
    if (r == 0) {
        *ret_changed = changed;
    }
    return r;
}

/** The only kind of a query of one owner. @return below 0 = it has several, or all owners */
static int kind_of(const struct store_memory_query *query)
{
    int kind = -1;
    for (int i = 0; i < STORE_MEMORY_KIND_COUNT; i++) {
        if (query->owner != NULL && query->kinds == UINT32_C(1) << i) {
            kind = i;
        }
    }
    return kind;
}

_Static_assert(STORE_MEMORY_KIND_COUNT == 3, "SQL_MEMORY_LIST_OWNER has a part for each kind");

static enum sqlite_sql reading_of(const struct store_memory_query *query)
{
    if (query->id != 0) {
        return SQL_MEMORY_GET;
    }
    if (kind_of(query) >= 0) {
        return query->is_oldest_first ? SQL_MEMORY_LIST_KIND_OLDEST : SQL_MEMORY_LIST_KIND;
    }
    if (query->owner != NULL) {
        return query->is_oldest_first ? SQL_MEMORY_LIST_OWNER_OLDEST : SQL_MEMORY_LIST_OWNER;
    }
    return query->is_oldest_first ? SQL_MEMORY_LIST_OLDEST : SQL_MEMORY_LIST;
}

static int list_memories(struct sqlite_store *store, const struct store_memory_query *query,
                         store_memory_fn *fn, void *context, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, reading_of(query), &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    if (query->id != 0) {
        sqlite_bind_number(statement, 1, query->id);
    } else {
        sqlite_bind_string(statement, 1, query->owner);
        int kind = kind_of(query);
        uint32_t kinds = query->kinds != 0 ? query->kinds : UINT32_MAX;
        sqlite_bind_number(statement, 2, kind >= 0 ? kind : (int64_t)kinds);
        sqlite_bind_string(statement, 3, query->category);
        sqlite_bind_number(statement, 4, query->only_unconsolidated);
        sqlite_bind_number(statement, 5, query->limit == 0 ? -1 : (int64_t)query->limit);
    }
    r = sqlite_give_memories(reader, statement, fn, context, err);
    sqlite_read_end(reader, statement);
    return r;
}

int sqlite_read_memory_owners(struct store *base, int64_t after_key, store_memory_owner_fn *fn,
                              void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = has_tables(store, err);
    r = r <= 0 ? r : sqlite_read_begin(store, SQL_MEMORY_OWNER_LIST, &reader, &statement, err);
    if (reader == NULL) {
        return r;
    }
    sqlite_bind_number(statement, 1, after_key);
    while ((r = sqlite_step_row(reader, statement, "read owners of memories", err)) == 1) {
        struct store_memory_owner owner;
        r = row_memory_owner(sqlite_row(reader, statement), &owner, err);
        if (r < 0 || !fn(&owner, context)) {
            break;
        }
    }
    sqlite_read_end(reader, statement);
    return r;
}

int sqlite_read_memories(struct store *base, const struct store_memory_query *query,
                         store_memory_fn *fn, void *context, struct rondo_error *err)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int r = query->words != NULL ? rules_check_memory_words(query, err) : 0;
    if (r == 0) {
        r = has_tables(store, err);
    }
    if (r <= 0) {
        return r;
    }
    return query->words != NULL ? sqlite_search_memories(store, query, fn, context, err)
           : query->vectors != STORE_VECTORS_NONE
               ? sqlite_read_vectors(store, query, fn, context, err)
               : list_memories(store, query, fn, context, err);
}
