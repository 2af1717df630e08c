// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "calculator": the value of one expression, by recursive descent. Numbers are those of
 * IEEE 754 with 53 bits, and said so where a whole number would need more.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <ctype.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    USUAL_LENGTH = 1000,
    MOST_LENGTH = 10000,
    MOST_DEPTH = 100,    /**< parentheses and signs inside of each other */
    MOST_ARGUMENTS = 32, /**< of min() and max() */
    MOST_FACTORIAL = 170,
};

/** Whole numbers up to here are exact. */
#define EXACT 9007199254740992.0

struct calculation {
    const char *at;
    int depth;
    char problem[128]; /**< the first one; "" = none */
};

static double expression(struct calculation *self);

static double fail(struct calculation *self, const char *format, const char *text, int len)
    __attribute__((format(printf, 2, 0)));

static double fail(struct calculation *self, const char *format, const char *text, int len)
{
    if (self->problem[0] == '\0') {
        snprintf(self->problem, sizeof(self->problem), format, len, text);
    }
    self->at += strlen(self->at);
    return 0;
}

static void skip_blanks(struct calculation *self)
{
    self->at += strspn(self->at, " \t\r\n");
}

/** Take a sign or a word of signs when it is next. */
static bool take(struct calculation *self, const char *sign)
{
    skip_blanks(self);
    bool is_next = strncmp(self->at, sign, strlen(sign)) == 0;
    self->at += is_next ? strlen(sign) : 0;
    return is_next;
}

/* ---- Functions ------------------------------------------------------------------------------ */

struct arguments {
    double items[MOST_ARGUMENTS];
    size_t count;
};

static double factorial(const struct arguments *given)
{
    double n = given->items[0];
    double product = 1;
    if (n < 0 || n != floor(n) || n > MOST_FACTORIAL) {
        return NAN;
    }
    for (int i = 2; i <= (int)n; i++) {
        product *= i;
    }
    return product;
}

/** To the nearest, halves to the even one, as Python does. */
static double round_to(const struct arguments *given)
{
    double scale = given->count > 1 ? pow(10, trunc(given->items[1])) : 1;
    return nearbyint(given->items[0] * scale) / scale;
}

static double log_of(const struct arguments *given)
{
    return given->count > 1 ? log(given->items[0]) / log(given->items[1]) : log(given->items[0]);
}

static double least(const struct arguments *given)
{
    double value = given->items[0];
    for (size_t i = 1; i < given->count; i++) {
        value = given->items[i] < value ? given->items[i] : value;
    }
    return value;
}

static double greatest(const struct arguments *given)
{
    double value = given->items[0];
    for (size_t i = 1; i < given->count; i++) {
        value = given->items[i] > value ? given->items[i] : value;
    }
    return value;
}

static double sum(const struct arguments *given)
{
    double value = 0;
    for (size_t i = 0; i < given->count; i++) {
        value += given->items[i];
    }
    return value;
}

static double power(const struct arguments *given)
{
    return pow(given->items[0], given->items[1]);
}

#define PLAIN(name)                                          \
    static double call_##name(const struct arguments *given) \
    {                                                        \
        return name(given->items[0]);                        \
    }
PLAIN(sqrt)
PLAIN(cbrt)
PLAIN(exp)
PLAIN(log2)
PLAIN(log10)
PLAIN(sin)
PLAIN(cos)
PLAIN(tan)
PLAIN(asin)
PLAIN(acos)
PLAIN(atan)
PLAIN(sinh)
PLAIN(cosh)
PLAIN(tanh)
PLAIN(floor)
PLAIN(ceil)
PLAIN(trunc)
PLAIN(fabs)
#undef PLAIN

static double degrees(const struct arguments *given)
{
    return given->items[0] * 180 / M_PI;
}

static double radians(const struct arguments *given)
{
    return given->items[0] * M_PI / 180;
}

static double arc(const struct arguments *given)
{
    return atan2(given->items[0], given->items[1]);
}

static double hypotenuse(const struct arguments *given)
{
    return hypot(given->items[0], given->items[1]);
}

