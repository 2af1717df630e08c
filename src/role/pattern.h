// SPDX-License-Identifier: Apache-2.0
/*
 * Regular expressions of Python's `re`: whether they compile, and whether they run away. They are
 * never used for matching texts. The tree is made for the probe only, which knows two characters.
 * Inside src/role.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pattern_kind {
    PATTERN_ONE = 0,  /**< one character */
    PATTERN_START,    /**< ^ \A */
    PATTERN_END,      /**< $ \Z */
    PATTERN_BOUNDARY, /**< \b; `is_negative`: \B */
    PATTERN_GROUP,    /**< `child` */
    PATTERN_BRANCH,   /**< `child` is a list of PATTERN_GROUP, one of which matches */
    PATTERN_REPEAT,   /**< `child` `low` to `high` times */
    PATTERN_ATOMIC,   /**< `child` without going back into it */
    PATTERN_LOOK,     /**< `child` ahead or behind */
    PATTERN_UNKNOWN,  /**< what the probe does not know: references */
};

/** Highest number of repetitions; stands for "any". */
#define PATTERN_MANY UINT32_MAX

struct pattern_node {
    enum pattern_kind kind;
    bool takes_a;    /**< PATTERN_ONE: matches 'a' */
    bool takes_mark; /**< PATTERN_ONE: matches '!' */
    bool is_lazy;
    bool is_negative;
    bool is_behind;
    uint32_t low, high; /**< PATTERN_REPEAT */
    uint64_t width_low; /**< characters that it takes */
    uint64_t width_high;
    struct pattern_node *child; /**< first of a sequence */
    struct pattern_node *next;  /**< behind this in its sequence */
};

/**
 * Parse.
 * @param ret_root  first of a sequence; NULL when it is empty
 * @param ret_offset byte where the problem is
 * @return the problem (static) or NULL
 */
const char *pattern_parse(const char *text, size_t len, struct arena *arena,
                          struct pattern_node **ret_root, size_t *ret_offset);

/** Steps that searching for the expressions of one file may take together; then none is tried. */
#define PATTERN_STEPS 60000000

/**
 * Whether searching "aaa...a!" (100 a) takes so many steps that it would not end in a second.
 * @param steps_left less by the steps that this took; where they run out, the answer is no
 */
bool pattern_runs_away(const struct pattern_node *root, uint32_t *steps_left);
