// SPDX-License-Identifier: Apache-2.0
#include "loop/hidden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_paths(char **paths, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i] != NULL; i++) {
        assert_non_null(paths[i]);
        assert_string_equal(paths[i], expected[i]);
    }
    assert_null(paths[i]);
}

static void a_store_in_its_own_folder_is_hidden_with_the_folder(void **state)
{
    (void)state;
    auto_hidden char **paths = hidden_of_store("/srv/.rondo/rondo.db");
    assert_paths(paths, (const char *const[]){"/srv/.rondo", NULL});
}

static void a_store_elsewhere_is_hidden_with_its_policies(void **state)
{
    (void)state;
    auto_hidden char **paths = hidden_of_store("/data/not.rondo/my.db");
    assert_paths(paths,
                 (const char *const[]){"/data/not.rondo/my.db", "/data/not.rondo/my.db-wal",
                                       "/data/not.rondo/my.db-shm", "/data/not.rondo/rondo.cedar",
                                       "/data/not.rondo/rondo.entities.json",
                                       "/data/not.rondo/rondo.links.json", NULL});
}

static void a_runs_own_policies_are_hidden_too(void **state)
{
    (void)state;
    const char *const of_runtime[] = {"/a", NULL};
    auto_hidden char **paths = hidden_of_run(of_runtime, "/p/team.cedar");
    assert_paths(paths, (const char *const[]){"/a", "/p/team.cedar", "/p/team.entities.json",
                                              "/p/team.links.json", NULL});
    auto_hidden char **without = hidden_of_run(of_runtime, NULL);
    assert_paths(without, (const char *const[]){"/a", NULL});
    auto_hidden char **none = hidden_of_run(NULL, NULL);
    assert_paths(none, (const char *const[]){NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_in_its_own_folder_is_hidden_with_the_folder),
        cmocka_unit_test(a_store_elsewhere_is_hidden_with_its_policies),
        cmocka_unit_test(a_runs_own_policies_are_hidden_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
