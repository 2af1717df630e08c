// SPDX-License-Identifier: Apache-2.0
/*
 * Expressions (language reference, "Grammar"). Recursion is bounded by CEDAR_LIMIT_DEPTH in two
 * ways: how deep brackets are nested while parsing, and how deep the tree is that comes out
 * (`a.b.c.d` nests without brackets).
 */
#include "policy/cedar/evaluate.h"
#include "policy/cedar/function.h"
#include "policy/cedar/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct expression *new_node(struct parser *parser, enum expression_kind kind, uint32_t begin)
{
    struct expression *node = arena_new(parser->arena, sizeof(*node));
    *node = (struct expression){
        .kind = (uint8_t)kind, .depth = 1, .begin = begin, .end = parser->last_end};
    return node;
}

static bool is_constant(const struct expression *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->operands[i]->kind != EXPRESSION_VALUE) {
            return false;
        }
    }
    return true;
}

/**
 * Sets, records and extension values of literals are made once, here. A call that fails stays,
 * because it must fail when the policy is evaluated, and only there.
 */
static void fold(struct parser *parser, struct expression *node)
{
    bool can_fold = node->kind == EXPRESSION_SET || node->kind == EXPRESSION_RECORD ||
                    node->kind == EXPRESSION_CALL;
    if (!can_fold || !is_constant(node)) {
        return;
    }
    struct evaluation evaluation = {.arena = parser->arena};
    struct cedar_value value = evaluate(&evaluation, node);
    if (!evaluate_has_failed(value)) {
        node->kind = EXPRESSION_VALUE;
        node->value = value;
        node->count = 0;
        node->operands = NULL;
        node->depth = 1;
    }
}

/** See is_of_variable. */
static void note_variable(struct expression *node)
{
    bool is_access = node->kind == EXPRESSION_ATTRIBUTE || node->kind == EXPRESSION_HAS;
    if (is_access && node->name_count == 1 && node->operands[0]->kind == EXPRESSION_VARIABLE) {
        node->is_of_variable = true;
        node->variable = node->operands[0]->variable;
        node->name_hash = node->names[0]->hash;
    }
}

/** Give a node its operands, which are on the stack above `base`. @return NULL: too deep */
static const struct expression *complete(struct parser *parser, struct expression *node,
                                         size_t base)
{
    node->count = (uint32_t)(parser->stack.count - base);
    node->operands = parser_pop_to(parser, base);
    node->end = parser->last_end;
    unsigned depth = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        depth = node->operands[i]->depth > depth ? node->operands[i]->depth : depth;
    }
    if (depth >= CEDAR_LIMIT_DEPTH) {
        return parser_fail_at(parser, node->begin,
                              "an expression that is nested more than %d levels deep",
                              CEDAR_LIMIT_DEPTH);
    }
    node->depth = (uint8_t)(depth + 1);
    note_variable(node);
    fold(parser, node);
    return node;
}

static const struct expression *unary(struct parser *parser, enum expression_kind kind,
                                      uint32_t begin, const struct expression *operand)
{
    size_t base = parser->stack.count;
    parser_push(parser, operand);
    return complete(parser, new_node(parser, kind, begin), base);
}

static const struct expression *binary(struct parser *parser, enum expression_kind kind,
                                       const struct expression *left,
                                       const struct expression *right)
{
    size_t base = parser->stack.count;
    parser_push(parser, left);
    parser_push(parser, right);
    return complete(parser, new_node(parser, kind, left->begin), base);
}

static const struct expression *literal(struct parser *parser, uint32_t begin,
                                        struct cedar_value value)
{
    struct expression *node = new_node(parser, EXPRESSION_VALUE, begin);
    node->value = value;
    return node;
}

static struct expression *named(struct parser *parser, enum expression_kind kind, uint32_t begin,
                                const struct cedar_text *name)
{
    struct expression *node = new_node(parser, kind, begin);
    size_t base = parser->stack.count;
    parser_push(parser, name);
    node->names = parser_pop_to(parser, base);
    node->name_count = 1;
    return node;
}

/** Take expressions up to `close`, pushing each. */
static bool push_list(struct parser *parser, char close, const char *expected)
{
    while (!parser_accept(parser, PUNCTUATION(close, 0))) {
        const struct expression *item = parser_expression(parser);
        if (item == NULL) {
            return false;
        }
        parser_push(parser, item);
        if (!parser_is(parser, PUNCTUATION(close, 0)) &&
            !parser_expect(parser, PUNCTUATION(',', 0), expected)) {
            return false;
        }
    }
    return true;
}

