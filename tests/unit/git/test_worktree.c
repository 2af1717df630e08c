// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "git_scene.h"

static size_t count_ours(void)
{
    struct git_worktree_list list;
    assert_ok(git_worktree_list(scene_repository, "rondo run-1 ", &list, &scene_err));
    size_t count = list.count;
    git_worktree_list_fini(&list);
    return count;
}

SCENE(a_working_tree_is_locked_detached_and_has_the_files)
{
    struct git_worktree_list list;
    assert_ok(scene_add_tree());
    assert_true(scene_has("tree/folder/b"));
    assert_ok(git_worktree_list(scene_repository, NULL, &list, &scene_err));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].path, scene_path("tree"));
    assert_string_equal(list.items[0].lock_reason, "rondo run-1 task-1 7");
    assert_string_equal(list.items[0].head, scene_head());
    git_worktree_list_fini(&list);
    /* git itself agrees. */
    assert_string_equal(shell_line("cd repo && git worktree list --porcelain | grep ^locked"),
                        "locked rondo run-1 task-1 7");
    shell("cd tree && test -z \"$(git status --porcelain)\"");
}

SCENE(a_second_one_at_the_same_path_is_refused)
{
    assert_ok(scene_add_tree());
    assert_int_equal(scene_add_tree(), RONDO_ERR_STATE);
    shell("rm -rf tree");
    assert_int_equal(scene_add_tree(), RONDO_ERR_STATE);
    assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
    assert_ok(scene_add_tree());
}

SCENE(one_is_added_while_another_git_has_just_begun_one)
{
    shell("cd repo && mkdir -p .git/worktrees/other && cp .git/HEAD .git/worktrees/other/ && "
          "echo /nowhere/.git >.git/worktrees/other/gitdir && : >.git/worktrees/other/commondir");
    /* git alone refuses, and so does it for a while here. */
    shell(
        "cd repo && ! git worktree add -q --detach ../else 2>../said && grep -q commondir ../said");
    shell("(sleep 0.5; echo ../.. >repo/.git/worktrees/other/commondir) >later 2>&1 & true");
    assert_ok(scene_add_tree());
    assert_true(scene_has("tree/folder/b"));
}

SCENE(hooks_do_not_run_when_one_is_added)
{
    shell("printf '#!/bin/sh\\ntouch %s\\n' >repo/.git/hooks/post-checkout && "
          "cp repo/.git/hooks/post-checkout repo/.git/hooks/reference-transaction && "
          "chmod +x repo/.git/hooks/*",
          scene_path("marker"));
    assert_ok(scene_add_tree());
    assert_false(scene_has("marker"));
}

SCENE(removing_works_from_every_state_that_a_kill_leaves)
{
    static const char *const damages[] = {
        "true",
        "rm -rf tree",
        "rm tree/.git",
        "rm -rf repo/.git/worktrees/tree",
        "rm repo/.git/worktrees/tree/locked repo/.git/worktrees/tree/index",
        "echo gitdir: /nonexistent >tree/.git",
        "rm tree/.git && mkdir -p tree/.git/objects tree/.git/refs && echo x >tree/.git/config",
        "mkdir -p tree/deep/er && touch tree/deep/er/f && chmod 0 tree/deep/er tree/deep",
        "touch repo/.git/worktrees/tree/index.lock",
    };
    for (size_t i = 0; i < COUNT(damages); i++) {
        assert_ok(scene_add_tree());
        shell("%s", damages[i]);
        assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
        assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
        assert_false(scene_has("tree"));
        assert_int_equal(count_ours(), 0);
        shell("cd repo && test \"$(git worktree list | wc -l)\" = 1 && "
              "test -z \"$(ls .git/worktrees 2>/dev/null)\"");
    }
}

SCENE(a_link_in_place_of_the_folder_is_removed_and_not_followed)
{
    assert_ok(scene_add_tree());
    shell("mkdir victim && touch victim/kept && rm -rf tree && ln -s victim tree");
    assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
    assert_false(scene_has("tree"));
    assert_true(scene_has("victim/kept"));
}

SCENE(only_those_with_the_prefix_are_listed)
{
    shell("cd repo && git worktree add -q --lock --reason 'mine' ../other && "
          "git worktree add -q ../third");
    assert_int_equal(count_ours(), 0);
    assert_ok(scene_add_tree());
    assert_int_equal(count_ours(), 1);
    assert_ok(git_worktree_remove(scene_repository, scene_path("tree"), &scene_err));
    assert_true(scene_has("other/a"));
    assert_true(scene_has("repo/.git/worktrees/other"));
}

