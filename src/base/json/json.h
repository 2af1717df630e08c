// SPDX-License-Identifier: Apache-2.0
/*
 * JSON in two directions. Reading makes json-c's objects of what base/json/reader.h reads, at most
 * LIMIT_JSON_DEPTH levels deep; writing goes straight into a buffer, because events are written on
 * the hot path and never need a tree.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/**
 * Parse one JSON text (RFC 8259) with nothing after it but white space. Of two members of the same
 * name the last one counts, and half of a surrogate pair becomes U+FFFD.
 * @param ret_value set on success; json_object_put(). NULL = only check the text
 * @return 0, or RONDO_ERR_INVALID with line and column in the message
 */
int json_parse(const char *text, size_t len, struct json_object **ret_value,
               struct rondo_error *err);

/**
 * The same for JSON that decides something: a name that occurs twice and half of a surrogate pair
 * are errors, because two readers could each believe another one.
 */
int json_parse_strict(const char *text, size_t len, struct json_object **ret_value,
                      struct rondo_error *err);

/** Member of an object. NULL when there is none, it is null, or `object` is something else. */
struct json_object *json_member(struct json_object *object, const char *key);

/** Entries of an array; 0 for anything else, and for NULL. */
size_t json_length(struct json_object *array);

/** Member of an object that is a string, else `otherwise`. Borrowed from `object`. */
const char *json_get_string(struct json_object *object, const char *key, const char *otherwise);
/** Member of an object that is an integer, else `otherwise`. */
int64_t json_get_int(struct json_object *object, const char *key, int64_t otherwise);
/** Member of an object that is a boolean, else `otherwise`. */
bool json_get_bool(struct json_object *object, const char *key, bool otherwise);

void json_auto_put(struct json_object **slot);
/** json_object_put() at the end of the scope. */
#define auto_json __attribute__((cleanup(json_auto_put)))

/**
 * Writer of one JSON value. Commas are set by itself; opening and closing is checked by asserts.
 * Inside an object every value function takes its key, inside an array NULL.
 */
struct json_writer {
    struct buf *buf;
    unsigned depth;
    bool needs_comma;
};

/** Begin writing at the end of `buf`, which must outlive the writer. */
struct json_writer json_writer(struct buf *buf);
void json_begin_object(struct json_writer *writer, const char *key);
void json_end_object(struct json_writer *writer);
void json_begin_array(struct json_writer *writer, const char *key);
void json_end_array(struct json_writer *writer);
/** Text; bytes that are not UTF-8 are replaced by U+FFFD. NULL writes null. */
void json_write_string(struct json_writer *writer, const char *key, const char *text);
/** like json_write_string, for text of a known length, which may hold NUL bytes. */
void json_write_string_len(struct json_writer *writer, const char *key, const char *text,
                           size_t len);
void json_write_int(struct json_writer *writer, const char *key, int64_t number);
void json_write_bool(struct json_writer *writer, const char *key, bool value);
void json_write_null(struct json_writer *writer, const char *key);
/** A time in UTC (clock_format_utc); null for 0. */
void json_write_time(struct json_writer *writer, const char *key, int64_t time_ns);
/** A value that is JSON already; the caller has checked it. */
void json_write_raw(struct json_writer *writer, const char *key, const char *json);
