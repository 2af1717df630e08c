// SPDX-License-Identifier: Apache-2.0
/*
 * Reading Cedar's JSON forms of values (language reference, "JSON forms"). A library's tree would
 * not do: names and strings may hold NUL bytes, names that occur twice are errors, and integers
 * must be exact to the last digit of 64 bits.
 *
 * Reading goes in two steps. A JSON value becomes a small tree of nodes that is dropped again
 * soon; nodes become Cedar values. One step would have to decide what `{"__extn":{...` is before it
 * has seen the end of it, and whether errors inside count.
 *
 * What is refused is what the real engine refuses, with these exceptions: nesting goes to
 * CEDAR_LIMIT_DEPTH (there about 120), a number that no double can hold is fine where it is
 * ignored, and the function `unknown` of partial evaluation does not exist. One thread at a time.
 */
#pragma once

#include "base/buf.h"
#include "policy/cedar/value.h"

enum cedar_json_kind {
    CEDAR_JSON_NULL,
    CEDAR_JSON_BOOL,
    CEDAR_JSON_INTEGER,
    CEDAR_JSON_NUMBER, /**< no integer of 64 bits, and so no Cedar value */
    CEDAR_JSON_STRING,
    CEDAR_JSON_ARRAY,
    CEDAR_JSON_OBJECT,
};

/** A JSON value as it stands in the text. */
struct cedar_json_node {
    enum cedar_json_kind kind;
    uint32_t at;    /**< where it begins */
    uint32_t count; /**< bytes of a string, elements of an array, members of an object */
    union {
        bool truth;
        int64_t number;
        const char *bytes;
        const struct cedar_json_node *children; /**< elements; or key, value, key, value, ... */
    } as;
};

/** Where reading stands. Zero but for `text`, `len`, `arena` and `err` at the start. */
struct cedar_json {
    const char *text;
    size_t len;
    size_t at;
    struct arena *arena; /**< Cedar values live here */
    struct rondo_error *err;
    unsigned depth;                /**< arrays and objects that are open */
    struct arena scratch;          /**< nodes, until the next one is read */
    struct cedar_json_node *stack; /**< finished children of what is open */
    size_t stack_count;
    size_t stack_size;
    struct buf string; /**< a string with escapes, while it is read */
};

/** Begin; RONDO_ERR_LIMIT when the text is longer than CEDAR_LIMIT_TEXT_BYTES. */
int cedar_json_begin(struct cedar_json *json);
/** Release the memory behind reading; values in the arena stay. */
void cedar_json_fini(struct cedar_json *json);

/** Skip white space and look at the next byte without taking it; '\0' at the end. */
char cedar_json_peek(struct cedar_json *json);
/** Take a byte, or fail with "expected `x`". */
int cedar_json_expect(struct cedar_json *json, char byte);
/** @return 1 when the byte was there and taken, else 0 */
int cedar_json_accept(struct cedar_json *json, char byte);
/** Fail at the present place: RONDO_ERR_INVALID with `line:column: ...`. */
int cedar_json_fail(struct cedar_json *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Fail at the place of a node. */
int cedar_json_fail_at(struct cedar_json *json, const struct cedar_json_node *node,
                       const char *format, ...) __attribute__((format(printf, 3, 4)));
/** Read a string. */
int cedar_json_string(struct cedar_json *json, const struct cedar_text **ret_text);
/** Read over any value (an extra field that is ignored), checking that it is JSON. */
int cedar_json_skip(struct cedar_json *json);
/** Nothing but white space may follow. */
int cedar_json_end(struct cedar_json *json);

/**
 * Read any JSON value. Names that occur twice in an object are an error.
 * @param ret_node valid until the next call that reads from the text
 */
int cedar_json_read(struct cedar_json *json, const struct cedar_json_node **ret_node);
/** Member of an object. @return NULL when there is none, or `object` is something else */
const struct cedar_json_node *cedar_json_member(const struct cedar_json_node *object,
                                                const char *name);

/** Bytes of a name that a message shows, with a NUL. */
#define CEDAR_JSON_SHOWN_SIZE 68
/** A string for a message: cut, and without control characters. @return ret_text */
const char *cedar_json_show(const struct cedar_json_node *string, char *ret_text);

/** Read a Cedar value: bool, integer, string, array, object, `__entity`, `__extn`. */
int cedar_json_value(struct cedar_json *json, struct cedar_value *ret_value);
/** Read a JSON object as a record, without looking for the escapes `__entity` and `__extn` in it:
 * attributes, tags. (A context is a value, which has to be a record.) */
int cedar_json_record(struct cedar_json *json, const struct cedar_record **ret_record);
/** Read `{"type":..,"id":..}` or `{"__entity":{..}}`. */
int cedar_json_uid(struct cedar_json *json, const struct cedar_uid **ret_uid);

/** The same three from a node that was read. */
int cedar_json_to_value(struct cedar_json *json, const struct cedar_json_node *node,
                        struct cedar_value *ret_value);
int cedar_json_to_record(struct cedar_json *json, const struct cedar_json_node *node,
                         const struct cedar_record **ret_record);
/** @param arena where the uid is put */
int cedar_json_to_uid(struct cedar_json *json, const struct cedar_json_node *node,
                      struct arena *arena, const struct cedar_uid **ret_uid);
