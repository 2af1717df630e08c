// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

#include "git/merge.h"

static char base[GIT_ID_SIZE];
static char tip[GIT_ID_SIZE];
static char commit[GIT_ID_SIZE];
static struct git_merge merge;

/** Two commits after the first: one on main, which changes `a`, and a loose one. */
static void diverge(const char *change)
{
    snprintf(base, sizeof(base), "%s", scene_head());
    shell("cd repo && git checkout -q --detach && %s && git add -A && git commit -qm loose",
          change);
    snprintf(commit, sizeof(commit), "%s", scene_head());
    shell("cd repo && git checkout -q main && echo main >a && git commit -qam main");
    snprintf(tip, sizeof(tip), "%s", scene_head());
}

static int tear_down(void **state)
{
    git_merge_fini(&merge);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, scene_set_up, tear_down)

CASE(changes_of_other_files_merge_into_one_tree)
{
    diverge("echo 3 >folder/c && git rm -q folder/b");
    assert_ok(git_merge_try(&scene_git, base, tip, commit, &merge, &scene_err));
    assert_false(merge.has_conflicts);
    assert_null(merge.conflicts[0]);
    shell("cd repo && git ls-tree -r --name-only %s >../names && git show %s:a | grep -qx main && "
          "printf '.gitignore\\na\\nfolder/c\\n' | cmp - ../names",
          merge.tree, merge.tree);
}

CASE(conflicts_are_named)
{
    diverge("echo loose >a && echo 3 >folder/c");
    assert_ok(git_merge_try(&scene_git, base, tip, commit, &merge, &scene_err));
    assert_true(merge.has_conflicts);
    assert_string_equal(merge.tree, "");
    assert_string_equal(merge.conflicts[0], "a");
    assert_null(merge.conflicts[1]);
}

CASE(a_merge_driver_of_the_users_settings_does_not_run)
{
    shell("git config --global merge.ours.driver 'touch %s/ran; true' && "
          "echo 'a merge=ours' >repo/.git/info/attributes",
          scene_folder);
    scene_open();
    diverge("echo loose >a");
    assert_ok(git_merge_try(&scene_git, base, tip, commit, &merge, &scene_err));
    assert_true(merge.has_conflicts);
    assert_false(scene_has("ran"));
}

CASE(a_rewritten_branch_is_refused)
{
    diverge("echo loose >c");
    shell("cd repo && git checkout -q --orphan new && git commit -qm new");
    assert_int_equal(git_merge_try(&scene_git, base, scene_head(), commit, &merge, &scene_err),
                     RONDO_ERR_STATE);
}
