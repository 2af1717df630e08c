// SPDX-License-Identifier: Apache-2.0
/*
 * cmocka, and tests that enter themselves into their program's list:
 *
 *     TEST(an_empty_text_is_no_number)
 *     {
 *         assert_false(is_number(""));
 *     }
 *
 * They run in the order of the file. A program has a main() of its own only if it must do something
 * before; it calls test_run() then.
 */
#pragma once

/* cmocka needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifndef TEST_RUN_IMPLEMENTATION
/* A group that a main() lists by hand would leave out what TEST() has entered. */
#pragma GCC poison _cmocka_run_group_tests
#endif

/** Elements of an array. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** An entry of the list; compilers may lay entries out in any order. */
struct test_row {
    const char *source; /* what was compiled; `file` may be a header of it */
    const char *file;
    int line;
    struct CMUnitTest test;
};

/** Enter a test. @param id what makes the row unique; the rest as in struct CMUnitTest */
#define TEST_ROW(id, ...)                                                      \
    static const struct test_row *const test_row_##id                          \
        __attribute__((used, section("test_rows"))) = &(const struct test_row) \
    {                                                                          \
        __BASE_FILE__, __FILE__, __LINE__,                                     \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

/** The head of a test function. */
#define TEST_FUNCTION(name) static void name(__attribute__((unused)) void **state)

/** Head of a test with its own set-up and tear-down; either may be NULL. */
#define TEST_WITH(name, set_up, tear_down)                \
    TEST_FUNCTION(name);                                  \
    TEST_ROW(name, #name, name, set_up, tear_down, NULL); \
    TEST_FUNCTION(name)

/** Head of a test without them. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/**
 * Run every test of the program.
 * @param set_up, tear_down of the whole, or NULL
 * @return number of failures
 */
int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/**
 * Run the tests of one source file of the program.
 * @param source the end of its path ("unit/base/test_parse.c"); NULL: all files
 * @return number of failures; 1 if there is no such test
 */
int test_run_source(const char *source);
