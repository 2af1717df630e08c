// SPDX-License-Identifier: Apache-2.0
#include "helper.h"
#include "os/file_folder.h"

#include "os/file_state.h"

#include <errno.h>
#include <sys/stat.h>

static char folder[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_file_is_read_whole)
{
    scratch_write(folder, "a", "some text");
    struct buf content = {0};
    buf_append_string(&content, "before ");
    assert_int_equal(file_read(in_folder("a"), 9, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "before some text");
    buf_fini(&content);
}

CASE(one_byte_past_the_limit_is_refused_and_nothing_is_appended)
{
    scratch_write(folder, "a", "some text");
    struct buf content = {0};
    struct rondo_error error;
    assert_int_equal(file_read(in_folder("a"), 8, &content, &error), RONDO_ERR_LIMIT);
    assert_int_equal(content.len, 0);
}

CASE(a_missing_file_is_not_found)
{
    struct buf content = {0};
    assert_int_equal(file_read(in_folder("none"), 8, &content, NULL), RONDO_ERR_NOT_FOUND);
}

CASE(a_fifo_is_refused_without_waiting)
{
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    struct buf content = {0};
    assert_int_equal(file_read(in_folder("fifo"), 8, &content, NULL), RONDO_ERR_INVALID);
}

CASE(a_folder_is_not_a_regular_file)
{
    struct buf content = {0};
    assert_int_equal(file_read(folder, 8, &content, NULL), RONDO_ERR_INVALID);
}

CASE(replacing_leaves_only_the_new_content_and_no_other_file)
{
    scratch_write(folder, "a", "old and longer");
    scratch_write(folder, "a", "new");
    struct buf content = {0};
    assert_int_equal(file_read(in_folder("a"), 100, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "new");
    buf_fini(&content);
    assert_int_equal(unlink(in_folder("a")), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
}

CASE(a_file_can_be_replaced_durably)
{
    struct buf content = {0};
    scratch_write(folder, "d", "old");
    assert_int_equal(file_replace_durably(in_folder("d"), "new", 3, NULL), 0);
    assert_int_equal(file_read(in_folder("d"), 9, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "new");
    buf_fini(&content);
    assert_int_equal(file_replace_durably(in_folder("none/d"), "x", 1, NULL), RONDO_ERR_NOT_FOUND);
}

CASE(a_record_can_be_replaced)
{
    struct buf content = {0};
    scratch_write(folder, "r", "old");
    assert_int_equal(file_replace_record(in_folder("r"), "new", 3, NULL), 0);
    assert_int_equal(file_read(in_folder("r"), 9, &content, NULL), 0);
    assert_string_equal(buf_string(&content), "new");
    buf_fini(&content);
    assert_int_equal(file_replace_record(in_folder("none/r"), "x", 1, NULL), RONDO_ERR_NOT_FOUND);
}

CASE(a_replaced_file_is_private)
{
    scratch_write(folder, "a", "x");
    struct stat status;
    assert_int_equal(stat(in_folder("a"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

CASE(replacing_in_a_missing_folder_is_not_found)
{
    assert_int_equal(file_replace_durably(in_folder("none/a"), "x", 1, NULL), RONDO_ERR_NOT_FOUND);
}

CASE(a_folder_is_made_with_its_parents_and_private)
{
    assert_int_equal(file_make_folder(in_folder("x/y/z"), NULL), 0);
    struct stat status;
    assert_int_equal(stat(in_folder("x/y"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
}

CASE(making_a_folder_again_is_fine)
{
    assert_int_equal(file_make_folder(in_folder("x/y/"), NULL), 0);
    assert_int_equal(file_make_folder(in_folder("x/y"), NULL), 0);
}

CASE(a_file_in_the_way_of_a_folder_is_an_error)
{
    scratch_write(folder, "x", "");
    assert_int_equal(file_make_folder(in_folder("x/y"), NULL), RONDO_ERR_INVALID);
}

CASE(a_tree_is_removed_without_following_links)
{
    assert_int_equal(file_make_folder(in_folder("tree/deep"), NULL), 0);
    assert_int_equal(file_make_folder(in_folder("kept"), NULL), 0);
    scratch_write(folder, "kept/a", "x");
    scratch_write(folder, "tree/deep/b", "x");
    char target[PATH_MAX + 256];
    snprintf(target, sizeof(target), "%s/kept", folder);
    assert_int_equal(symlink(target, in_folder("tree/deep/link")), 0);
    assert_int_equal(file_remove_tree(in_folder("tree"), NULL), 0);
    assert_false(file_exists(in_folder("tree")));
    assert_true(file_exists(in_folder("kept/a")));
}

CASE(a_tree_with_folders_made_read_only_is_removed)
{
    assert_int_equal(file_make_folder(in_folder("tree/locked"), NULL), 0);
    scratch_write(folder, "tree/locked/a", "x");
    assert_int_equal(chmod(in_folder("tree/locked"), 0), 0);
    assert_int_equal(file_remove_tree(in_folder("tree"), NULL), 0);
    assert_false(file_exists(in_folder("tree")));
}

CASE(removing_what_is_missing_is_fine)
{
    assert_int_equal(file_remove_tree(in_folder("none"), NULL), 0);
}

CASE(a_dangling_link_exists)
{
    assert_int_equal(symlink("/nowhere", in_folder("link")), 0);
    assert_true(file_exists(in_folder("link")));
}

CASE(a_state_tells_a_file_from_another_and_from_its_former_self)
{
    struct file_state first;
    struct file_state second;
    bool is_missing = true;
    scratch_write(folder, "s", "one");
    assert_int_equal(file_state_look(in_folder("s"), &first, &is_missing), 0);
    assert_false(is_missing);
    assert_int_equal(first.size, 3);
    assert_true(S_ISREG(first.mode));
    assert_int_equal(file_state_look(in_folder("s"), &second, &is_missing), 0);
    assert_true(file_state_is_untouched(&first, &second));
    assert_int_equal(truncate(in_folder("s"), 1), 0);
    assert_int_equal(file_state_look(in_folder("s"), &second, &is_missing), 0);
    assert_true(file_state_is_same_file(&first, &second));
    assert_false(file_state_is_untouched(&first, &second));
    scratch_write(folder, "s", "a new file of the same name");
    assert_int_equal(file_state_look(in_folder("s"), &second, &is_missing), 0);
    assert_false(file_state_is_same_file(&first, &second));
}

CASE(a_link_to_nowhere_is_not_a_missing_file)
{
    struct file_state ignored;
    bool is_missing = false;
    assert_int_equal(file_state_look(in_folder("none"), &ignored, &is_missing), ENOENT);
    assert_true(is_missing);
    assert_int_equal(symlink("nowhere", in_folder("link")), 0);
    assert_int_equal(file_state_look(in_folder("link"), &ignored, &is_missing), ENOENT);
    assert_false(is_missing);
}
