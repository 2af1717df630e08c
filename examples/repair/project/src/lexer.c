/* Splits the text of an expression into tokens. */
#include "calc.h"

#include <stdbool.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

/* The value of a hexadecimal digit, or -1 if it is none. */
static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' - 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static void read_decimal(const char **cursor, struct token *token)
{
    while (is_digit(**cursor)) {
        token->number = token->number * 10 + (**cursor - '0');
        (*cursor)++;
    }
}

static void read_hexadecimal(const char **cursor, struct token *token)
{
    *cursor += 2;
    if (hex_value(**cursor) < 0)
        token->kind = TOKEN_INVALID;
    while (hex_value(**cursor) >= 0) {
        token->number = token->number * 16 + hex_value(**cursor);
        (*cursor)++;
    }
}

static void read_name(const char **cursor, struct token *token)
{
    size_t length = 0;

    while (is_letter((*cursor)[length]))
        length++;
    if (length > CALC_MAX_NAME) {
        token->kind = TOKEN_INVALID;
        return;
    }
    memcpy(token->name, *cursor, length);
    *cursor += length;
}

struct token lexer_next(const char **cursor)
{
    struct token token = {.kind = TOKEN_END};

    while (is_space(**cursor))
        (*cursor)++;
    if (**cursor == '\0')
        return token;
    if (is_digit(**cursor)) {
        token.kind = TOKEN_NUMBER;
        if ((*cursor)[0] == '0' && (*cursor)[1] == 'x')
            read_hexadecimal(cursor, &token);
        else
            read_decimal(cursor, &token);
    } else if (is_letter(**cursor)) {
        token.kind = TOKEN_NAME;
        read_name(cursor, &token);
    } else {
        token.kind = strchr("+-*/%^(),", **cursor) != NULL ? TOKEN_SYMBOL : TOKEN_INVALID;
        token.symbol = **cursor;
        (*cursor)++;
    }
    return token;
}