static const struct expression *set_literal(struct parser *parser)
{
    uint32_t begin = parser->token.begin;
    size_t base = parser->stack.count;
    parser_advance(parser);
    if (!push_list(parser, ']', "`,` or `]`")) {
        return NULL;
    }
    return complete(parser, new_node(parser, EXPRESSION_SET, begin), base);
}

static const struct cedar_text *record_key(struct parser *parser)
{
    return parser->token.kind == TOKEN_STRING ? parser_string(parser, "a key")
                                              : parser_name(parser, "a key or `}`");
}

static int compare_keys(const void *left, const void *right)
{
    const struct cedar_text *a = *(const struct cedar_text *const *)left;
    const struct cedar_text *b = *(const struct cedar_text *const *)right;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/** @return a key that is there twice, or NULL; sorts the keys */
static const struct cedar_text *find_twice(const struct cedar_text **keys, size_t count)
{
    if (count > 1) {
        qsort(keys, count, sizeof(*keys), compare_keys);
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && keys[j - 1]->hash == keys[i]->hash; j--) {
            if (cedar_text_equals(keys[j - 1], keys[i])) {
                return keys[i];
            }
        }
    }
    return NULL;
}

/** Keys and values of a record, in turns, on the stack. */
static bool push_fields(struct parser *parser)
{
    while (!parser_accept(parser, PUNCTUATION('}', 0))) {
        const struct cedar_text *key = record_key(parser);
        if (key == NULL || !parser_expect(parser, PUNCTUATION(':', 0), "`:`")) {
            return false;
        }
        const struct expression *value = parser_expression(parser);
        if (value == NULL) {
            return false;
        }
        parser_push(parser, key);
        parser_push(parser, value);
        if (!parser_is(parser, PUNCTUATION('}', 0)) &&
            !parser_expect(parser, PUNCTUATION(',', 0), "`,` or `}`")) {
            return false;
        }
    }
    return true;
}

/** Sort the keys and values on the stack into the node's names and operands. */
static bool split_fields(struct parser *parser, size_t base, struct expression *node)
{
    size_t count = (parser->stack.count - base) / 2;
    const struct cedar_text **keys = arena_new_array(parser->arena, count, sizeof(*keys));
    for (size_t i = 0; i < count; i++) {
        keys[i] = parser->stack.items[base + 2 * i];
    }
    const struct cedar_text *twice = find_twice(keys, count);
    if (twice != NULL) {
        parser_fail_at(parser, node->begin, "a record with the key `%.64s` twice", twice->bytes);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        keys[i] = parser->stack.items[base + 2 * i];
        parser->stack.items[base + i] = parser->stack.items[base + 2 * i + 1];
    }
    parser->stack.count = base + count;
    node->names = keys;
    node->name_count = (uint32_t)count;
    return true;
}

static const struct expression *record_literal(struct parser *parser)
{
    uint32_t begin = parser->token.begin;
    size_t base = parser->stack.count;
    parser_advance(parser);
    if (!push_fields(parser)) {
        return NULL;
    }
    struct expression *node = new_node(parser, EXPRESSION_RECORD, begin);
    return split_fields(parser, base, node) ? complete(parser, node, base) : NULL;
}

static const struct expression *parenthesised(struct parser *parser)
{
    parser_advance(parser);
    const struct expression *inner = parser_expression(parser);
    if (inner == NULL || !parser_expect(parser, PUNCTUATION(')', 0), "`)` or an operator")) {
        return NULL;
    }
    return inner;
}

