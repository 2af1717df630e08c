// SPDX-License-Identifier: Apache-2.0
/* The small steps of the parser: tokens, names, strings, uids, and saying what is wrong. */
#include "base/memory.h"
#include "policy/cedar/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Bytes of an unexpected token that a message shows. */
#define SHOWN_TOKEN_BYTES 40

void *parser_fail_at(struct parser *parser, size_t offset, const char *format, ...)
{
    if (parser->has_failed) {
        return NULL; /* The first failure is the one to report. */
    }
    parser->has_failed = true;
    struct cedar_problem *problem = parser->problem;
    problem->offset = offset;
    policy_source_locate(parser->source, offset, &problem->line, &problem->column);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->message, sizeof(problem->message), format, arguments);
    va_end(arguments);
    return NULL;
}

void *parser_unexpected(struct parser *parser, const char *expected)
{
    struct token token = parser->token;
    if (token.kind == TOKEN_WRONG) {
        return parser_fail_at(parser, token.begin, "%s", parser->lexer.message);
    }
    if (token.kind == TOKEN_END) {
        return parser_fail_at(parser, token.begin, "the text ends, expected %s", expected);
    }
    size_t len = token.end - token.begin;
    int shown = len > SHOWN_TOKEN_BYTES ? SHOWN_TOKEN_BYTES : (int)len;
    return parser_fail_at(parser, token.begin, "unexpected `%.*s%s`, expected %s", shown,
                          parser->lexer.text + token.begin, len > SHOWN_TOKEN_BYTES ? "..." : "",
                          expected);
}

void parser_advance(struct parser *parser)
{
    parser->last_end = parser->token.end;
    parser->token = lexer_next(&parser->lexer);
}

bool parser_is(const struct parser *parser, uint16_t punctuation)
{
    return parser->token.kind == TOKEN_PUNCTUATION && parser->token.punctuation == punctuation;
}

bool parser_is_word(const struct parser *parser, const char *word)
{
    size_t len = parser->token.end - parser->token.begin;
    return parser->token.kind == TOKEN_IDENTIFIER && strlen(word) == len &&
           memcmp(parser->lexer.text + parser->token.begin, word, len) == 0;
}

bool parser_accept(struct parser *parser, uint16_t punctuation)
{
    bool is_next = parser_is(parser, punctuation);
    if (is_next) {
        parser_advance(parser);
    }
    return is_next;
}

bool parser_accept_word(struct parser *parser, const char *word)
{
    bool is_next = parser_is_word(parser, word);
    if (is_next) {
        parser_advance(parser);
    }
    return is_next;
}

bool parser_expect(struct parser *parser, uint16_t punctuation, const char *expected)
{
    if (parser_accept(parser, punctuation)) {
        return true;
    }
    parser_unexpected(parser, expected);
    return false;
}

static bool is_reserved(const struct parser *parser)
{
    return lexer_is_reserved(parser->lexer.text + parser->token.begin,
                             parser->token.end - parser->token.begin);
}

const struct cedar_text *parser_name(struct parser *parser, const char *expected)
{
    struct token token = parser->token;
    if (token.kind == TOKEN_IDENTIFIER && is_reserved(parser)) {
        return parser_fail_at(parser, token.begin, "`%.*s` is a reserved word, expected %s",
                              (int)(token.end - token.begin), parser->lexer.text + token.begin,
                              expected);
    }
    if (token.kind != TOKEN_IDENTIFIER) {
        return parser_unexpected(parser, expected);
    }
    parser_advance(parser);
    return cedar_text_new(parser->arena, parser->lexer.text + token.begin, token.end - token.begin);
}

/** Unescape the next token, which is a string, and take it. */
static bool take_string(struct parser *parser, void (*wildcard)(struct buf *, void *))
{
    struct token token = parser->token;
    size_t offset = 0;
    buf_clear(&parser->text);
    const char *message =
        lexer_unescape(parser->lexer.text + token.begin + 1, token.end - token.begin - 2, wildcard,
                       parser, &parser->text, &offset);
    if (message != NULL) {
        parser_fail_at(parser, token.begin + 1 + offset, "%s", message);
        return false;
    }
    parser_advance(parser);
    return true;
}

static const struct cedar_text *collected(struct parser *parser)
{
    return cedar_text_new(parser->arena, buf_string(&parser->text), parser->text.len);
}

const struct cedar_text *parser_string(struct parser *parser, const char *expected)
{
    if (parser->token.kind != TOKEN_STRING) {
        return parser_unexpected(parser, expected);
    }
    return take_string(parser, NULL) ? collected(parser) : NULL;
}

static void end_part(struct buf *text, void *context)
{
    struct parser *parser = context;
    parser_push(parser, collected(parser));
    buf_clear(text);
}

bool parser_pattern(struct parser *parser, struct like_pattern *ret_pattern)
{
    if (parser->token.kind != TOKEN_STRING) {
        parser_unexpected(parser, "a pattern in quotes");
        return false;
    }
    size_t base = parser->stack.count;
    if (!take_string(parser, end_part)) {
        return false;
    }
    parser_push(parser, collected(parser));
    ret_pattern->count = parser->stack.count - base;
    ret_pattern->texts = parser_pop_to(parser, base);
    return true;
}

const struct cedar_text *parser_path(struct parser *parser, bool *ret_is_before_id)
{
    struct buf path = {0};
    *ret_is_before_id = false;
    for (;;) {
        struct token token = parser->token;
        if (parser_name(parser, "a name") == NULL) {
            buf_fini(&path);
            return NULL;
        }
        buf_append(&path, parser->lexer.text + token.begin, token.end - token.begin);
        if (!parser_accept(parser, PUNCTUATION(':', ':'))) {
            break;
        }
        if (parser->token.kind == TOKEN_STRING) {
            *ret_is_before_id = true;
            break;
        }
        buf_append(&path, "::", 2);
    }
    const struct cedar_text *text = cedar_text_new(parser->arena, path.data, path.len);
    buf_fini(&path);
    return text;
}

const struct cedar_uid *parser_uid(struct parser *parser)
{
    bool is_before_id = false;
    if (parser->token.kind != TOKEN_IDENTIFIER) {
        return parser_unexpected(parser, "an entity such as `Agent::\"id\"`");
    }
    const struct cedar_text *type = parser_path(parser, &is_before_id);
    if (type == NULL) {
        return NULL;
    }
    if (!is_before_id) {
        return parser_unexpected(parser, "`::` and an id in quotes");
    }
    const struct cedar_text *id = parser_string(parser, "an id in quotes");
    return id == NULL ? NULL : cedar_uid_make(parser->arena, type, id);
}

void parser_push(struct parser *parser, const void *item)
{
    if (parser->stack.count == parser->stack.room) {
        parser->stack.room = parser->stack.room * 2 + 64;
        parser->stack.items =
            memory_resize(parser->stack.items, parser->stack.room, sizeof(*parser->stack.items));
    }
    parser->stack.items[parser->stack.count++] = item;
}

const void *parser_pop_to(struct parser *parser, size_t base)
{
    size_t count = parser->stack.count - base;
    const void **items = arena_new_array(parser->arena, count, sizeof(*items));
    if (count > 0) {
        memcpy(items, parser->stack.items + base, count * sizeof(*items));
    }
    parser->stack.count = base;
    return items;
}
