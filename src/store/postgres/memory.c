// SPDX-License-Identifier: Apache-2.0
/*
 * Memories. They are found by PostgreSQL's own search for words, with its configuration 'simple',
 * which knows no language: words are compared as they are, or by their beginning. What is no letter
 * or digit becomes a blank before, so that the server's parser, which knows addresses and paths,
 * finds the same words as everybody else.
 *
 * Threads: postgres_read_begin holds a connection's mutex until postgres_read_end, callbacks
 * included.
 */
#include "base/memory.h"
#include "base/ascii.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "store/postgres/internal.h"
#include "store/rules.h"

#include <stdlib.h>
#include <string.h>

/** Append a text as words. */
static void write_words(const char *text, struct buf *ret_words)
{
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        size_t step = utf8_sequence_len(text + at, len - at);
        bool is_word = step > 1 || (step == 1 && ascii_is_letter_or_digit(text[at]));
        buf_append(ret_words, is_word ? text + at : " ", is_word ? step : 1);
        at += step > 0 ? step : 1;
    }
}

static void add_memory(struct postgres_query *query, const struct store_memory *memory)
{
    query->which = PG_MEMORY_ADD;
    postgres_add_number(query, memory->id);
    postgres_add_text(query, memory->owner);
    postgres_add_number(query, memory->kind);
    postgres_add_number(query, memory->created_ns);
    postgres_add_number(query, memory->consolidated_ns);
    postgres_add_text(query, memory->category);
    postgres_add_text(query, memory->run_id);
    postgres_add_unsigned(query, memory->iteration);
    postgres_add_text(query, memory->source);
    postgres_add_string(query, memory->metadata);
    postgres_add_string(query, memory->content);
    write_words(memory->content, postgres_add_written(query));
    write_words(memory->category, postgres_add_written(query));
    write_words(memory->grams, postgres_add_written(query));
}

void postgres_add_memory_change(struct postgres_query *query,
                                const struct store_memory_change *change)
{
    const struct store_memory *memory = &change->memory;
    switch (change->kind) {
    case STORE_MEMORY_ADD:
        add_memory(query, memory);
        break;
    case STORE_MEMORY_FORGET:
        query->which = PG_MEMORY_FORGET;
        postgres_put_number(postgres_add_array(query, POSTGRES_NUMBERS, 1), memory->id);
        break;
    case STORE_MEMORY_CONSOLIDATE:
        query->which = PG_MEMORY_CONSOLIDATE;
        postgres_add_number(query, memory->id);
        postgres_add_number(query, memory->consolidated_ns);
        break;
    case STORE_MEMORY_EMBED:
        query->which = PG_MEMORY_EMBED;
        postgres_add_number(query, memory->id);
        postgres_add_text(query, memory->vector_model);
        postgres_add_bytes(query, memory->vector, memory->vector_len);
        break;
    case STORE_MEMORY_PRUNE:
        query->which = PG_MEMORY_PRUNE;
        postgres_add_text(query, memory->owner);
        postgres_add_number(query, memory->kind);
        postgres_add_unsigned(query, change->keep);
        break;
    }
}

int postgres_reserve_memories(struct store *base, const char *owner, uint32_t count,
                              int64_t *ret_first, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    PGresult *result = NULL;
    int r = rules_check_memory_owner(owner, err);
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query query = {.which = PG_MEMORY_RESERVE};
    postgres_add_text(&query, owner);
    postgres_add_number(&query, count);
    r = postgres_perform(store, &query, &result, "reserve memories", err);
    if (r < 0) {
        return r;
    }
    struct checked_row row = postgres_row(store, result, 0);
    int64_t key = postgres_number(&row, 0);
    int64_t number = postgres_number(&row, 1);
    r = postgres_check_answer(&row, "nn", "reserve memories", err);
    store->pq.clear(result);
    if (r < 0) {
        return r;
    }
    if (key <= 0 || number < (int64_t)count || number >= LIMIT_MEMORY_IDS ||
        key >= INT64_MAX / LIMIT_MEMORY_IDS - 1) {
        return error_set(err, RONDO_ERR_LIMIT, "%s has had too many memories", owner);
    }
    *ret_first = key * LIMIT_MEMORY_IDS + number - count + 1;
    return 0;
}

/** Changes that go in one pipeline; all are one transaction. */
#define CHANGES_STEP 256

/** Perform some of the changes as a part of the transaction. */
static int change_some(struct postgres_connection *connection,
                       const struct store_memory_change *changes, size_t count,
                       enum postgres_part part, uint64_t *changed, struct rondo_error *err)
{
    struct postgres_query *queries = memory_new_zero(count, sizeof(*queries));
    PGresult **results = memory_new_zero(count, sizeof(PGresult *));
    for (size_t i = 0; i < count; i++) {
        postgres_add_memory_change(&queries[i], &changes[i]);
    }
    int r = postgres_try(connection, queries, count, part, results, "change memories", err);
    bool is_open = r == 0 && (part == POSTGRES_FIRST || part == POSTGRES_NEXT);
    for (size_t i = 0; i < count; i++) {
        if (r == 0) {
            struct checked_row row = postgres_row(connection->store, results[i], 0);
            r = postgres_check_answer(&row, "n", "change memories", err);
            *changed += (uint64_t)postgres_number(&row, 0);
        }
        postgres_query_fini(&queries[i]);
    }
    if (r < 0 && is_open) {
        postgres_rollback(connection);
    }
    postgres_clear(connection->store, results, count);
    free(queries);
    free(results);
    return r;
}

