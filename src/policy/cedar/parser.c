// SPDX-License-Identifier: Apache-2.0
/* Policies: annotations, effect, scope, conditions (language reference, "Grammar"). */
#include "policy/cedar/parser.h"

#include "base/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *variable_name(enum request_variable variable)
{
    static const char *const names[] = {"principal", "action", "resource", "context"};
    return names[variable];
}

struct source_place policy_source_move(const struct policy_source *source,
                                       struct source_place place, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < source->len; i++) {
        unsigned char byte = (unsigned char)source->text[i];
        if (byte == '\n') {
            place.line++;
            place.column = 1;
        } else if ((byte & 0xc0) != 0x80) {
            place.column++; /* Continuation bytes belong to the character before. */
        }
    }
    return place;
}

struct source_place policy_place_of(const struct policy *policy, size_t offset)
{
    return policy_source_move(policy->source, policy->place, policy->begin, offset);
}

void policy_source_locate(const struct policy_source *source, size_t offset, unsigned *ret_line,
                          unsigned *ret_column)
{
    struct source_place place = policy_source_move(source, (struct source_place){1, 1}, 0, offset);
    *ret_line = place.line;
    *ret_column = place.column;
}

const struct cedar_text *policy_annotation(const struct policy *policy, const char *name,
                                           size_t len)
{
    for (uint32_t i = 0; i < policy->annotation_count; i++) {
        const struct cedar_text *own = policy->annotations[i].name;
        if (own->len == len && memcmp(own->bytes, name, len) == 0) {
            return policy->annotations[i].value;
        }
    }
    return NULL;
}

/** Annotations may have any word for a name, also a reserved one. */
static const struct cedar_text *annotation_name(struct parser *parser)
{
    struct token token = parser->token;
    if (token.kind != TOKEN_IDENTIFIER) {
        return parser_unexpected(parser, "the name of an annotation");
    }
    parser_advance(parser);
    return cedar_text_new(parser->arena, parser->lexer.text + token.begin, token.end - token.begin);
}

static bool parse_annotation(struct parser *parser, size_t base)
{
    uint32_t begin = parser->token.begin;
    const struct cedar_text *name = annotation_name(parser);
    if (name == NULL) {
        return false;
    }
    for (size_t i = base; i < parser->stack.count; i += 2) {
        if (cedar_text_equals(parser->stack.items[i], name)) {
            parser_fail_at(parser, begin, "the annotation `@%.64s` is given twice", name->bytes);
            return false;
        }
    }
    const struct cedar_text *value = cedar_text_new(parser->arena, "", 0);
    if (parser_accept(parser, PUNCTUATION('(', 0))) {
        value = parser_string(parser, "a quoted string");
        if (value == NULL || !parser_expect(parser, PUNCTUATION(')', 0), "`)`")) {
            return false;
        }
    }
    parser_push(parser, name);
    parser_push(parser, value);
    return true;
}

/** Annotations of one policy; more make looking for doubles slow, and nobody needs them. */
#define MAX_ANNOTATIONS 256

static bool parse_annotations(struct parser *parser, struct policy *policy)
{
    size_t base = parser->stack.count;
    while (parser_accept(parser, PUNCTUATION('@', 0))) {
        if ((parser->stack.count - base) / 2 == MAX_ANNOTATIONS) {
            parser_fail_at(parser, parser->last_end, "a policy takes at most %d annotations",
                           MAX_ANNOTATIONS);
        }
        if (parser->has_failed || !parse_annotation(parser, base)) {
            return false;
        }
    }
    /* Pairs of pointers to texts: just what struct annotation is. */
    policy->annotation_count = (uint32_t)((parser->stack.count - base) / 2);
    policy->annotations = parser_pop_to(parser, base);
    return true;
}

static bool slot_fits(struct parser *parser, struct scope *scope, enum request_variable variable)
{
    struct token token = parser->token;
    bool is_principal = parser->lexer.text[token.begin + 1] == 'p';
    if (is_principal != (variable == VARIABLE_PRINCIPAL)) {
        parser_unexpected(parser, is_principal ? "`?resource`" : "`?principal`");
        return false;
    }
    scope->slot = is_principal ? SLOT_PRINCIPAL : SLOT_RESOURCE;
    parser_advance(parser);
    return true;
}

/** Take opening brackets. @return how many */
static unsigned open_brackets(struct parser *parser)
{
    unsigned count = 0;
    while (!parser->has_failed && parser_accept(parser, PUNCTUATION('(', 0))) {
        if (++count > CEDAR_LIMIT_DEPTH) {
            parser_fail_at(parser, parser->last_end, "more than %d brackets", CEDAR_LIMIT_DEPTH);
        }
    }
    return count;
}

