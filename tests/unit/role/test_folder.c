// SPDX-License-Identifier: Apache-2.0
/* The role files of a folder. */
#include "role/folder.h"

#include "base/memory.h"
#include "os/file_folder.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(role_files_are_known_by_their_names)
{
    assert_true(role_folder_has("a.yaml"));
    assert_true(role_folder_has("a.yml"));
    assert_false(role_folder_has(".yaml"));
    assert_false(role_folder_has(".hidden.yaml"));
    assert_false(role_folder_has("a.yaml~"));
    assert_false(role_folder_has("SKILL.md"));
}

TEST(the_role_files_of_a_folder_are_listed_by_name_without_folders)
{
    char *folder = NULL;
    char **paths = NULL;
    char expected[512];
    int fd = file_folder_make_temporary(&folder, NULL);
    assert_true(fd >= 0);
    close(openat(fd, "b.yml", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    close(openat(fd, "a.yaml", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    close(openat(fd, "c.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(mkdirat(fd, "d.yaml", 0700), 0);
    assert_int_equal(role_folder_list(folder, &paths, NULL), 0);
    snprintf(expected, sizeof(expected), "%s/a.yaml", folder);
    assert_string_equal(paths[0], expected);
    snprintf(expected, sizeof(expected), "%s/b.yml", folder);
    assert_string_equal(paths[1], expected);
    assert_null(paths[2]);
    memory_free_list(paths);
    close(fd);
    file_folder_remove(AT_FDCWD, folder, NULL);
    free(folder);
}

TEST(a_folder_that_cannot_be_read_is_an_error)
{
    char **paths = NULL;
    struct rondo_error err = {0};
    assert_true(role_folder_list("/nowhere", &paths, &err) < 0);
    assert_non_null(strstr(err.message, "/nowhere"));
    assert_false(role_folder_is("/nowhere"));
}