static int try_changes(struct postgres_connection *connection,
                       const struct store_memory_change *changes, size_t count,
                       uint64_t *ret_changed, struct rondo_error *err)
{
    int r = 0;
    *ret_changed = 0;
    for (size_t done = 0; r == 0 && done < count; done += CHANGES_STEP) {
        size_t step = count - done < CHANGES_STEP ? count - done : CHANGES_STEP;
        bool is_first = done == 0;
        bool is_last = done + step == count;
        enum postgres_part part = is_first && is_last ? POSTGRES_WHOLE
                                  : is_first          ? POSTGRES_FIRST
                                  : is_last           ? POSTGRES_LAST
                                                      : POSTGRES_NEXT;
        r = change_some(connection, changes + done, step, part, ret_changed, err);
    }
    return r;
}

int postgres_change_memories(struct store *base, const struct store_memory_change *changes,
                             size_t count, uint64_t *ret_changed, struct rondo_error *err)
{
    struct postgres_connection *connection = NULL;
    uint64_t changed = 0;
    int r = rules_check_memories(changes, count, err);
    if (r == 0) {
        r = postgres_begin((struct postgres_store *)base, false, &connection, err);
    }
    if (r < 0) {
        return r;
    }
    int tries = 0;
    while ((r = try_changes(connection, changes, count, &changed, err)) == RONDO_ERR_BUSY &&
           ++tries < POSTGRES_TRIES) {
        postgres_pause(tries);
    }
    postgres_end(connection);
    if (r == 0) {
        *ret_changed = changed;
        postgres_announce((struct postgres_store *)base);
    }
    return tries > 0 ? postgres_settle(r, err) : r;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** The expressions of to_tsquery() for words. Their letters and digits need no escaping in quotes.
 */
static void add_words(struct postgres_query *query, const struct store_memory_query *asked)
{
    struct buf *array = postgres_add_array(query, POSTGRES_TEXTS, asked->word_count);
    for (size_t i = 0; i < asked->word_count; i++) {
        const struct store_memory_word *word = &asked->words[i];
        auto_buf struct buf expression = {0};
        buf_printf(&expression, "'%s'", word->text);
        if (word->beginning != NULL) {
            buf_printf(&expression, " | '%s':*", word->beginning);
        }
        postgres_put_text(query, array, buf_string(&expression));
    }
}

static int64_t kinds_of(const struct store_memory_query *query)
{
    return query->kinds != 0 ? query->kinds : UINT32_MAX;
}

/** Make the query that reads memories. */
static void add_question(struct postgres_query *query, const struct store_memory_query *asked)
{
    if (asked->words != NULL) {
        bool has_limit = asked->limit > 0 && asked->limit < LIMIT_MEMORY_FOUND;
        query->which = PG_MEMORY_SEARCH;
        postgres_add_text(query, asked->owner);
        postgres_add_number(query, kinds_of(asked));
        postgres_add_text(query, asked->category);
        add_words(query, asked);
        postgres_add_number(query, has_limit ? asked->limit : LIMIT_MEMORY_FOUND);
    } else if (asked->vectors != STORE_VECTORS_NONE) {
        bool are_given = asked->vectors == STORE_VECTORS_GIVEN;
        query->which = are_given ? PG_VECTOR_LIST : PG_VECTOR_MISSING;
        postgres_add_text(query, asked->owner);
        postgres_add_number(query, kinds_of(asked));
        postgres_add_text(query, asked->category);
        postgres_add_text(query, asked->vector_model);
        postgres_add_limit(query, asked->limit);
        postgres_add_number(query, asked->after_id);
    } else if (asked->id != 0) {
        query->which = PG_MEMORY_GET;
        postgres_add_number(query, asked->id);
    } else {
        query->which = asked->is_oldest_first ? PG_MEMORY_LIST_OLDEST : PG_MEMORY_LIST;
        postgres_add_text(query, asked->owner);
        postgres_add_number(query, kinds_of(asked));
        postgres_add_text(query, asked->category);
        postgres_add_flag(query, asked->only_unconsolidated);
        postgres_add_limit(query, asked->limit);
    }
}

int postgres_read_memories(struct store *base, const struct store_memory_query *query,
                           store_memory_fn *fn, void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    int r = query->words != NULL ? rules_check_memory_words(query, err) : 0;
    if (r < 0) {
        return r;
    }
    auto_query struct postgres_query asked = {0};
    add_question(&asked, query);
    r = postgres_read_begin(store, &asked, "read memories", &reading, err);
    if (r < 0) {
        return r;
    }
    bool are_vectors = asked.which == PG_VECTOR_LIST;
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        struct store_memory memory;
        r = are_vectors ? row_vector(row, &memory, err) : row_memory(row, &memory, err);
        if (r < 0 || !fn(&memory, context)) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}

int postgres_read_memory_owners(struct store *base, int64_t after_key, store_memory_owner_fn *fn,
                                void *context, struct rondo_error *err)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_reading reading;
    auto_query struct postgres_query query = {.which = PG_MEMORY_OWNER_LIST};
    postgres_add_number(&query, after_key);
    int r = postgres_read_begin(store, &query, "read owners of memories", &reading, err);
    if (r < 0) {
        return r;
    }
    while ((r = postgres_read_row(&reading, err)) == 1) {
        struct checked_row row = postgres_row(store, reading.row, 0);
        struct store_memory_owner owner;
        r = row_memory_owner(row, &owner, err);
        if (r < 0 || !fn(&owner, context)) {
            break;
        }
    }
    postgres_read_end(&reading);
    return r < 0 ? r : 0;
}
