// SPDX-License-Identifier: Apache-2.0
/*
 * Searching memories by words. BM25 has to look at each memory that has one of the words, several
 * microseconds each, so that a frequent word in a large store would cost a second. So the words are
 * counted first, each up to a bound, and searched from the rarest on until they select enough
 * memories. Frequent words say little, and are left out then. If all are frequent, the memories
 * that have all of them are searched, of these the newest.
 */
#include "store/sqlite/memory_search.h"

#include "base/auto.h"
#include "base/buf.h"

#include <stdlib.h>

/** Memories that BM25 looks at. */
#define CANDIDATES_MAX 2000

/** A word of the query, and how many memories have it. */
struct counted_word {
    const struct store_memory_word *word;
    int64_t count; /**< up to CANDIDATES_MAX + 1 */
};

/** The ids of one owner, or of all. */
struct id_range {
    int64_t low;
    int64_t high;
};

int sqlite_give_memories(struct sqlite_connection *reader, sqlite3_stmt *statement,
                         store_memory_fn *fn, void *context, struct rondo_error *err)
{
    int r;
    while ((r = sqlite_step_row(reader, statement, "read memories", err)) == 1) {
        struct store_memory memory;
        r = row_memory(sqlite_row(reader, statement), &memory, err);
        if (r < 0 || !fn(&memory, context)) {
            return r;
        }
    }
    return r;
}

/** Append a word as an expression of FTS5. Its letters and digits need no escaping in quotes. */
static void write_word(const struct store_memory_word *word, struct buf *ret_expression)
{
    buf_printf(ret_expression, "(\"%s\"", word->text);
    if (word->beginning != NULL) {
        buf_printf(ret_expression, " OR \"%s\"*", word->beginning);
    }
    buf_append_string(ret_expression, ")");
}

static int find_range(struct sqlite_store *store, const char *owner, struct id_range *ret_range,
                      struct rondo_error *err)
{
    *ret_range = (struct id_range){.low = 0, .high = owner == NULL ? INT64_MAX : -1};
    if (owner == NULL) {
        return 0;
    }
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_MEMORY_OWNER, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_string(statement, 1, owner);
    r = sqlite_step_row(reader, statement, "search memories", err);
    if (r == 1) {
        r = row_numbers(sqlite_row(reader, statement), sqlite3_column_count(statement),
                        "an owner of memories", err);
        int64_t key = sqlite3_column_int64(statement, 0);
        if (key < INT64_MAX / LIMIT_MEMORY_IDS - 1) {
            ret_range->low = key * LIMIT_MEMORY_IDS;
            ret_range->high = ret_range->low + LIMIT_MEMORY_IDS - 1;
        }
    }
    sqlite_read_end(reader, statement);
    return r;
}

static int count_word(struct sqlite_store *store, struct id_range range, struct counted_word *word,
                      struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    auto_buf struct buf expression = {0};
    int r = sqlite_read_begin(store, SQL_MEMORY_COUNT, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    write_word(word->word, &expression);
    sqlite_bind_string(statement, 1, buf_string(&expression));
    sqlite_bind_number(statement, 2, range.low);
    sqlite_bind_number(statement, 3, range.high);
    sqlite_bind_number(statement, 4, CANDIDATES_MAX + 1);
    r = sqlite_step_row(reader, statement, "search memories", err);
    if (r == 1) {
        word->count = sqlite3_column_int64(statement, 0);
        r = 0;
    }
    sqlite_read_end(reader, statement);
    return r;
}

static int compare_counts(const void *left, const void *right)
{
    const struct counted_word *first = left;
    const struct counted_word *second = right;
    return (first->count > second->count) - (first->count < second->count);
}

/**
 * Write the expression of the words that select few enough memories together.
 * @param words which occur, the rarest first
 */
static void write_rare(const struct counted_word *words, size_t count, struct buf *ret_expression)
{
    int64_t selected = 0;
    for (size_t i = 0; i < count && selected + words[i].count <= CANDIDATES_MAX; i++) {
        buf_append_string(ret_expression, i > 0 ? " OR " : "");
        write_word(words[i].word, ret_expression);
        selected += words[i].count;
    }
}

/** Write the expression of what has all words. */
static void write_frequent(const struct counted_word *words, size_t count,
                           struct buf *ret_expression)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_string(ret_expression, i > 0 ? " AND " : "");
        write_word(words[i].word, ret_expression);
    }
}

/** A caller's function, and whether it was called. */
struct counted_fn {
    store_memory_fn *fn;
    void *context;
    bool is_called;
};

static bool give_counted(const struct store_memory *memory, void *context)
{
    struct counted_fn *counted = context;
    counted->is_called = true;
    return counted->fn(memory, counted->context);
}