static bool close_brackets(struct parser *parser, unsigned count)
{
    for (; count > 0 && !parser->has_failed; count--) {
        parser_expect(parser, PUNCTUATION(')', 0), "`)`");
    }
    return !parser->has_failed;
}

/** An entity or a slot, perhaps in brackets. Pushes one uid, NULL for a slot. */
static bool parse_ref(struct parser *parser, struct scope *scope, enum request_variable variable)
{
    unsigned brackets = open_brackets(parser);
    const struct cedar_uid *uid = NULL;
    if (parser->token.kind == TOKEN_SLOT && variable != VARIABLE_ACTION) {
        if (!slot_fits(parser, scope, variable)) {
            return false;
        }
    } else {
        uid = parser_uid(parser);
    }
    parser_push(parser, uid);
    return close_brackets(parser, brackets);
}

static bool take_refs(struct parser *parser, struct scope *scope, size_t base)
{
    scope->count = (uint32_t)(parser->stack.count - base);
    scope->uids = parser_pop_to(parser, base);
    return !parser->has_failed;
}

static bool parse_one_ref(struct parser *parser, struct scope *scope,
                          enum request_variable variable)
{
    size_t base = parser->stack.count;
    return parse_ref(parser, scope, variable) && take_refs(parser, scope, base);
}

/** `principal` and `resource`: any, `==`, `in`, `is`, `is in`. */
static bool parse_entity_scope(struct parser *parser, struct scope *scope,
                               enum request_variable variable)
{
    if (parser_accept(parser, PUNCTUATION('=', '='))) {
        scope->kind = SCOPE_EQUAL;
        return parse_one_ref(parser, scope, variable);
    }
    if (parser_accept_word(parser, "in")) {
        scope->kind = SCOPE_IN;
        return parse_one_ref(parser, scope, variable);
    }
    if (parser_accept_word(parser, "is")) {
        bool is_before_id = false;
        scope->kind = SCOPE_IS;
        scope->type = parser_path(parser, &is_before_id);
        if (scope->type != NULL && is_before_id) {
            parser_unexpected(parser, "a type, not an entity");
        }
        if (!parser->has_failed && parser_accept_word(parser, "in")) {
            return parse_one_ref(parser, scope, variable);
        }
    }
    return !parser->has_failed;
}

/** Actions up to the closing bracket of a list. */
static bool push_actions(struct parser *parser, struct scope *scope)
{
    while (!parser_accept(parser, PUNCTUATION(']', 0))) {
        if (!parse_ref(parser, scope, VARIABLE_ACTION) ||
            (!parser_is(parser, PUNCTUATION(']', 0)) &&
             !parser_expect(parser, PUNCTUATION(',', 0), "`,` or `]`"))) {
            return false;
        }
    }
    return true;
}

/** What follows `action in`: one action or a list; both may be in brackets. */
static bool parse_actions(struct parser *parser, struct scope *scope)
{
    unsigned brackets = open_brackets(parser);
    size_t base = parser->stack.count;
    bool is_good = parser_accept(parser, PUNCTUATION('[', 0))
                       ? push_actions(parser, scope)
                       : parse_ref(parser, scope, VARIABLE_ACTION);
    return is_good && take_refs(parser, scope, base) && close_brackets(parser, brackets);
}

static bool check_actions(struct parser *parser, const struct scope *scope, uint32_t begin)
{
    for (uint32_t i = 0; i < scope->count; i++) {
        if (!cedar_type_is_action(scope->uids[i]->type)) {
            parser_fail_at(parser, begin,
                           "`%.64s::...` is not an action, expected `Action::\"...\"`, perhaps "
                           "with a namespace in front",
                           scope->uids[i]->type->bytes);
            return false;
        }
    }
    return true;
}

/** `action`: any, `==`, `in`, `in [...]`. */
static bool parse_action_scope(struct parser *parser, struct scope *scope)
{
    uint32_t begin = parser->token.begin;
    bool is_good = true;
    if (parser_accept(parser, PUNCTUATION('=', '='))) {
        scope->kind = SCOPE_EQUAL;
        is_good = parse_one_ref(parser, scope, VARIABLE_ACTION);
    } else if (parser_accept_word(parser, "in")) {
        scope->kind = SCOPE_IN;
        is_good = parse_actions(parser, scope);
    }
    return is_good && check_actions(parser, scope, begin);
}