static const struct {
    const char *name;
    size_t least, most; /**< arguments */
    double (*call)(const struct arguments *given);
} functions[] = {
    {"abs", 1, 1, call_fabs},
    {"acos", 1, 1, call_acos},
    {"asin", 1, 1, call_asin},
    {"atan", 1, 1, call_atan},
    {"atan2", 2, 2, arc},
    {"cbrt", 1, 1, call_cbrt},
    {"ceil", 1, 1, call_ceil},
    {"cos", 1, 1, call_cos},
    {"cosh", 1, 1, call_cosh},
    {"degrees", 1, 1, degrees},
    {"exp", 1, 1, call_exp},
    {"factorial", 1, 1, factorial},
    {"floor", 1, 1, call_floor},
    {"hypot", 2, 2, hypotenuse},
    {"log", 1, 2, log_of},
    {"log10", 1, 1, call_log10},
    {"log2", 1, 1, call_log2},
    {"max", 1, MOST_ARGUMENTS, greatest},
    {"min", 1, MOST_ARGUMENTS, least},
    {"pow", 2, 2, power},
    {"radians", 1, 1, radians},
    {"round", 1, 2, round_to},
    {"sin", 1, 1, call_sin},
    {"sinh", 1, 1, call_sinh},
    {"sqrt", 1, 1, call_sqrt},
    {"sum", 1, MOST_ARGUMENTS, sum},
    {"tan", 1, 1, call_tan},
    {"tanh", 1, 1, call_tanh},
    {"trunc", 1, 1, call_trunc},
};

static const struct {
    const char *name;
    double value;
} constants[] = {{"e", M_E}, {"pi", M_PI}, {"tau", 2 * M_PI}};

static bool is_name(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && strncmp(name, text, len) == 0;
}

static double call_function(struct calculation *self, const char *name, size_t len)
{
    struct arguments given = {0};
    do {
        double value = expression(self);
        if (given.count == MOST_ARGUMENTS) {
            return fail(self, "too many arguments of %.*s()", name, (int)len);
        }
        given.items[given.count++] = value;
    } while (take(self, ","));
    if (!take(self, ")")) {
        return fail(self, "no ')' after the arguments of %.*s", name, (int)len);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (is_name(functions[i].name, name, len)) {
            return given.count < functions[i].least || given.count > functions[i].most
                       ? fail(self, "%.*s() takes another number of arguments", name, (int)len)
                       : functions[i].call(&given);
        }
    }
    return fail(self, "there is no function %.*s()", name, (int)len);
}

static double named(struct calculation *self)
{
    const char *name = self->at;
    size_t len = 0;
    while (isalnum((unsigned char)name[len]) || name[len] == '_') {
        len++;
    }
    int shown = len > 40 ? 40 : (int)len;
    self->at += len;
    if (take(self, "(")) {
        return call_function(self, name, (size_t)shown);
    }
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (is_name(constants[i].name, name, len)) {
            return constants[i].value;
        }
    }
    return fail(self, "there is nothing of the name %.*s", name, shown);
}

/* ---- Operators ------------------------------------------------------------------------------ */

static double number(struct calculation *self)
{
    char *end = NULL;
    double value = strtod(self->at, &end); /* LC_NUMERIC is always that of C. */
    if (end == self->at) {
        return fail(self, "'%.*s' is no number", self->at, 10);
    }
    self->at = end;
    return value;
}

static double atom(struct calculation *self)
{
    skip_blanks(self);
    if (take(self, "(")) {
        double value = expression(self);
        return take(self, ")") ? value : fail(self, "%.*s", "a ')' is missing", 40);
    }
    unsigned char next = (unsigned char)*self->at;
    if (isdigit(next) || next == '.') {
        return number(self);
    }
    if (isalpha(next)) {
        return named(self);
    }
    return next == '\0' ? fail(self, "%.*s", "the expression ends too early", 40)
                        : fail(self, "'%.*s' is not expected here", self->at, 10);
}

static double signed_value(struct calculation *self);

/** Powers bind from the right, and stronger than a sign before them. */
static double powers(struct calculation *self)
{
    double value = atom(self);
    if (take(self, "**") || take(self, "^")) {
        value = pow(value, signed_value(self));
    }
    return value;
}

