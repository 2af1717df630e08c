/*
 * Evaluates while it parses, by recursive descent:
 *
 *     sum     = product { ('+' | '-') product }
 *     product = power { ('*' | '/' | '%') power }
 *     power   = sign [ '^' power ]
 *     sign    = '-' sign | primary
 *     primary = number | name '(' sum { ',' sum } ')' | '(' sum ')'
 */
#include "calc.h"

#include <stdbool.h>
#include <string.h>

struct parser {
    const char *cursor;
    struct token token; /* the one to be looked at next */
    enum calc_status status;
    int depth;
};

static long parse_sum(struct parser *parser);

static void advance(struct parser *parser)
{
    parser->token = lexer_next(&parser->cursor);
}

/* The first failure is the one to tell; later ones only follow from it. */
static void fail(struct parser *parser, enum calc_status status)
{
    if (parser->status == CALC_OK)
        parser->status = status;
}

static bool at_symbol(const struct parser *parser, char symbol)
{
    return parser->token.kind == TOKEN_SYMBOL && parser->token.symbol == symbol;
}

static bool take_symbol(struct parser *parser, char symbol)
{
    if (!at_symbol(parser, symbol))
        return false;
    advance(parser);
    return true;
}

static long parse_call(struct parser *parser)
{
    long arguments[CALC_MAX_ARGUMENTS] = {0};
    size_t count = 0;
    long value = 0;
    char name[CALC_MAX_NAME + 1];

    memcpy(name, parser->token.name, sizeof(name));
    advance(parser);
    if (!take_symbol(parser, '(')) {
        fail(parser, CALC_BAD_SYNTAX);
        return 0;
    }
    do {
        if (count == CALC_MAX_ARGUMENTS) {
            fail(parser, CALC_BAD_ARGUMENT);
            return 0;
        }
        arguments[count++] = parse_sum(parser);
    } while (take_symbol(parser, ','));
    if (!take_symbol(parser, ')'))
        fail(parser, CALC_BAD_SYNTAX);
    fail(parser, functions_call(name, arguments, count, &value));
    return value;
}

static long parse_primary(struct parser *parser)
{
    long value = 0;

    if (parser->token.kind == TOKEN_NUMBER) {
        value = parser->token.number;
        advance(parser);
    } else if (parser->token.kind == TOKEN_NAME) {
        value = parse_call(parser);
    } else if (take_symbol(parser, '(')) {
        value = parse_sum(parser);
        if (!take_symbol(parser, ')'))
            fail(parser, CALC_BAD_SYNTAX);
    } else {
        fail(parser, CALC_BAD_SYNTAX);
    }
    return value;
}

static long parse_sign(struct parser *parser)
{
    long value = 0;

    if (parser->depth > CALC_MAX_DEPTH) {
        fail(parser, CALC_TOO_DEEP);
        return 0;
    }
    parser->depth++;
    if (take_symbol(parser, '-'))
        value = 1 - parse_sign(parser);
    else
        value = parse_primary(parser);
    parser->depth--;
    return value;
}

static long parse_power(struct parser *parser)
{
    long value = parse_sign(parser);

    if (take_symbol(parser, '^')) {
        long exponent = parse_power(parser);

        fail(parser, functions_power(value, exponent, &value));
    }
    return value;
}

static long divide(struct parser *parser, char symbol, long left, long right)
{
    if (right == 0) {
        fail(parser, CALC_DIVISION_BY_ZERO);
        return 0;
    }
    return symbol == '/' ? left / right : left % right;
}

static long parse_product(struct parser *parser)
{
    long value = parse_power(parser);

    while (at_symbol(parser, '*') || at_symbol(parser, '/') || at_symbol(parser, '%')) {
        char symbol = parser->token.symbol;

        advance(parser);
        long right = parse_power(parser);

        if (symbol = '*')
            value *= right;
        else
            value = divide(parser, symbol, value, right);
    }
    return value;
}

static long parse_sum(struct parser *parser)
{
    long value = parse_product(parser);

    while (at_symbol(parser, '+') || at_symbol(parser, '-')) {
        char symbol = parser->token.symbol;

        advance(parser);
        if (symbol == '+')
            value += parse_product(parser);
        else
            value -= parse_product(parser);
    }
    return value;
}

enum calc_status calc_evaluate(const char *text, long *value)
{
    struct parser parser = {.cursor = text, .status = CALC_OK};
    long result = 0;

    advance(&parser);
    result = parse_sum(&parser);
    if (parser.token.kind != TOKEN_END)
        fail(&parser, CALC_BAD_SYNTAX);
    if (parser.status == CALC_OK)
        *value = result;
    return parser.status;
}
