// SPDX-License-Identifier: Apache-2.0
/*
 * YAML as PyYAML's safe_load reads it (YAML 1.1), as a tree that remembers the position of
 * everything.
 *
 * libyaml gives the events; the tree, aliases, merge keys and the types of scalars are ours. Files
 * are small, but may be hostile: size, depth, nodes and aliases are limited, and aliases are
 * counted as what they stand for. A tree lives in one arena. One thread.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

enum yaml_kind {
    YAML_NULL = 0,
    YAML_BOOLEAN,
    YAML_INTEGER,
    YAML_NUMBER, /**< with a fraction or an exponent; may be infinite or not a number */
    YAML_TEXT,
    YAML_TIME, /**< a date, with a time or without */
    YAML_LIST,
    YAML_MAP,
};

struct yaml_pair;

struct yaml_node {
    enum yaml_kind kind;
    size_t line; /**< from 1 */
    size_t column;
    bool is_quoted;
    bool is_merge;    /**< the plain key `<<` */
    bool is_too_big;  /**< YAML_INTEGER beyond int64: `integer` is at its end */
    const char *text; /**< of a scalar, as written; NUL-terminated, may hold NULs */
    size_t len;
    union {
        bool boolean;
        int64_t integer;
        double number;
    };
    struct yaml_node **items; /**< YAML_LIST */
    struct yaml_pair *pairs;  /**< YAML_MAP, after merging, each key once */
    size_t count;
    size_t size;         /**< nodes in it, itself and aliases counted */
    size_t height;       /**< levels of lists and maps, itself counted; 0 of a scalar */
    const char *problem; /**< why this value is none ("month 13"), or NULL */
};

struct yaml_pair {
    struct yaml_node *key;
    struct yaml_node *value;
    struct yaml_node *repeated; /**< an earlier pair with the same key was given; else NULL */
};

/** What is wrong with a text. */
struct yaml_problem {
    size_t line; /**< from 1 */
    size_t column;
    char message[200];
};

/**
 * Read one document.
 * @param arena    holds the tree
 * @param first_line number of the text's first line, for texts out of the middle of a file: 1
 * @param ret_root NULL for an empty document
 * @return 0, or a negative rondo_code with the problem filled
 */
int yaml_read(const char *text, size_t len, size_t first_line, struct arena *arena,
              struct yaml_node **ret_root, struct yaml_problem *ret_problem);

/** Value of a key in a map, or NULL. The key must be a text. */
struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/** Append what a value is for messages: "the number 5", "the text \"x\"", "a list". */
void yaml_describe(const struct yaml_node *node, struct buf *ret_text);

/** The value as JSON; dates become ISO texts, numbers that JSON has none of become null. Owned. */
struct json_object *yaml_to_json(const struct yaml_node *node);

/** JSON number that is written as short as it can be read back, always with a fraction. Owned. */
struct json_object *yaml_json_number(double number);

/**
 * Give a scalar its type.
 * @param tag  explicit tag, or NULL
 * @param node text, len and is_quoted are set; sets kind, value and problem
 * @param arena for the problem's text
 * @return false for a tag that there is no type for
 */
bool yaml_resolve(const char *tag, struct arena *arena, struct yaml_node *node);