SCENE(a_branch_is_found_where_it_is_checked_out)
{
    char *path = NULL;
    shell("cd repo && git worktree add -q -b second ../other");
    assert_ok(git_worktree_of_branch(scene_repository, "main", NULL, &path, &scene_err));
    assert_string_equal(path, scene_path("repo"));
    free(path);
    assert_ok(git_worktree_of_branch(scene_repository, "second", NULL, &path, &scene_err));
    assert_string_equal(path, scene_path("other"));
    free(path);
    assert_ok(git_worktree_of_branch(scene_repository, "third", NULL, &path, &scene_err));
    assert_null(path);
}

SCENE(working_trees_below_a_folder_of_ours_do_not_count_as_a_persons)
{
    char *path = NULL;
    shell("cd repo && git worktree add -q -b second ../ours/other");
    assert_ok(
        git_worktree_of_branch(scene_repository, "second", scene_path("ours"), &path, &scene_err));
    assert_null(path);
    assert_ok(
        git_worktree_of_branch(scene_repository, "main", scene_path("ours"), &path, &scene_err));
    assert_string_equal(path, scene_path("repo"));
    free(path);
}

SCENE(records_that_a_killed_git_has_begun_are_removed_by_their_lock)
{
    static const char *const names[] = {"ours", NULL};
    assert_ok(scene_add_tree());
    shell("cd repo/.git/worktrees && mkdir torn other ours ours12 ourselves && "
          "echo 'mine: task' >torn/locked && echo 'yours: task' >other/locked");
    assert_ok(git_worktree_remove_torn(scene_repository, "mine:", names, &scene_err));
    assert_false(scene_has("repo/.git/worktrees/torn"));
    assert_false(scene_has("repo/.git/worktrees/ours"));
    assert_false(scene_has("repo/.git/worktrees/ours12"));
    assert_true(scene_has("repo/.git/worktrees/other"));
    assert_true(scene_has("repo/.git/worktrees/ourselves"));
    assert_true(scene_has("repo/.git/worktrees/tree"));
}

SCENE(an_index_of_the_tree_is_kept_with_its_time)
{
    struct stat ours;
    struct stat theirs;
    assert_ok(scene_add_tree());
    assert_int_equal(stat(scene_path("index"), &ours), 0);
    assert_int_equal(stat(scene_path("repo/.git/worktrees/tree/index"), &theirs), 0);
    assert_int_equal(ours.st_mtim.tv_sec, theirs.st_mtim.tv_sec);
    assert_int_equal(ours.st_mtim.tv_nsec, theirs.st_mtim.tv_nsec);
    assert_int_equal(ours.st_mode & 0777, 0600);
}

static void make_records(int i)
{
    char path[PATH_MAX + 300];
    char file[PATH_MAX + 320];
    snprintf(path, sizeof(path), "%s/r%d", scene_path("repo/.git/worktrees"), i);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(file, sizeof(file), "%s/gitdir", path);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "/nowhere/.git\n", 14), 14);
    close(fd);
}

SCENE(more_working_trees_than_the_limit_are_an_error)
{
    struct git_worktree_list list = {0};
    shell("mkdir repo/.git/worktrees");
    for (int i = 0; i < LIMIT_GIT_WORKTREES; i++) {
        make_records(i);
    }
    assert_ok(git_worktree_list(scene_repository, NULL, &list, &scene_err));
    assert_int_equal(list.count, LIMIT_GIT_WORKTREES);
    git_worktree_list_fini(&list);
    make_records(LIMIT_GIT_WORKTREES);
    assert_int_equal(git_worktree_list(scene_repository, NULL, &list, &scene_err), RONDO_ERR_LIMIT);
    assert_ok(git_worktree_list(scene_repository, "rondo", &list, &scene_err));
    assert_int_equal(git_worktree_remove(scene_repository, "/nowhere", &scene_err),
                     RONDO_ERR_LIMIT);
}

SCENE(a_failed_add_leaves_nothing)
{
    struct git_worktree_request request = {
        .path = scene_path("tree"),
        .commit = scene_head(),
        .lock_reason = "rondo run-1 task-1 7",
        .index_path = scene_path("missing/index"),
    };
    assert_int_not_equal(git_worktree_add(&scene_git, &request, &scene_err), 0);
    assert_false(scene_has("tree"));
    assert_int_equal(count_ours(), 0);
    request.index_path = scene_path("index");
    request.lock_reason = "two\nlines";
    assert_int_equal(git_worktree_add(&scene_git, &request, &scene_err), RONDO_ERR_INVALID);
    request.lock_reason = "one";
    request.commit = "main";
    assert_int_equal(git_worktree_add(&scene_git, &request, &scene_err), RONDO_ERR_INVALID);
}
