// SPDX-License-Identifier: Apache-2.0
/* What the files that parse regular expressions share. Inside src/role. */
#pragma once

#include "role/pattern.h"

#include <string.h>

/** Groups that references can name. */
#define MAX_GROUPS 400
/** Nesting of groups. */
#define MAX_DEPTH 100
/** Widths are counted up to here. */
#define MAX_WIDTH ((uint64_t)UINT32_MAX)

struct group {
    const char *name; /**< in the text; NULL = it has none */
    size_t name_len;
    bool is_open;
    uint64_t low, high; /**< width */
};

struct parser {
    const char *text;
    size_t len;
    size_t at;
    struct arena *arena;
    const char *problem;
    size_t problem_at;
    unsigned depth;
    bool is_verbose;
    bool ignores_case;
    bool is_later_branch; /**< of the whole: behind its first bar */
    unsigned look_behind; /**< groups opened before the outermost look-behind, or 0 */
    struct group groups[MAX_GROUPS + 1]; /**< [0] is the whole */
    unsigned group_count;
    unsigned highest_condition; /**< group that a conditional names by number */
};

struct sequence {
    struct pattern_node *first;
    struct pattern_node *last;
};

/** What a character or a class of them takes. */
struct members {
    bool has_a;
    bool has_mark;
    bool is_class; /**< \d, \w, ...: no end of a range */
    uint32_t character;
};

static inline bool fail_at(struct parser *parser, size_t at, const char *problem)
{
    if (parser->problem == NULL) {
        parser->problem = problem;
        parser->problem_at = at;
    }
    return false;
}

static inline bool fail(struct parser *parser, const char *problem)
{
    return fail_at(parser, parser->at, problem);
}

static inline bool is_octal(int byte)
{
    return byte >= '0' && byte <= '7';
}

static inline int peek(const struct parser *parser)
{
    return parser->at < parser->len ? (unsigned char)parser->text[parser->at] : -1;
}

static inline int peek_next(const struct parser *parser)
{
    return parser->at + 1 < parser->len ? (unsigned char)parser->text[parser->at + 1] : -1;
}

static inline bool take(struct parser *parser, char byte)
{
    bool is_there = peek(parser) == (unsigned char)byte;
    parser->at += is_there ? 1 : 0;
    return is_there;
}

static inline struct pattern_node *new_node(struct parser *parser, enum pattern_kind kind)
{
    struct pattern_node *node = arena_new(parser->arena, sizeof(*node));
    *node = (struct pattern_node){.kind = kind};
    return node;
}

static inline void append(struct sequence *sequence, struct pattern_node *node)
{
    if (sequence->last == NULL) {
        sequence->first = node;
    } else {
        sequence->last->next = node;
    }
    sequence->last = node;
}

/** One character, decoded. */
uint32_t pattern_take_character(struct parser *parser);
/** \d \D \s \S \w \W behind the backslash. @return false when there is none, no problem */
bool pattern_take_class(struct parser *parser, struct members *ret_members);
/** Escapes of one character that mean the same everywhere. The backslash has been taken. */
bool pattern_take_escaped(struct parser *parser, uint32_t *ret_character);
/** Up to `most` octal digits. */
bool pattern_take_octal(struct parser *parser, size_t most, uint32_t *ret_character);
/** What a character takes. */
struct members pattern_members_of(const struct parser *parser, uint32_t character);
/** [...] behind its bracket. */
bool pattern_parse_set(struct parser *parser, struct sequence *sequence);