/** The value of an integer token. @param is_negative lets the most negative number through */
static bool integer_value(struct parser *parser, struct token token, bool is_negative,
                          int64_t *ret_number)
{
    uint64_t number = 0;
    const char *text = parser->lexer.text;
    uint64_t most = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    for (uint32_t at = token.begin; at < token.end; at++) {
        uint64_t digit = (uint64_t)(text[at] - '0');
        if (number > (most - digit) / 10) {
            parser_fail_at(parser, token.begin,
                           "an integer out of range, expected at most 9223372036854775807");
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = is_negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

static const struct expression *integer_literal(struct parser *parser)
{
    struct token token = parser->token;
    int64_t number = 0;
    if (!integer_value(parser, token, false, &number)) {
        return NULL;
    }
    parser_advance(parser);
    return literal(parser, token.begin, cedar_long(number));
}

static const struct expression *call(struct parser *parser, struct token name)
{
    const char *text = parser->lexer.text + name.begin;
    size_t len = name.end - name.begin;
    int function = cedar_function_find(text, len);
    if (function < 0 || !cedar_function_is_constructor(function)) {
        return parser_fail_at(parser, name.begin,
                              "`%.*s` is not a function, expected `ip`, `decimal`, `datetime` or "
                              "`duration`",
                              len > 64 ? 64 : (int)len, text);
    }
    size_t base = parser->stack.count;
    parser_advance(parser);
    if (!push_list(parser, ')', "`,` or `)`")) {
        return NULL;
    }
    struct expression *node = new_node(parser, EXPRESSION_CALL, name.begin);
    node->function = (int8_t)function;
    return complete(parser, node, base);
}

static const struct expression *variable(struct parser *parser, struct token name)
{
    size_t len = name.end - name.begin;
    const char *text = parser->lexer.text + name.begin;
    for (enum request_variable i = VARIABLE_PRINCIPAL; i <= VARIABLE_CONTEXT; i++) {
        if (strlen(variable_name(i)) == len && memcmp(variable_name(i), text, len) == 0) {
            struct expression *node = new_node(parser, EXPRESSION_VARIABLE, name.begin);
            node->variable = (uint8_t)i;
            return node;
        }
    }
    return parser_fail_at(parser, name.begin,
                          "`%.*s` is not a variable, expected `principal`, `action`, `resource` "
                          "or `context` (texts are written in double quotes)",
                          len > 64 ? 64 : (int)len, text);
}

/** What begins with a name: a variable, a function call, or an entity. */
static const struct expression *name_expression(struct parser *parser)
{
    struct token name = parser->token;
    bool is_before_id = false;
    const struct cedar_text *path = parser_path(parser, &is_before_id);
    if (path == NULL) {
        return NULL;
    }
    if (is_before_id) {
        const struct cedar_text *id = parser_string(parser, "an id in quotes");
        return id == NULL
                   ? NULL
                   : literal(parser, name.begin,
                             cedar_object(CEDAR_ENTITY, cedar_uid_make(parser->arena, path, id)));
    }
    bool is_single = path->len == name.end - name.begin && parser->last_end == name.end;
    if (!is_single) {
        return parser_unexpected(parser, "`::` and an id in quotes");
    }
    if (parser_is(parser, PUNCTUATION('(', 0))) {
        return call(parser, name);
    }
    return variable(parser, name);
}

static const struct expression *primary(struct parser *parser)
{
    static const char expected[] = "an expression";
    struct token token = parser->token;
    switch (token.kind) {
    case TOKEN_INTEGER:
        return integer_literal(parser);
    case TOKEN_STRING: {
        const struct cedar_text *text = parser_string(parser, expected);
        return text == NULL ? NULL : literal(parser, token.begin, cedar_object(CEDAR_STRING, text));
    }
    case TOKEN_IDENTIFIER:
        if (parser_is_word(parser, "true") || parser_is_word(parser, "false")) {
            bool truth = parser_is_word(parser, "true");
            parser_advance(parser);
            return literal(parser, token.begin, cedar_bool(truth));
        }
        return name_expression(parser);
    case TOKEN_PUNCTUATION:
        if (token.punctuation == '(') {
            return parenthesised(parser);
        }
        if (token.punctuation == '[') {
            return set_literal(parser);
        }
        if (token.punctuation == '{') {
            return record_literal(parser);
        }
        return parser_unexpected(parser, expected);
    case TOKEN_SLOT:
        return parser_fail_at(parser, token.begin,
                              "slots are allowed only in the scope of a policy");
    case TOKEN_END:
    case TOKEN_WRONG:
        break;
    }
    return parser_unexpected(parser, expected);
}

/** Methods of the language itself; those of extension types are functions. */
static const struct {
    const char *name;
    enum expression_kind kind;
    uint32_t argument_count;
} methods[] = {
    {"contains", EXPRESSION_CONTAINS, 1},        {"containsAll", EXPRESSION_CONTAINS_ALL, 1},
    {"containsAny", EXPRESSION_CONTAINS_ANY, 1}, {"getTag", EXPRESSION_GET_TAG, 1},
    {"hasTag", EXPRESSION_HAS_TAG, 1},           {"isEmpty", EXPRESSION_IS_EMPTY, 0},
};

/** The order that a method of decimals is, or 0. */
static uint8_t decimal_order(int function)
{
    static const char *const names[] = {"lessThan", "lessThanOrEqual", "greaterThan",
                                        "greaterThanOrEqual"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(cedar_function_name(function), names[i]) == 0) {
            return (uint8_t)(EXPRESSION_LESS + i);
        }
    }
    return 0;
}

/** The node for a method's name. @return NULL: unknown */
static struct expression *method_node(struct parser *parser, const struct cedar_text *name,
                                      uint32_t begin, size_t argument_count, uint32_t name_begin)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (strcmp(methods[i].name, name->bytes) != 0) {
            continue;
        }
        if (methods[i].argument_count != argument_count) {
            return parser_fail_at(parser, name_begin, "`%s` takes %u argument%s, not %zu",
                                  name->bytes, methods[i].argument_count,
                                  methods[i].argument_count == 1 ? "" : "s", argument_count);
        }
        return new_node(parser, methods[i].kind, begin);
    }
    int function = cedar_function_find(name->bytes, name->len);
    if (function < 0 || cedar_function_is_constructor(function)) {
        return parser_fail_at(parser, name_begin, "`%.64s` is not a method", name->bytes);
    }
    struct expression *node = new_node(parser, EXPRESSION_CALL, begin);
    node->function = (int8_t)function;
    node->order = argument_count == 1 ? decimal_order(function) : 0;
    return node;
}

