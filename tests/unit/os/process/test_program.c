// SPDX-License-Identifier: Apache-2.0
#include "os/process/program.h"

#include "../helper.h"

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

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_program_is_found_in_a_later_folder)
{
    char list[PATH_MAX + 64];
    snprintf(list, sizeof(list), "/none:%s", folder);
    assert_true(find("tool", list));
    assert_memory_equal(found, folder, strlen(folder));
}

CASE(empty_and_relative_folders_are_skipped)
{
    assert_false(find("tool", ":.::"));
}

CASE(a_relative_name_is_taken_from_the_directory)
{
    assert_true(find("./tool", ""));
}

CASE(a_folder_is_no_program)
{
    assert_false(find("/usr/bin", "/usr"));
    assert_string_equal(reason, "/usr/bin: not an executable file");
}

CASE(without_the_variable_the_system_folders_are_searched)
{
    const char *const envp[] = {NULL};
    assert_true(program_find("sh", envp, "/", found, reason));
}

CASE(an_empty_name_is_no_program)
{
    assert_false(find("", "/usr/bin"));
}

CASE(a_name_too_long_for_a_path_is_not_found)
{
    char name[PATH_MAX + 1];
    memset(name, 'x', PATH_MAX);
    name[PATH_MAX] = '\0';
    assert_false(find(name, "/usr/bin"));
    name[0] = '/';
    assert_false(find(name, "/usr/bin"));
}

/* --- programs of the system --- */

static bool find_system(const char *path_value)
{
    char variable[PATH_MAX + 128];
    snprintf(variable, sizeof(variable), "PATH=%s", path_value);
    const char *const envp[] = {variable, NULL};
    return program_find_system("sh", envp, found, reason);
}

static void make_tool(const char *name)
{
    char path[PATH_MAX + 8];
    scratch_write(folder, name, "#!/bin/sh\n");
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(chmod(path, 0755), 0);
}

CASE(a_program_of_the_system_is_found_by_its_canonical_path)
{
    char link[PATH_MAX + 8];
    snprintf(link, sizeof(link), "%s/sh", folder);
    assert_int_equal(symlink("/bin/sh", link), 0);
    assert_true(find_system(folder));
    assert_memory_equal(found, "/usr/", 5);
}

CASE(a_program_elsewhere_is_none_of_the_system)
{
    char list[PATH_MAX + 64];
    make_tool("sh");
    snprintf(list, sizeof(list), "%s:/usr/bin:/bin", folder);
    assert_false(find_system(list));
    assert_non_null(strstr(reason, "PATH"));
}

CASE(a_link_out_of_the_system_is_followed)
{
    char list[PATH_MAX + 64];
    char link[PATH_MAX + 8];
    make_tool("other");
    snprintf(link, sizeof(link), "%s/sh", folder);
    assert_int_equal(symlink("other", link), 0);
    snprintf(list, sizeof(list), "/usr/bin/../..%s", folder);
    assert_false(find_system(list));
}

CASE(a_path_is_no_name_of_a_system_program)
{
    const char *const envp[] = {"PATH=/usr/bin", NULL};
    assert_false(program_find_system("/bin/sh", envp, found, reason));
    assert_false(program_find_system("../bin/sh", envp, found, reason));
}
