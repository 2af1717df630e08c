// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include "os/file_folder.h"

#include <sys/resource.h>
#include <sys/stat.h>

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder_fd >= 0);
    return 0;
}

static void assert_has(const char *name, const char *expected)
{
    struct buf content = {0};
    struct stat status;
    assert_int_equal(lstat(path_of(name), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(file_read(path_of(name), 100, &content, NULL), 0);
    assert_string_equal(buf_string(&content), expected);
    buf_fini(&content);
}

/** Make nested folders; names are relative, because their whole path is too long for a call. */
static void make_nested(const char *name, int levels, mode_t mode)
{
    assert_int_equal(mkdirat(folder_fd, name, 0700), 0);
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < levels; i++) {
        int file = openat(fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(file >= 0);
        close(file);
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(fchmod(fd, mode), 0);
        close(fd);
        fd = next;
    }
    close(fd);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_file_is_written_in_place_of_whatever_has_its_name)
{
    scratch_write(folder, "victim", "kept");
    assert_int_equal(file_folder_write(folder_fd, "a", "1", 1, NULL), 0);
    assert_has("a", "1");
    assert_int_equal(file_folder_write(folder_fd, "a", "2", 1, NULL), 0);
    assert_has("a", "2");
    assert_int_equal(unlink(path_of("a")), 0);
    assert_int_equal(symlinkat("victim", folder_fd, "a"), 0);
    assert_int_equal(file_folder_write(folder_fd, "a", "3", 1, NULL), 0);
    assert_has("a", "3");
    assert_int_equal(unlink(path_of("a")), 0);
    assert_int_equal(linkat(folder_fd, "victim", folder_fd, "a", 0), 0);
    assert_int_equal(file_folder_write(folder_fd, "a", "4", 1, NULL), 0);
    assert_has("a", "4");
    assert_int_equal(unlink(path_of("a")), 0);
    assert_int_equal(mkfifo(path_of("a"), 0600), 0);
    assert_int_equal(file_folder_write(folder_fd, "a", "5", 1, NULL), 0);
    assert_has("a", "5");
    assert_int_equal(unlink(path_of("a")), 0);
    make_nested("a", 400, 0);
    assert_int_equal(file_folder_write(folder_fd, "a", "6", 1, NULL), 0);
    assert_has("a", "6");
    assert_has("victim", "kept");
}

CASE(folders_are_removed_however_deep_they_are)
{
    static const int depths[] = {1, 32, 33, 34, 400, 5000};
    for (size_t i = 0; i < COUNT(depths); i++) {
        make_nested("tree", depths[i], 0700);
        assert_int_equal(file_folder_remove(folder_fd, "tree", NULL), 0);
        assert_false(file_exists(path_of("tree")));
    }
}

CASE(deep_folders_without_any_permission_are_removed)
{
    make_nested("tree", 400, 0);
    assert_int_equal(file_folder_remove(folder_fd, "tree", NULL), 0);
    assert_false(file_exists(path_of("tree")));
}

CASE(deep_folders_cost_few_descriptors)
{
    struct rlimit before;
    make_nested("tree", 3000, 0700);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {.rlim_cur = 64, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int code = file_folder_remove(folder_fd, "tree", NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(code, 0);
}

CASE(names_of_moved_folders_may_be_taken)
{
    make_nested("tree", 200, 0700);
    for (int i = 1; i < 5; i++) {
        char name[64], inside[72];
        snprintf(name, sizeof(name), "tree/.rondo-removed-%d", i);
        assert_int_equal(mkdirat(folder_fd, name, 0700), 0);
        snprintf(inside, sizeof(inside), "%s/x", name);
        scratch_write(folder, inside, "x");
    }
    assert_int_equal(file_folder_remove(folder_fd, "tree", NULL), 0);
    assert_false(file_exists(path_of("tree")));
}

CASE(links_are_removed_and_not_what_they_lead_to)
{
    assert_int_equal(file_make_folder(path_of("kept/sub"), NULL), 0);
    scratch_write(folder, "kept/sub/a", "x");
    assert_int_equal(mkdirat(folder_fd, "tree", 0700), 0);
    assert_int_equal(symlink("../kept", path_of("tree/link")), 0);
    assert_int_equal(symlink("kept", path_of("top")), 0);
    assert_int_equal(file_folder_remove(folder_fd, "tree", NULL), 0);
    assert_int_equal(file_folder_remove(folder_fd, "top", NULL), 0);
    assert_false(file_exists(path_of("top")));
    assert_true(file_exists(path_of("kept/sub/a")));
}

CASE(clearing_leaves_the_folder_itself)
{
    make_nested("tree", 100, 0700);
    scratch_write(folder, "a", "x");
    assert_int_equal(file_folder_clear(folder_fd, NULL), 0);
    assert_true(file_exists(folder));
    assert_false(file_exists(path_of("a")));
    assert_false(file_exists(path_of("tree")));
}

CASE(a_folder_is_made_private_and_found_again)
{
    struct stat status;
    int first = file_folder_make(folder_fd, "f", NULL);
    int second = file_folder_make(folder_fd, "f", NULL);
    assert_true(first >= 0 && second >= 0);
    assert_int_equal(fstat(first, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_true(file_folder_is_at(first, folder_fd, "f"));
    assert_true(file_folder_is_at(second, folder_fd, "f"));
    close(first);
    close(second);
}

CASE(what_is_no_folder_of_ours_is_refused)
{
    assert_int_equal(mkdirat(folder_fd, "kept", 0700), 0);
    assert_int_equal(symlink("kept", path_of("link")), 0);
    scratch_write(folder, "file", "");
    assert_int_equal(file_folder_make(folder_fd, "link", NULL), RONDO_ERR_INVALID);
    assert_int_equal(file_folder_make(folder_fd, "file", NULL), RONDO_ERR_INVALID);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_of("kept"), 12345, 12345), 0);
        assert_int_equal(file_folder_make(folder_fd, "kept", NULL), RONDO_ERR_INVALID);
    }
}

CASE(a_folder_that_was_exchanged_is_noticed)
{
    int fd = file_folder_make(folder_fd, "f", NULL);
    assert_int_equal(renameat(folder_fd, "f", folder_fd, "g"), 0);
    assert_false(file_folder_is_at(fd, folder_fd, "f"));
    assert_int_equal(symlink("g", path_of("f")), 0);
    assert_false(file_folder_is_at(fd, folder_fd, "f"));
    assert_true(file_folder_is_at(fd, folder_fd, "g"));
    close(fd);
}

CASE(folders_are_not_made_through_links_of_agents)
{
    char inside[PATH_MAX];
    char wanted[PATH_MAX + 16];
    assert_int_equal(mkdirat(folder_fd, "in", 0700), 0);
    assert_int_equal(mkdirat(folder_fd, "out", 0700), 0);
    assert_int_equal(symlinkat("../out", folder_fd, "in/link"), 0);
    snprintf(inside, sizeof(inside), "%.4000s/in", folder);
    snprintf(wanted, sizeof(wanted), "%s/a//b/c", inside);
    assert_int_equal(file_folder_make_path(inside, wanted, NULL), 0);
    assert_int_equal(file_folder_make_path(inside, wanted, NULL), 0);
    assert_true(file_exists(path_of("in/a/b/c")));
    snprintf(wanted, sizeof(wanted), "%s/link/x", inside);
    assert_int_equal(file_folder_make_path(inside, wanted, NULL), RONDO_ERR_INVALID);
    assert_false(file_exists(path_of("out/x")));
    snprintf(wanted, sizeof(wanted), "%s/../out/y", inside);
    assert_int_equal(file_folder_make_path(inside, wanted, NULL), RONDO_ERR_INVALID);
    assert_false(file_exists(path_of("out/y")));
    snprintf(wanted, sizeof(wanted), "%.4000s/else/z", folder);
    assert_int_equal(file_folder_make_path(inside, wanted, NULL), 0);
    assert_true(file_exists(wanted));
}

CASE(a_temporary_folder_is_made_where_the_user_wants_it)
{
    char *path = NULL;
    const char *before = getenv("TMPDIR");
    setenv("TMPDIR", folder, 1);
    int fd = file_folder_make_temporary(&path, NULL);
    assert_true(fd >= 0);
    assert_memory_equal(path, folder, strlen(folder));
    close(fd);
    free(path);
    setenv("TMPDIR", "relative", 1);
    fd = file_folder_make_temporary(&path, NULL);
    assert_memory_equal(path, "/tmp/rondo-", 11);
    assert_int_equal(rmdir(path), 0);
    close(fd);
    free(path);
    if (before == NULL) {
        unsetenv("TMPDIR");
    }
}
