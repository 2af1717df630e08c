// SPDX-License-Identifier: Apache-2.0
/* The parser: text to syntax tree, in one pass, with the first error's place and expectation. */
#pragma once

#include "policy/cedar/ast.h"
#include "policy/cedar/lexer.h"

/** Gets each policy; `id` is not set yet. */
typedef void parser_policy_fn(const struct policy *policy, void *context);

/**
 * Parse a text of policies.
 * @param source must outlive the policies, like the arena that they are made in
 * @param ret_problem filled when -1 is returned
 * @return 0, or -1
 */
int parser_parse(const struct policy_source *source, struct arena *arena, parser_policy_fn *fn,
                 void *context, struct cedar_problem *ret_problem);

/* What the parser's files share. */

struct parser {
    struct lexer lexer;
    struct token token; /**< the next one, not taken yet */
    uint32_t last_end;  /**< end of the last token that was taken */
    const struct policy_source *source;
    struct arena *arena;
    struct cedar_problem *problem;
    bool has_failed;
    struct source_place place; /**< of `place_offset`, where the latest policy begins */
    size_t place_offset;
    unsigned depth;
    struct buf text; /**< for unescaping */
    struct {
        const void **items; /**< operands and names that wait for their node */
        size_t count;
        size_t room;
    } stack;
};

/** Remember what is wrong at an offset. @return NULL */
void *parser_fail_at(struct parser *parser, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** "unexpected `x`, expected ...". @return NULL */
void *parser_unexpected(struct parser *parser, const char *expected);

void parser_advance(struct parser *parser);
/** Whether the next token is this punctuation or identifier. */
bool parser_is(const struct parser *parser, uint16_t punctuation);
bool parser_is_word(const struct parser *parser, const char *word);
/** Take it when it is next. */
bool parser_accept(struct parser *parser, uint16_t punctuation);
bool parser_accept_word(struct parser *parser, const char *word);
/** Take it, or fail. */
bool parser_expect(struct parser *parser, uint16_t punctuation, const char *expected);

/** Take an identifier that is not reserved. @return NULL after a failure */
const struct cedar_text *parser_name(struct parser *parser, const char *expected);
/** Take a string literal. @return NULL after a failure */
const struct cedar_text *parser_string(struct parser *parser, const char *expected);
/** Take a string literal as a pattern. */
bool parser_pattern(struct parser *parser, struct like_pattern *ret_pattern);
/** Take `A::B::C`; stops in front of anything else, also `::"id"`. @return NULL after a failure */
const struct cedar_text *parser_path(struct parser *parser, bool *ret_is_before_id);
/** Take `A::B::"id"`. @return NULL after a failure */
const struct cedar_uid *parser_uid(struct parser *parser);

void parser_push(struct parser *parser, const void *item);
/** Copy what is above `base` to the arena and drop it. */
const void *parser_pop_to(struct parser *parser, size_t base);

/** Take an expression. @return NULL after a failure */
const struct expression *parser_expression(struct parser *parser);