static const struct expression *method(struct parser *parser, const struct expression *receiver,
                                       const struct cedar_text *name, uint32_t name_begin)
{
    size_t base = parser->stack.count;
    parser_advance(parser);
    parser_push(parser, receiver);
    if (!push_list(parser, ')', "`,` or `)`")) {
        return NULL;
    }
    struct expression *node =
        method_node(parser, name, receiver->begin, parser->stack.count - base - 1, name_begin);
    return node == NULL ? NULL : complete(parser, node, base);
}

static const struct expression *attribute(struct parser *parser, const struct expression *of,
                                          const struct cedar_text *name)
{
    struct expression *node = named(parser, EXPRESSION_ATTRIBUTE, of->begin, name);
    size_t base = parser->stack.count;
    parser_push(parser, of);
    return complete(parser, node, base);
}

/** `.name`, `.method(...)` and `["name"]` after an expression. */
static const struct expression *member(struct parser *parser, const struct expression *of)
{
    if (parser_accept(parser, PUNCTUATION('[', 0))) {
        const struct cedar_text *name = parser_string(parser, "an attribute's name in quotes");
        bool is_closed = name != NULL && parser_expect(parser, PUNCTUATION(']', 0), "`]`");
        return is_closed ? attribute(parser, of, name) : NULL;
    }
    parser_advance(parser); /* the dot */
    uint32_t name_begin = parser->token.begin;
    const struct cedar_text *name = parser_name(parser, "the name of an attribute or method");
    if (name == NULL) {
        return NULL;
    }
    return parser_is(parser, PUNCTUATION('(', 0)) ? method(parser, of, name, name_begin)
                                                  : attribute(parser, of, name);
}

static bool is_before_member(const struct parser *parser)
{
    return parser_is(parser, PUNCTUATION('.', 0)) || parser_is(parser, PUNCTUATION('[', 0));
}

static const struct expression *member_chain(struct parser *parser, const struct expression *first)
{
    const struct expression *of = first;
    while (of != NULL && is_before_member(parser)) {
        of = member(parser, of);
    }
    return of;
}

/** Operators in a row before an operand. */
#define MAX_UNARY_OPERATORS 4

/** `-N` is one literal, so that the most negative number can be written. */
static const struct expression *after_minus(struct parser *parser, uint32_t minus_begin,
                                            bool *ret_is_negated)
{
    struct token token = parser->token;
    *ret_is_negated = false;
    if (token.kind != TOKEN_INTEGER) {
        return member_chain(parser, primary(parser));
    }
    parser_advance(parser);
    *ret_is_negated = !is_before_member(parser);
    int64_t number = 0;
    if (!integer_value(parser, token, *ret_is_negated, &number)) {
        return NULL;
    }
    return member_chain(
        parser, literal(parser, *ret_is_negated ? minus_begin : token.begin, cedar_long(number)));
}

