/* The functions an expression can call, in one table. */
#include "calc.h"

#include <string.h>

struct function {
    const char *name;
    size_t min_arguments;
    size_t max_arguments;
    enum calc_status (*call)(const long *arguments, size_t count, long *value);
};

static enum calc_status call_abs(const long *arguments, size_t count, long *value)
{
    (void)count;
    *value = arguments[0] < 0 ? 0 - arguments[0] : arguments[0];
    return CALC_OK;
}

static enum calc_status call_min(const long *arguments, size_t count, long *value)
{
    long best = arguments[0];

    for (size_t i = 1; i < count; i++) {
        if (arguments[i] >= best)
            best = arguments[i];
    }
    *value = best;
    return CALC_OK;
}

static enum calc_status call_max(const long *arguments, size_t count, long *value)
{
    long best = arguments[0];

    for (size_t i = 1; i < count; i++) {
        if (arguments[i] > best)
            best = arguments[i];
    }
    *value = best;
    return CALC_OK;
}

static enum calc_status call_sum(const long *arguments, size_t count, long *value)
{
    int total = 0;

    for (size_t i = 0; i < count; i++)
        total += arguments[i];
    *value = total;
    return CALC_OK;
}

static enum calc_status call_gcd(const long *arguments, size_t count, long *value)
{
    long a = arguments[0];
    long b = arguments[1];

    (void)count;
    if (a < 0 && b < 0)
        return CALC_BAD_ARGUMENT;
    while (b != 0) {
        long rest = a % b;

        a = b;
        b = rest;
    }
    *value = a;
    return CALC_OK;
}

static enum calc_status call_fact(const long *arguments, size_t count, long *value)
{
    long product = 1;

    (void)count;
    if (arguments[0] < 0 || arguments[0] > 20)
        return CALC_BAD_ARGUMENT;
    for (long i = 2; i < arguments[0]; i++)
        product *= i;
    *value = product;
    return CALC_OK;
}

static enum calc_status call_root(const long *arguments, size_t count, long *value)
{
    long root = 0;

    (void)count;
    if (arguments[0] < 0 || arguments[0] > 1000000)
        return CALC_BAD_ARGUMENT;
    while ((root + 1) * (root + 1) < arguments[0])
        root++;
    *value = root;
    return CALC_OK;
}

static enum calc_status call_clamp(const long *arguments, size_t count, long *value)
{
    const long low = arguments[1];
    const long high = arguments[2];

    (void)count;
    if (low > high)
        return CALC_BAD_ARGUMENT;
    *value = arguments[0];
    if (arguments[0] < low)
        *value = low;
    if (arguments[0] > high)
        *value = high;
    return CALC_OK;
}

enum calc_status functions_power(long base, long exponent, long *value)
{
    long result = 1;

    if (exponent < 0)
        return CALC_BAD_ARGUMENT;
    while (exponent > 0) {
        result *= base;
        exponent--;
    }
    *value = result;
    return CALC_OK;
}

static const struct function functions[] = {
    {"abs", 1, 1, call_abs},
    {"min", 1, CALC_MAX_ARGUMENTS, call_min},
    {"max", 1, CALC_MAX_ARGUMENTS, call_max},
    {"sum", 1, CALC_MAX_ARGUMENTS, call_sum},
    {"gcd", 2, 2, call_gcd},
    {"fact", 1, 1, call_fact},
    {"root", 1, 1, call_root},
    {"clamp", 3, 3, call_clamp},
};

_Static_assert(sizeof(functions) / sizeof(functions[0]) == CALC_FUNCTION_COUNT,
               "CALC_FUNCTION_COUNT has to be the number of functions in the table");

enum calc_status functions_call(const char *name, const long *arguments, size_t count, long *value)
{
    for (size_t i = 0; i < CALC_FUNCTION_COUNT; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            if (count < functions[i].min_arguments || count > functions[i].max_arguments)
                return CALC_BAD_ARGUMENT;
            return functions[i].call(arguments, count, value);
        }
    }
    return CALC_BAD_NAME;
}