static double signed_value(struct calculation *self)
{
    if (++self->depth > MOST_DEPTH) {
        return fail(self, "%.*s", "the expression is nested too deeply", 40);
    }
    double value = take(self, "-")   ? -signed_value(self)
                   : take(self, "+") ? signed_value(self)
                                     : powers(self);
    self->depth--;
    return value;
}

/** The remainder has the sign of the divisor, as in Python. */
static double remainder_of(double value, double by)
{
    double rest = fmod(value, by);
    return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
}

static double divide(struct calculation *self, double value, double by, char sign)
{
    if (by == 0) {
        return fail(self, "%.*s", "division by zero", 40);
    }
    return sign == '%' ? remainder_of(value, by) : sign == 'i' ? floor(value / by) : value / by;
}

static double product(struct calculation *self)
{
    double value = signed_value(self);
    for (;;) {
        if (take(self, "*")) {
            value *= signed_value(self);
        } else if (take(self, "//")) {
            value = divide(self, value, signed_value(self), 'i');
        } else if (take(self, "/")) {
            value = divide(self, value, signed_value(self), '/');
        } else if (take(self, "%")) {
            value = divide(self, value, signed_value(self), '%');
        } else {
            return value;
        }
    }
}

static double expression(struct calculation *self)
{
    double value = product(self);
    for (;;) {
        if (take(self, "+")) {
            value += product(self);
        } else if (take(self, "-")) {
            value -= product(self);
        } else {
            return value;
        }
    }
}

/* ---- The tool ------------------------------------------------------------------------------- */

static void write_value(double value, struct buf *ret_text)
{
    char text[40];
    if (value == floor(value) && fabs(value) <= EXACT) {
        snprintf(text, sizeof(text), "%.0f", value == 0 ? 0 : value);
    } else {
        snprintf(text, sizeof(text), "%.15g", value);
        if (strtod(text, NULL) != value) {
            snprintf(text, sizeof(text), "%.17g", value);
        }
    }
    buf_append_string(ret_text, text);
    if (value == floor(value) && fabs(value) > EXACT) {
        buf_append_string(ret_text, " (rounded: more than 53 bits)");
    }
}

static void run_calculate(const struct tool *tool, const struct tool_call *call,
                          struct tool_result *ret_result)
{
    const size_t *most = tool->context;
    struct calculation self = {.at = json_get_string(call->arguments, "expression", "")};
    if (strlen(self.at) > *most) {
        tool_fail(ret_result, "Error: the expression is longer than %zu characters", *most);
        return;
    }
    double value = expression(&self);
    skip_blanks(&self);
    if (self.problem[0] == '\0' && *self.at != '\0') {
        fail(&self, "'%.*s' is not expected here", self.at, 10);
    }
    if (self.problem[0] != '\0') {
        tool_fail(ret_result, "Error: %s", self.problem);
    } else if (!isfinite(value)) {
        tool_fail(ret_result, "Error: the result is not a finite number");
    } else {
        write_value(value, &ret_result->text);
    }
}

static const struct tool_function calculate_function = {
    .name = "calculate",
    .description =
        "Compute an expression: numbers, + - * / // % **, parentheses, pi, e, tau, and functions "
        "such as sqrt, round, min, max, log, exp, sin, factorial.",
    .schema = "{\"type\":\"object\",\"properties\":{\"expression\":{\"type\":\"string\","
              "\"description\":\"The expression, such as (3 + 4) * 2\"}},"
              "\"required\":[\"expression\"],\"additionalProperties\":false}",
    .run = run_calculate,
    .is_pure = true,
    .is_idempotent = true,
    .is_concurrent = true,
    .is_read_only = true,
};

static int open_calculator(struct toolbox *toolbox, struct json_object *config,
                           struct rondo_error *err)
{
    size_t *most = memory_new_zero(1, sizeof(*most));
    int64_t given = json_get_int(config, "max_expression_length", USUAL_LENGTH);
    *most = given < 1 ? USUAL_LENGTH : given > MOST_LENGTH ? MOST_LENGTH : (size_t)given;
    toolbox_own(toolbox, most, free);
    return toolbox_add_function(toolbox, calculator_tool_type.name, &calculate_function, most, err);
}

const struct tool_type calculator_tool_type = {.name = "calculator", .open = open_calculator};