static const struct expression *unary_chain(struct parser *parser)
{
    uint16_t sign = parser_is(parser, PUNCTUATION('!', 0)) ? '!' : '-';
    uint32_t begins[MAX_UNARY_OPERATORS];
    unsigned count = 0;
    while (parser_is(parser, sign)) {
        if (count == MAX_UNARY_OPERATORS) {
            return parser_fail_at(parser, parser->token.begin, "more than %d of `%c` in a row",
                                  MAX_UNARY_OPERATORS, (char)sign);
        }
        begins[count++] = parser->token.begin;
        parser_advance(parser);
    }
    const struct expression *operand = NULL;
    if (sign == '-' && count > 0) {
        bool is_negated = false;
        operand = after_minus(parser, begins[count - 1], &is_negated);
        count -= is_negated ? 1 : 0;
    } else {
        operand = member_chain(parser, primary(parser));
    }
    while (operand != NULL && count > 0) {
        count--;
        operand =
            unary(parser, sign == '!' ? EXPRESSION_NOT : EXPRESSION_NEGATE, begins[count], operand);
    }
    return operand;
}

static const struct expression *product(struct parser *parser)
{
    const struct expression *first = unary_chain(parser);
    if (first == NULL || !parser_is(parser, PUNCTUATION('*', 0))) {
        return first;
    }
    size_t base = parser->stack.count;
    parser_push(parser, first);
    while (parser_accept(parser, PUNCTUATION('*', 0))) {
        const struct expression *next = unary_chain(parser);
        if (next == NULL) {
            return NULL;
        }
        parser_push(parser, next);
    }
    return complete(parser, new_node(parser, EXPRESSION_PRODUCT, first->begin), base);
}

static const struct expression *sum(struct parser *parser)
{
    static const bool is_minus = true;
    const struct expression *first = product(parser);
    if (first == NULL ||
        !(parser_is(parser, PUNCTUATION('+', 0)) || parser_is(parser, PUNCTUATION('-', 0)))) {
        return first;
    }
    /* Operands and their signs, in turns. */
    size_t base = parser->stack.count;
    parser_push(parser, first);
    parser_push(parser, NULL);
    while (parser_is(parser, PUNCTUATION('+', 0)) || parser_is(parser, PUNCTUATION('-', 0))) {
        const bool *sign = parser_is(parser, PUNCTUATION('-', 0)) ? &is_minus : NULL;
        parser_advance(parser);
        const struct expression *next = product(parser);
        if (next == NULL) {
            return NULL;
        }
        parser_push(parser, next);
        parser_push(parser, sign);
    }
    size_t count = (parser->stack.count - base) / 2;
    struct expression *node = new_node(parser, EXPRESSION_SUM, first->begin);
    bool *signs = arena_new_array(parser->arena, count, sizeof(*signs));
    for (size_t i = 0; i < count; i++) {
        signs[i] = parser->stack.items[base + 2 * i + 1] != NULL;
        parser->stack.items[base + i] = parser->stack.items[base + 2 * i];
    }
    parser->stack.count = base + count;
    node->is_minus = signs;
    return complete(parser, node, base);
}

static const struct expression *has_relation(struct parser *parser, const struct expression *left)
{
    struct expression *node = new_node(parser, EXPRESSION_HAS, left->begin);
    size_t base = parser->stack.count;
    if (parser->token.kind == TOKEN_STRING) {
        parser_push(parser, parser_string(parser, "a name"));
    } else {
        do {
            parser_push(parser, parser_name(parser, "the name of an attribute"));
        } while (!parser->has_failed && parser_accept(parser, PUNCTUATION('.', 0)));
    }
    if (parser->has_failed) {
        return NULL;
    }
    node->name_count = (uint32_t)(parser->stack.count - base);
    node->names = parser_pop_to(parser, base);
    parser_push(parser, left);
    return complete(parser, node, base);
}

static const struct expression *like_relation(struct parser *parser, const struct expression *left)
{
    struct expression *node = new_node(parser, EXPRESSION_LIKE, left->begin);
    if (!parser_pattern(parser, &node->pattern)) {
        return NULL;
    }
    size_t base = parser->stack.count;
    parser_push(parser, left);
    return complete(parser, node, base);
}

