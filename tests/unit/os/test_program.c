// SPDX-License-Identifier: Apache-2.0
#include "os/program.h"

#include "helper.h"

#include <sys/stat.h>

static char folder[PATH_MAX];
static char found[PATH_MAX];
static char reason[256];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    scratch_write(folder, "tool", "#!/bin/sh\n");
    char path[PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s/tool", folder);
    return chmod(path, 0755);
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static bool find(const char *name, const char *path_value)
{
    char variable[PATH_MAX + 128];
    snprintf(variable, sizeof(variable), "PATH=%s", path_value);
    const char *const envp[] = {"PATHS=/none", variable, NULL};
    return program_find(name, envp, folder, found, reason);
}

static void a_program_is_found_in_a_later_folder(void **state)
{
    (void)state;
    char list[PATH_MAX + 64];
    snprintf(list, sizeof(list), "/none:%s", folder);
    assert_true(find("tool", list));
    assert_memory_equal(found, folder, strlen(folder));
}

static void empty_and_relative_folders_are_skipped(void **state)
{
    (void)state;
    assert_false(find("tool", ":.::"));
}

static void a_relative_name_is_taken_from_the_directory(void **state)
{
    (void)state;
    assert_true(find("./tool", ""));
}

static void a_folder_is_no_program(void **state)
{
    (void)state;
    assert_false(find("/usr/bin", "/usr"));
    assert_string_equal(reason, "/usr/bin: not an executable file");
}

static void without_the_variable_the_system_folders_are_searched(void **state)
{
    (void)state;
    const char *const envp[] = {NULL};
    assert_true(program_find("sh", envp, "/", found, reason));
}

static void an_empty_name_is_no_program(void **state)
{
    (void)state;
    assert_false(find("", "/usr/bin"));
}

static void a_name_too_long_for_a_path_is_not_found(void **state)
{
    (void)state;
    char name[PATH_MAX + 1];
    memset(name, 'x', PATH_MAX);
    name[PATH_MAX] = '\0';
    assert_false(find(name, "/usr/bin"));
    name[0] = '/';
    assert_false(find(name, "/usr/bin"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_is_found_in_a_later_folder),
        TEST(empty_and_relative_folders_are_skipped),
        TEST(a_relative_name_is_taken_from_the_directory),
        TEST(a_folder_is_no_program),
        TEST(without_the_variable_the_system_folders_are_searched),
        TEST(an_empty_name_is_no_program),
        TEST(a_name_too_long_for_a_path_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
