/* calc EXPRESSION...: prints the value of each expression, one a line. */
#include "calc.h"

#include <stdio.h>

static const char *describe(enum calc_status status)
{
    switch (status) {
    case CALC_OK:
        return "fine";
    case CALC_BAD_SYNTAX:
        return "this is not an expression";
    case CALC_BAD_NAME:
        return "there is no such function";
    case CALC_BAD_ARGUMENT:
        return "the function does not take these arguments";
    case CALC_DIVISION_BY_ZERO:
        return "division by zero";
    case CALC_TOO_DEEP:
        return "too deeply nested";
    }
    return "unknown";
}

int main(int argc, char **argv)
{
    int exit_code = 0;

    for (int i = 1; i < argc; i++) {
        long value = 0;
        enum calc_status status = calc_evaluate(argv[i], &value);

        if (status == CALC_OK) {
            printf("%ld\n", value);
        } else {
            fprintf(stderr, "calc: %s: %s\n", argv[i], describe(status));
            exit_code = 1;
        }
    }
    return exit_code;
}
