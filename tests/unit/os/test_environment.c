// SPDX-License-Identifier: Apache-2.0
/* Variables that are taken out of an environment. */
#include "base/memory.h"
#include "os/environment.h"
#include "support/test.h"

#include <stdlib.h>

/** An environment of three, without the named ones. */
static char **without(const char *const *names)
{
    static const char *const all[] = {"GH_TOKEN=secret", "GH_TOKEN_FILE=a", "LANG=C", NULL};
    char **environment = memory_dup_list(all);
    environment_drop(environment, names);
    return environment;
}

TEST(a_variable_is_dropped_by_its_whole_name)
{
    static const char *const names[] = {"GH_TOKEN", "LAN", NULL};
    char **left = without(names);
    assert_string_equal(left[0], "GH_TOKEN_FILE=a");
    assert_string_equal(left[1], "LANG=C");
    assert_null(left[2]);
    environment_free(left);
}

TEST(no_names_drop_nothing)
{
    char **left = without(NULL);
    assert_int_equal(memory_count_list((const char *const *)left), 3);
    environment_free(left);
}

TEST(all_of_them_can_be_dropped)
{
    static const char *const names[] = {"LANG", "GH_TOKEN_FILE", "GH_TOKEN", NULL};
    char **left = without(names);
    assert_null(left[0]);
    environment_free(left);
}

TEST(a_variable_is_found_by_its_whole_name)
{
    static const char *const environment[] = {"GH_TOKEN_FILE=a", "GH_TOKEN=b=c", "LANG=", NULL};
    assert_string_equal(environment_find(environment, "GH_TOKEN"), "b=c");
    assert_string_equal(environment_find(environment, "LANG"), "");
    assert_null(environment_find(environment, "GH"));
    assert_null(environment_find(environment, "GH_TOKEN_FILE=a"));
    assert_string_equal(environment_find(NULL, "PATH"), getenv("PATH"));
}