static bool parse_scope(struct parser *parser, struct scope *scope, enum request_variable variable)
{
    char expected[32];
    snprintf(expected, sizeof(expected), "`%s`", variable_name(variable));
    scope->begin = parser->token.begin;
    if (!parser_accept_word(parser, variable_name(variable))) {
        parser_unexpected(parser, expected);
        return false;
    }
    bool is_good = variable == VARIABLE_ACTION ? parse_action_scope(parser, scope)
                                               : parse_entity_scope(parser, scope, variable);
    scope->end = parser->last_end;
    return is_good;
}

static bool parse_scopes(struct parser *parser, struct policy *policy)
{
    if (!parser_expect(parser, PUNCTUATION('(', 0), "`(`")) {
        return false;
    }
    for (enum request_variable i = VARIABLE_PRINCIPAL; i < VARIABLE_CONTEXT; i++) {
        if (i > 0 && !parser_expect(parser, PUNCTUATION(',', 0), "`,`, `==`, `in` or `is`")) {
            return false;
        }
        if (!parse_scope(parser, &policy->scopes[i], i)) {
            return false;
        }
    }
    parser_accept(parser, PUNCTUATION(',', 0));
    return parser_expect(parser, PUNCTUATION(')', 0), "`)`");
}

static bool parse_condition(struct parser *parser, struct condition *ret_condition)
{
    ret_condition->is_unless = parser_is_word(parser, "unless");
    parser_advance(parser);
    if (!parser_expect(parser, PUNCTUATION('{', 0), "`{`")) {
        return false;
    }
    ret_condition->expression = parser_expression(parser);
    return ret_condition->expression != NULL &&
           parser_expect(parser, PUNCTUATION('}', 0), "`}` or an operator");
}

static bool parse_conditions(struct parser *parser, struct policy *policy)
{
    size_t base = parser->stack.count;
    while (parser_is_word(parser, "when") || parser_is_word(parser, "unless")) {
        struct condition *condition = arena_new(parser->arena, sizeof(*condition));
        if (!parse_condition(parser, condition)) {
            return false;
        }
        parser_push(parser, condition);
    }
    policy->condition_count = (uint32_t)(parser->stack.count - base);
    struct condition *conditions =
        arena_new_array(parser->arena, policy->condition_count, sizeof(*conditions));
    for (uint32_t i = 0; i < policy->condition_count; i++) {
        conditions[i] = *(const struct condition *)parser->stack.items[base + i];
    }
    parser->stack.count = base;
    policy->conditions = conditions;
    return true;
}

static bool parse_policy(struct parser *parser, struct policy *policy)
{
    uint32_t begin = parser->token.begin;
    parser->place = policy_source_move(parser->source, parser->place, parser->place_offset, begin);
    parser->place_offset = begin;
    *policy = (struct policy){.source = parser->source, .begin = begin, .place = parser->place};
    if (!parse_annotations(parser, policy)) {
        return false;
    }
    policy->is_forbid = parser_is_word(parser, "forbid");
    if (!policy->is_forbid && !parser_is_word(parser, "permit")) {
        parser_unexpected(parser, "`permit`, `forbid` or `@`");
        return false;
    }
    parser_advance(parser);
    if (!parse_scopes(parser, policy) || !parse_conditions(parser, policy) ||
        !parser_expect(parser, PUNCTUATION(';', 0), "`when`, `unless` or `;`")) {
        return false;
    }
    policy->end = parser->last_end;
    return true;
}

/** Offset of the first byte that is not UTF-8, or the length. */
static size_t find_bad_byte(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t sequence = utf8_sequence_len(text + at, len - at);
        if (sequence == 0) {
            break;
        }
        at += sequence;
    }
    return at;
}

int parser_parse(const struct policy_source *source, struct arena *arena, parser_policy_fn *fn,
                 void *context, struct cedar_problem *ret_problem)
{
    struct parser parser = {
        .lexer = {.text = source->text, .len = source->len},
        .source = source,
        .arena = arena,
        .problem = ret_problem,
        .place = {1, 1},
    };
    size_t bad = find_bad_byte(source->text, source->len);
    if (bad < source->len) {
        parser_fail_at(&parser, bad, "a byte that is not UTF-8");
        return -1;
    }
    parser_advance(&parser);
    while (!parser.has_failed && parser.token.kind != TOKEN_END) {
        struct policy policy;
        if (parse_policy(&parser, &policy)) {
            fn(&policy, context);
        }
    }
    buf_fini(&parser.text);
    free(parser.stack.items);
    return parser.has_failed ? -1 : 0;
}