static int search(struct sqlite_store *store, const struct store_memory_query *query,
                  struct id_range range, const struct buf *expression, store_memory_fn *fn,
                  void *context, struct rondo_error *err)
{
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    int r = sqlite_read_begin(store, SQL_MEMORY_SEARCH, &reader, &statement, err);
    if (r < 0) {
        return r;
    }
    bool has_limit = query->limit > 0 && query->limit < LIMIT_MEMORY_FOUND;
    sqlite_bind_string(statement, 1, buf_string(expression));
    sqlite_bind_number(statement, 2, range.low);
    sqlite_bind_number(statement, 3, range.high);
    sqlite_bind_number(statement, 4, CANDIDATES_MAX);
    sqlite_bind_number(statement, 5, query->kinds != 0 ? query->kinds : UINT32_MAX);
    sqlite_bind_string(statement, 6, query->category);
    sqlite_bind_number(statement, 7, has_limit ? query->limit : LIMIT_MEMORY_FOUND);
    r = sqlite_give_memories(reader, statement, fn, context, err);
    sqlite_read_end(reader, statement);
    return r;
}

/** Search by counted words. @param words which occur, the rarest first */
static int search_counted(struct sqlite_store *store, const struct store_memory_query *query,
                          struct id_range range, const struct counted_word *words, size_t count,
                          struct counted_fn *fn, struct rondo_error *err)
{
    auto_buf struct buf expression = {0};
    write_rare(words, count, &expression);
    bool are_frequent = expression.len == 0;
    if (are_frequent) {
        write_frequent(words, count, &expression);
    }
    int r = search(store, query, range, &expression, give_counted, fn, err);
    if (r == 0 && are_frequent && !fn->is_called) {
        buf_clear(&expression);
        write_word(words[0].word, &expression);
        r = search(store, query, range, &expression, give_counted, fn, err);
    }
    return r;
}

int sqlite_search_memories(struct sqlite_store *store, const struct store_memory_query *query,
                           store_memory_fn *fn, void *context, struct rondo_error *err)
{
    struct counted_word words[LIMIT_MEMORY_WORDS];
    struct counted_fn counted = {.fn = fn, .context = context};
    struct id_range range;
    size_t count = 0;
    int r = find_range(store, query->owner, &range, err);
    for (size_t i = 0; r == 0 && i < query->word_count; i++) {
        words[count] = (struct counted_word){.word = &query->words[i]};
        r = count_word(store, range, &words[count], err);
        count += words[count].count > 0;
    }
    if (r < 0 || count == 0) {
        return r;
    }
    qsort(words, count, sizeof(words[0]), compare_counts);
    return search_counted(store, query, range, words, count, &counted, err);
}

/* ---- Vectors -------------------------------------------------------------------------------- */

static int give_vectors(struct sqlite_connection *reader, sqlite3_stmt *statement,
                        store_memory_fn *fn, void *context, struct rondo_error *err)
{
    int r;
    while ((r = sqlite_step_row(reader, statement, "read vectors", err)) == 1) {
        struct store_memory memory;
        r = row_vector(sqlite_row(reader, statement), &memory, err);
        if (r < 0 || !fn(&memory, context)) {
            return r;
        }
    }
    return r;
}

int sqlite_read_vectors(struct sqlite_store *store, const struct store_memory_query *query,
                        store_memory_fn *fn, void *context, struct rondo_error *err)
{
    bool are_given = query->vectors == STORE_VECTORS_GIVEN;
    sqlite3_stmt *statement;
    struct sqlite_connection *reader = NULL;
    struct id_range range;
    int r = find_range(store, query->owner, &range, err);
    if (r == 0) {
        r = sqlite_read_begin(store, are_given ? SQL_VECTOR_LIST : SQL_VECTOR_MISSING, &reader,
                              &statement, err);
    }
    if (r < 0) {
        return r;
    }
    bool has_begun = query->after_id >= range.low;
    sqlite_bind_number(statement, 1, has_begun ? query->after_id + 1 : range.low);
    sqlite_bind_number(statement, 2, range.high);
    sqlite_bind_number(statement, 3, query->kinds != 0 ? query->kinds : UINT32_MAX);
    sqlite_bind_string(statement, 4, query->category);
    sqlite_bind_string(statement, 5, query->vector_model);
    sqlite_bind_number(statement, 6, query->limit == 0 ? -1 : (int64_t)query->limit);
    r = are_given ? give_vectors(reader, statement, fn, context, err)
                  : sqlite_give_memories(reader, statement, fn, context, err);
    sqlite_read_end(reader, statement);
    return r;
}
