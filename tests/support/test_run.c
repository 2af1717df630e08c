// SPDX-License-Identifier: Apache-2.0
#define TEST_RUN_IMPLEMENTATION
#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Made by the linker: where the section begins and ends. */
extern const struct test_row *const __start_test_rows[];
extern const struct test_row *const __stop_test_rows[];

static int compare_rows(const void *left, const void *right)
{
    const struct test_row *a = *(const struct test_row *const *)left;
    const struct test_row *b = *(const struct test_row *const *)right;
    int order = strcmp(a->file, b->file);
    if (order == 0) {
        order = a->line - b->line;
    }
    return order != 0 ? order : strcmp(a->test.name, b->test.name);
}

static bool is_of(const struct test_row *row, const char *source)
{
    size_t all = strlen(row->source);
    size_t wanted = source == NULL ? 0 : strlen(source);
    return wanted == 0 || (wanted <= all && strcmp(row->source + all - wanted, source) == 0);
}

static int run(const char *source, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    size_t room = (size_t)(__stop_test_rows - __start_test_rows);
    const struct test_row **rows = calloc(room, sizeof(const struct test_row *));
    struct CMUnitTest *tests = calloc(room, sizeof(*tests));
    if (rows == NULL || tests == NULL) {
        abort();
    }
    size_t count = 0;
    for (size_t i = 0; i < room; i++) {
        if (is_of(__start_test_rows[i], source)) {
            rows[count++] = __start_test_rows[i];
        }
    }
    qsort(rows, count, sizeof(const struct test_row *), compare_rows);
    for (size_t i = 0; i < count; i++) {
        tests[i] = rows[i]->test;
    }
    int failed = 1;
    if (count > 0) {
        failed = _cmocka_run_group_tests("tests", tests, count, set_up, tear_down);
    } else {
        fprintf(stderr, "no test in %s\n", source == NULL ? "this program" : source);
    }
    free(rows);
    free(tests);
    return failed;
}

int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    return run(NULL, set_up, tear_down);
}

int test_run_source(const char *source)
{
    return run(source, NULL, NULL);
}
