// SPDX-License-Identifier: Apache-2.0
#include "git/index_file.h"
#include "git_scene.h"

#include <unistd.h>

static int read_index(struct git_index *ret_index)
{
    return git_index_read(scene_repository, scene_path("repo/.git/index"), ret_index, &scene_err);
}

SCENE(entries_have_what_the_files_have)
{
    struct git_index index;
    struct stat status;
    shell("cd repo && mkdir folder.x && echo x >folder.x/c && ln -s a folder-link && git add -A");
    assert_ok(read_index(&index));
    assert_int_equal(index.count, 5);
    assert_int_equal(lstat(scene_path("repo/folder/b"), &status), 0);
    const struct git_index_entry *entry = git_index_find(&index, "folder/b");
    assert_non_null(entry);
    assert_int_equal(entry->inode, (uint32_t)status.st_ino);
    assert_int_equal(entry->size, 4);
    assert_int_equal(entry->mode, 0100644);
    assert_int_equal(entry->modified_ns,
                     (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec);
    assert_int_equal(git_index_find(&index, "folder-link")->mode, 0120000);
    assert_null(git_index_find(&index, "folder"));
    assert_null(git_index_find(&index, "z"));
    assert_true(git_index_has_folder(&index, "folder"));
    assert_true(git_index_has_folder(&index, "folder.x"));
    assert_false(git_index_has_folder(&index, "folder-link"));
    assert_false(git_index_has_folder(&index, "fold"));
    git_index_fini(&index);
}

SCENE(other_forms_are_refused)
{
    static const char *const forms[] = {
        "git update-index --index-version 4",
        "git update-index --split-index",
        "git update-index --skip-worktree a",
        "git update-index --assume-unchanged a",
        "rm .git/index",
        "head -c 20 /dev/urandom >.git/index",
        ": >.git/index",
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct git_index index;
        shell("cd repo && cp .git/index ../kept && { %s; }", forms[i]);
        assert_int_not_equal(read_index(&index), 0);
        shell("cp kept repo/.git/index");
    }
}

SCENE(an_index_that_was_cut_off_is_refused_or_has_all_entries)
{
    struct git_index index;
    struct buf whole = {0};
    assert_ok(file_read(scene_path("repo/.git/index"), 1 << 20, &whole, &scene_err));
    for (size_t len = 0; len < whole.len; len++) {
        assert_int_equal(truncate(scene_path("repo/.git/index"), (off_t)len), 0);
        if (read_index(&index) == 0) {
            assert_int_equal(index.count, 3); /* Only an extension was cut. */
            git_index_fini(&index);
        }
        int fd = open(scene_path("repo/.git/index"), O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, whole.data, whole.len), whole.len);
        close(fd);
    }
    assert_ok(read_index(&index));
    git_index_fini(&index);
    buf_fini(&whole);
}
