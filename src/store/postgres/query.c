// SPDX-License-Identifier: Apache-2.0
/*
 * Parameters of queries, in PostgreSQL's binary form: numbers are big-endian, an array is a header
 * and its elements with their lengths. Pure functions; any thread.
 */
#include "base/text/utf8.h"
#include "store/postgres/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of types, as in pg_type; they never change. */
#define OID_BOOL   16
#define OID_BYTEA  17
#define OID_INT8   20
#define OID_TEXT   25
#define OID_BYTEAS 1001
#define OID_TEXTS  1009
#define OID_INT8S  1016

static const struct {
    Oid array;
    Oid element;
} array_types[] = {
    [POSTGRES_NUMBERS] = {OID_INT8S, OID_INT8},
    [POSTGRES_TEXTS] = {OID_TEXTS, OID_TEXT},
    [POSTGRES_BYTES] = {OID_BYTEAS, OID_BYTEA},
};

static int add(struct postgres_query *query, Oid type, const void *value, size_t len)
{
    assert(query->count < POSTGRES_PARAMETERS_MAX);
    int i = query->count++;
    query->types[i] = type;
    query->values[i] = value;
    query->lengths[i] = (int)len;
    return i;
}

static void write_u32(char *ret_bytes, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        ret_bytes[i] = (char)(number >> (24 - 8 * i));
    }
}

static void write_u64(char *ret_bytes, uint64_t number)
{
    write_u32(ret_bytes, (uint32_t)(number >> 32));
    write_u32(ret_bytes + 4, (uint32_t)number);
}

void postgres_add_number(struct postgres_query *query, int64_t number)
{
    int i = add(query, OID_INT8, NULL, 8);
    query->is_number[i] = true;
    write_u64(query->numbers[i], (uint64_t)number);
}

void postgres_add_unsigned(struct postgres_query *query, uint64_t number)
{
    postgres_add_number(query, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

void postgres_add_null_number(struct postgres_query *query)
{
    add(query, OID_INT8, NULL, 0);
}

void postgres_add_flag(struct postgres_query *query, bool flag)
{
    add(query, OID_BOOL, flag ? "\1" : "\0", 1);
}

static void check_text(struct postgres_query *query, const char *text)
{
    size_t len = strlen(text);
    for (size_t at = 0; at < len;) {
        size_t step = utf8_sequence_len(text + at, len - at);
        if (step == 0) {
            query->refused = text;
            return;
        }
        at += step;
    }
}

void postgres_add_text(struct postgres_query *query, const char *text)
{
    if (text != NULL) {
        check_text(query, text);
    }
    add(query, OID_TEXT, text, text != NULL ? strlen(text) : 0);
}

void postgres_add_bytes(struct postgres_query *query, const void *bytes, size_t len)
{
    add(query, OID_BYTEA, bytes, len);
}

void postgres_add_string(struct postgres_query *query, const char *text)
{
    postgres_add_bytes(query, text, text != NULL ? strlen(text) : 0);
}

void postgres_add_now(struct postgres_query *query, const struct postgres_store *store)
{
    if (store->clock != NULL) {
        postgres_add_number(query, clock_now(store->clock));
    } else {
        postgres_add_null_number(query);
    }
}

void postgres_add_moment(struct postgres_query *query, const struct postgres_store *store)
{
    postgres_add_now(query, store);
    if (store->clock != NULL) {
        postgres_add_number(query, clock_monotonic(store->clock));
    } else {
        postgres_add_null_number(query);
    }
}

static void put_u32(struct buf *array, uint32_t number)
{
    char bytes[4];
    write_u32(bytes, number);
    buf_append(array, bytes, sizeof(bytes));
}

struct buf *postgres_add_array(struct postgres_query *query, enum postgres_array kind, size_t count)
{
    assert(query->array_count < POSTGRES_ARRAYS_MAX);
    struct buf *array = &query->arrays[query->array_count++];
    /* A buffer moves while it grows: where it is, is looked up when the query is sent. */
    int i = add(query, array_types[kind].array, NULL, 0);
    query->array_of[i] = query->array_count;
    put_u32(array, count > 0 ? 1 : 0); /* dimensions */
    put_u32(array, 0);                 /* no element is null */
    put_u32(array, array_types[kind].element);
    if (count > 0) {
        put_u32(array, (uint32_t)count);
        put_u32(array, 1); /* the first index */
    }
    return array;
}

struct buf *postgres_add_written(struct postgres_query *query)
{
    assert(query->array_count < POSTGRES_ARRAYS_MAX);
    struct buf *text = &query->arrays[query->array_count++];
    int i = add(query, OID_TEXT, NULL, 0);
    query->array_of[i] = query->array_count;
    buf_append(text, "", 0); /* Nothing is an empty text, not null. */
    return text;
}

void postgres_add_limit(struct postgres_query *query, uint32_t limit)
{
    postgres_add_number(query, limit == 0 ? INT64_MAX : (int64_t)limit);
}

void postgres_put_number(struct buf *array, int64_t number)
{
    char bytes[8];
    write_u64(bytes, (uint64_t)number);
    postgres_put_bytes(array, bytes, sizeof(bytes));
}

void postgres_put_bytes(struct buf *array, const void *bytes, size_t len)
{
    put_u32(array, (uint32_t)len);
    buf_append(array, bytes, len);
}

void postgres_put_text(struct postgres_query *query, struct buf *array, const char *text)
{
    check_text(query, text);
    postgres_put_bytes(array, text, strlen(text));
}

void postgres_query_fini(struct postgres_query *query)
{
    for (int i = 0; i < query->array_count; i++) {
        buf_fini(&query->arrays[i]);
    }
    free(query->sql);
    *query = (struct postgres_query){0};
}

void postgres_add_summary(struct postgres_query *query, const struct store_summary *summary)
{
    postgres_add_number(query, summary->status);
    postgres_add_unsigned(query, summary->iteration);
    postgres_add_unsigned(query, summary->iteration_limit);
    postgres_add_number(query, summary->conditions_met);
    postgres_add_number(query, summary->conditions_total);
    postgres_add_number(query, summary->tokens);
    postgres_add_number(query, summary->cost_micro);
    postgres_add_number(query, summary->warnings);
    postgres_add_number(query, row_pause(summary));
}

void postgres_add_events(struct postgres_query *query, const struct store_event *events,
                         size_t count)
{
    struct buf *array = postgres_add_array(query, POSTGRES_NUMBERS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_number(array, events[i].time_ns);
    }
    array = postgres_add_array(query, POSTGRES_TEXTS, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_text(query, array, events[i].type);
    }
    array = postgres_add_array(query, POSTGRES_BYTES, count);
    for (size_t i = 0; i < count; i++) {
        postgres_put_bytes(array, events[i].data, events[i].data_len);
    }
}
