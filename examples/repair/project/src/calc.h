/*
 * A calculator for whole numbers: the text of an expression goes in, a value or the reason why
 * there is none comes out. No function of this library keeps anything between two calls.
 */
#pragma once

#include <stddef.h>

enum {
    CALC_MAX_DEPTH = 20,     /* how deeply parentheses and signs may nest */
    CALC_MAX_ARGUMENTS = 4,  /* how many arguments one call may have */
    CALC_MAX_NAME = 8,       /* the longest name of a function */
    CALC_FUNCTION_COUNT = 9, /* how many functions there are */
};

enum calc_status {
    CALC_OK,
    CALC_BAD_SYNTAX,
    CALC_BAD_NAME,
    CALC_BAD_ARGUMENT,
    CALC_DIVISION_BY_ZERO,
    CALC_TOO_DEEP,
};

enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_SYMBOL,
    TOKEN_INVALID,
};

struct token {
    enum token_kind kind;
    char symbol;                  /* of a TOKEN_SYMBOL */
    long number;                  /* of a TOKEN_NUMBER */
    char name[CALC_MAX_NAME + 1]; /* of a TOKEN_NAME */
};

/* Reads the token at *cursor, moves the cursor behind it, and returns it. */
struct token lexer_next(const char **cursor);

/* Calls the function `name`. `*value` is set only when the answer is CALC_OK. */
enum calc_status functions_call(const char *name, const long *arguments, size_t count, long *value);

/* Raises `base` to the power of `exponent`, which must not be negative. */
enum calc_status functions_power(long base, long exponent, long *value);

/* Evaluates `text`. `*value` is set only when the answer is CALC_OK. */
enum calc_status calc_evaluate(const char *text, long *value);
