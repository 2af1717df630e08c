// SPDX-License-Identifier: Apache-2.0
#define TEST_RUN_IMPLEMENTATION
#include "support/test.h"

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

int test_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    size_t count = (size_t)(__stop_test_rows - __start_test_rows);
    const struct test_row **rows = calloc(count, sizeof(const struct test_row *));
    struct CMUnitTest *tests = calloc(count, sizeof(*tests));
    if (rows == NULL || tests == NULL) {
        abort();
    }
    memcpy(rows, __start_test_rows, count * sizeof(const struct test_row *));
    qsort(rows, count, sizeof(const struct test_row *), compare_rows);
    for (size_t i = 0; i < count; i++) {
        tests[i] = rows[i]->test;
    }
    int failed = _cmocka_run_group_tests("tests", tests, count, set_up, tear_down);
    free(rows);
    free(tests);
    return failed;
}