static const struct expression *is_relation(struct parser *parser, const struct expression *left)
{
    bool is_before_id = false;
    const struct cedar_text *type = parser_path(parser, &is_before_id);
    if (type == NULL) {
        return NULL;
    }
    if (is_before_id) {
        return parser_unexpected(parser, "a type, not an entity");
    }
    struct expression *node = named(parser, EXPRESSION_IS, left->begin, type);
    size_t base = parser->stack.count;
    parser_push(parser, left);
    if (parser_accept_word(parser, "in")) {
        const struct expression *ancestors = sum(parser);
        if (ancestors == NULL) {
            return NULL;
        }
        parser_push(parser, ancestors);
    }
    return complete(parser, node, base);
}

static bool relation_operator(const struct parser *parser, enum expression_kind *ret_kind)
{
    static const struct {
        uint16_t punctuation;
        enum expression_kind kind;
    } operators[] = {
        {PUNCTUATION('=', '='), EXPRESSION_EQUAL},
        {PUNCTUATION('!', '='), EXPRESSION_NOT_EQUAL},
        {PUNCTUATION('<', 0), EXPRESSION_LESS},
        {PUNCTUATION('<', '='), EXPRESSION_LESS_EQUAL},
        {PUNCTUATION('>', 0), EXPRESSION_GREATER},
        {PUNCTUATION('>', '='), EXPRESSION_GREATER_EQUAL},
    };
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (parser_is(parser, operators[i].punctuation)) {
            *ret_kind = operators[i].kind;
            return true;
        }
    }
    *ret_kind = EXPRESSION_IN;
    return parser_is_word(parser, "in");
}

static const struct expression *relation(struct parser *parser)
{
    const struct expression *left = sum(parser);
    enum expression_kind kind = EXPRESSION_EQUAL;
    if (left == NULL) {
        return NULL;
    }
    if (parser_accept_word(parser, "has")) {
        return has_relation(parser, left);
    }
    if (parser_accept_word(parser, "like")) {
        return like_relation(parser, left);
    }
    if (parser_accept_word(parser, "is")) {
        return is_relation(parser, left);
    }
    if (!relation_operator(parser, &kind)) {
        return left;
    }
    parser_advance(parser);
    const struct expression *right = sum(parser);
    return right == NULL ? NULL : binary(parser, kind, left, right);
}

static const struct expression *conjunction(struct parser *parser)
{
    const struct expression *first = relation(parser);
    if (first == NULL || !parser_is(parser, PUNCTUATION('&', '&'))) {
        return first;
    }
    size_t base = parser->stack.count;
    parser_push(parser, first);
    while (parser_accept(parser, PUNCTUATION('&', '&'))) {
        const struct expression *next = relation(parser);
        if (next == NULL) {
            return NULL;
        }
        parser_push(parser, next);
    }
    return complete(parser, new_node(parser, EXPRESSION_AND, first->begin), base);
}

static const struct expression *disjunction(struct parser *parser)
{
    const struct expression *first = conjunction(parser);
    if (first == NULL || !parser_is(parser, PUNCTUATION('|', '|'))) {
        return first;
    }
    size_t base = parser->stack.count;
    parser_push(parser, first);
    while (parser_accept(parser, PUNCTUATION('|', '|'))) {
        const struct expression *next = conjunction(parser);
        if (next == NULL) {
            return NULL;
        }
        parser_push(parser, next);
    }
    return complete(parser, new_node(parser, EXPRESSION_OR, first->begin), base);
}

static const struct expression *if_expression(struct parser *parser)
{
    static const char *const words[] = {NULL, "then", "else"};
    uint32_t begin = parser->token.begin;
    size_t base = parser->stack.count;
    parser_advance(parser);
    for (size_t i = 0; i < 3; i++) {
        if (words[i] != NULL && !parser_accept_word(parser, words[i])) {
            return parser_unexpected(parser,
                                     i == 1 ? "`then` or an operator" : "`else` or an operator");
        }
        const struct expression *part = parser_expression(parser);
        if (part == NULL) {
            return NULL;
        }
        parser_push(parser, part);
    }
    return complete(parser, new_node(parser, EXPRESSION_IF, begin), base);
}

const struct expression *parser_expression(struct parser *parser)
{
    if (parser->depth == CEDAR_LIMIT_DEPTH) {
        return parser_fail_at(parser, parser->token.begin,
                              "an expression that is nested more than %d levels deep",
                              CEDAR_LIMIT_DEPTH);
    }
    parser->depth++;
    const struct expression *expression =
        parser_is_word(parser, "if") ? if_expression(parser) : disjunction(parser);
    parser->depth--;
    return expression;
}
