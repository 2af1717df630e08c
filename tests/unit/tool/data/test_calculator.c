// SPDX-License-Identifier: Apache-2.0
/* Expressions: values, order, functions, and what is refused. */
#include "../tool_world.h"

static void expect(struct tool_world *world, const char *expression, const char *expected)
{
    struct buf call = {0};
    buf_printf(&call, "{\"expression\":\"%s\"}", expression);
    world_expect(world, "calculate", buf_string(&call), expected);
    buf_fini(&call);
}

static void expect_error(struct tool_world *world, const char *expression, const char *expected)
{
    struct buf call = {0};
    buf_printf(&call, "{\"expression\":\"%s\"}", expression);
    world_expect_error(world, "calculate", buf_string(&call), expected);
    buf_fini(&call);
}

WORLD_TEST(operators_have_the_order_of_python)
{
    world_open(*state, "{\"type\":\"calculator\"}");
    static const struct {
        const char *expression;
        const char *value;
    } cases[] = {
        {"1 + 2 * 3", "7"},  {"(1 + 2) * 3", "9"},   {"7 / 2", "3.5"},
        {"7 // 2", "3"},     {"-7 // 2", "-4"},      {"-7 % 3", "2"},
        {"7 % -3", "-2"},    {"2 ** 3 ** 2", "512"}, {"-2 ** 2", "-4"},
        {"2 ** -1", "0.5"},  {"2^10", "1024"},       {"- - 3", "3"},
        {"1.5e3", "1500"},   {".5 + 0.25", "0.75"},  {"0.1 + 0.2", "0.30000000000000004"},
        {"10 - 3 - 2", "5"}, {"100 / 10 / 2", "5"},  {"0 * -1", "0"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect(*state, cases[i].expression, cases[i].value);
    }
}

WORLD_TEST(functions_and_constants_are_known)
{
    world_open(*state, "{\"type\":\"calculator\"}");
    expect(*state, "sqrt(16) + abs(-2)", "6");
    expect(*state, "round(2.5) + round(3.5)", "6");
    expect(*state, "round(3.14159, 2)", "3.14");
    expect(*state, "max(1, 5, 3) - min(4, 2)", "3");
    expect(*state, "log(8, 2) + log10(1000) + log2(8)", "9");
    expect(*state, "factorial(5)", "120");
    expect(*state, "sum(1, 2, 3)", "6");
    expect(*state, "floor(cos(0)) + trunc(2.9) + ceil(1.1)", "5");
    expect(*state, "round(degrees(pi), 6)", "180");
    expect(*state, "hypot(3, 4) + pow(2, 3)", "13");
}

WORLD_TEST(what_is_wrong_is_said)
{
    world_open(*state, "{\"type\":\"calculator\"}");
    expect_error(*state, "", "Error: the expression ends too early");
    expect_error(*state, "1 +", "Error: the expression ends too early");
    expect_error(*state, "(1", "Error: a ')' is missing");
    expect_error(*state, "1 2", "Error: '2' is not expected here");
    expect_error(*state, "1 / 0", "Error: division by zero");
    expect_error(*state, "1 % 0", "Error: division by zero");
    expect_error(*state, "open(1)", "Error: there is no function open()");
    expect_error(*state, "sqrt(1, 2)", "Error: sqrt() takes another number of arguments");
    expect_error(*state, "sqrt(-1)", "Error: the result is not a finite number");
    expect_error(*state, "10 ** 400", "Error: the result is not a finite number");
    expect_error(*state, "__import__", "Error: '__import__' is not expected here");
    expect_error(*state, "x + 1", "Error: there is nothing of the name x");
    expect_error(*state, "factorial(171)", "Error: the result is not a finite number");
}

WORLD_TEST(a_whole_number_that_is_rounded_says_so)
{
    world_open(*state, "{\"type\":\"calculator\"}");
    expect(*state, "2 ** 53", "9007199254740992");
    expect(*state, "2 ** 54", "18014398509481984 (rounded: more than 53 bits)");
}

WORLD_TEST(length_and_depth_have_a_limit)
{
    struct buf deep = {0};
    world_open(*state, "{\"type\":\"calculator\",\"max_expression_length\":5}");
    expect(*state, "1+2+3", "6");
    expect_error(*state, "1+2+3 ", "Error: the expression is longer than 5 characters");
    toolbox_free(((struct tool_world *)*state)->toolbox);
    ((struct tool_world *)*state)->toolbox = NULL;
    world_open(*state, "{\"type\":\"calculator\"}");
    for (size_t i = 0; i < 99; i++) {
        buf_append_string(&deep, "-");
    }
    buf_append_string(&deep, "1");
    expect(*state, buf_string(&deep), "-1");
    buf_clear(&deep);
    for (size_t i = 0; i < 400; i++) {
        buf_append_string(&deep, "(");
    }
    expect_error(*state, buf_string(&deep), "Error: the expression is nested too deeply");
    buf_fini(&deep);
}
