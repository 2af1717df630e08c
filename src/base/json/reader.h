// SPDX-License-Identifier: Apache-2.0
/*
 * The one reader of JSON (RFC 8259): strict, with the line and column of an error, into a small
 * tree of nodes. json_parse (base/json/json.h) makes json-c objects of them, for code that keeps or
 * changes what it has read; Cedar makes its values of them, because names and strings may hold NUL
 * bytes and integers must be exact to the last digit of 64 bits.
 *
 * A number that is no integer of 64 bits keeps its text only. Nesting is limited by the caller;
 * recursion is bounded by it. One thread at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

enum json_node_kind {
    JSON_NODE_NULL,
    JSON_NODE_BOOL,
    JSON_NODE_INTEGER,
    JSON_NODE_NUMBER, /**< not an integer of 64 bits */
    JSON_NODE_STRING,
    JSON_NODE_ARRAY,
    JSON_NODE_OBJECT,
};

/** A JSON value and its place in the text. */
struct json_node {
    enum json_node_kind kind;
    uint32_t at;    /**< where it begins */
    uint32_t count; /**< bytes of a number or string, elements of an array, members of an object */
    union {
        bool truth;
        int64_t number;
        const char *bytes;                /**< not terminated; may hold NUL bytes */
        const struct json_node *children; /**< elements; or key, value, key, value, ... */
    } as;
};

/** Where reading is. Zero at the start, but for the members up to `err`. */
struct json_reader {
    const char *text;
    size_t len;
    size_t max_bytes;
    unsigned max_depth;
    bool is_lenient;     /**< half of a surrogate pair is U+FFFD; a name may occur twice */
    struct arena *arena; /**< not used here: where the caller puts what it makes of nodes */
    struct rondo_error *err;
    size_t at;
    unsigned depth;          /**< arrays and objects that are open */
    struct arena scratch;    /**< nodes, until the next value is read */
    struct json_node *stack; /**< finished children of what is open */
    size_t stack_count;
    size_t stack_size;
    struct buf string; /**< a string with escapes, while it is read */
};

/** Begin; RONDO_ERR_LIMIT when the text is longer than max_bytes. */
int json_reader_begin(struct json_reader *json);
/** Release the memory used for reading. */
void json_reader_fini(struct json_reader *json);

/** Skip white space and look at the next byte without taking it; '\0' at the end. */
char json_reader_peek(struct json_reader *json);
/** Take a byte, or fail with "expected `x`". */
int json_reader_expect(struct json_reader *json, char byte);
/** @return 1 when the byte was there and taken, else 0 */
int json_reader_accept(struct json_reader *json, char byte);
/** Fail at the present place: RONDO_ERR_INVALID with `line:column: ...`. */
int json_reader_fail(struct json_reader *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Fail at the place of a node. */
int json_reader_fail_at(struct json_reader *json, const struct json_node *node, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));
/** Only white space may follow. */
int json_reader_end(struct json_reader *json);

/**
 * Read a value.
 * @param ret_node valid until the next call that reads from the text
 * @return 0; RONDO_ERR_INVALID; RONDO_ERR_LIMIT when it is nested deeper than max_depth
 */
int json_reader_read(struct json_reader *json, const struct json_node **ret_node);

/** The double that the text of a number means, whatever the program's locale has for a point. */
double json_number_of(const char *text);

/** Member of an object. @return NULL when there is none, or `object` is something else */
const struct json_node *json_node_member(const struct json_node *object, const char *name);

/** Bytes of a name that a message shows, with a NUL. */
#define JSON_SHOWN_SIZE 68
/** A string for a message: cut, and without control characters. @return ret_text */
const char *json_node_show(const struct json_node *string, char *ret_text);
