// SPDX-License-Identifier: Apache-2.0
#include "work/trees.h"

#include "../git/git_scene.h"

static struct work_trees scene_trees;
static struct git_tree_mark scene_mark;
static bool scene_has_mark;

static struct git_worktree_request request_of(const char *name)
{
    static char texts[3][PATH_MAX + 300];
    shell("mkdir -p cache/%s", name);
    snprintf(texts[0], sizeof(texts[0]), "%s/cache/%s/tree", scene_folder, name);
    snprintf(texts[1], sizeof(texts[1]), "%s/cache/%s/index", scene_folder, name);
    snprintf(texts[2], sizeof(texts[2]), "%s/cache/%s/base-index", scene_folder, name);
    return (struct git_worktree_request){
        .path = texts[0],
        .commit = scene_head(),
        .lock_reason = "rondo run-1 task-1 7",
        .index_path = texts[1],
        .base_index_path = texts[2],
    };
}

static void take(const char *name)
{
    const struct git_worktree_request request = request_of(name);
    assert_ok(work_trees_take(&scene_trees, &scene_git, &request, &scene_mark, &scene_has_mark,
                              &scene_err));
    assert_true(scene_has_mark);
}

static void give(const char *name)
{
    const struct git_worktree_request request = request_of(name);
    if (!work_trees_give(&scene_trees, scene_repository, request.path, request.base_index_path,
                         &scene_mark)) {
        assert_ok(git_worktree_remove(scene_repository, request.path, &scene_err));
    }
}

static void begin(size_t most)
{
    shell("mkdir cache");
    work_trees_init(&scene_trees, scene_path("cache"), most);
}

static void end(void)
{
    work_trees_fini(&scene_trees, scene_repository);
    shell("test \"$(git -C repo worktree list | wc -l)\" = 1 && "
          "test -z \"$(ls repo/.git/worktrees 2>/dev/null)\"");
}

static uint64_t inode_of(const char *name)
{
    struct stat status;
    assert_int_equal(lstat(scene_path(name), &status), 0);
    return status.st_ino;
}

SCENE(a_tree_that_was_given_is_taken_again_as_new)
{
    begin(1);
    take("one");
    uint64_t inode = inode_of("cache/one/tree/a");
    shell("cd cache/one/tree && echo other >folder/b && touch new x.ignored");
    give("one");
    assert_false(scene_has("cache/one/tree"));
    take("two");
    assert_int_equal(inode_of("cache/two/tree/a"), inode);
    shell("cd cache/two/tree && test -z \"$(git status --porcelain --ignored)\" && "
          "test \"$(cat folder/b)\" = two && test \"$(ls ..)\" = \"$(printf "
          "'base-index\\nindex\\ntree')\"");
    give("two");
    end();
    assert_false(scene_has("cache/free-0"));
}

SCENE(one_that_cannot_be_made_new_is_replaced)
{
    begin(2);
    take("one");
    uint64_t inode = inode_of("cache/one/tree");
    shell("chmod 700 cache/one/tree/folder");
    give("one");
    take("two");
    assert_int_not_equal(inode_of("cache/two/tree"), inode);
    shell("test \"$(ls cache)\" = \"$(printf 'one\\ntwo')\"");
    give("two");
    end();
}

SCENE(those_that_are_too_many_are_removed)
{
    begin(1);
    take("one");
    struct git_tree_mark mark = scene_mark;
    take("two");
    give("two");
    scene_mark = mark;
    give("one");
    assert_int_equal(scene_trees.count, 1);
    shell("test \"$(git -C repo worktree list | wc -l)\" = 2");
    end();
}

SCENE(what_is_at_the_path_is_removed_first)
{
    begin(1);
    shell("mkdir -p cache/one/tree/x && chmod 0 cache/one/tree/x");
    take("one");
    assert_false(scene_has("cache/one/tree/x"));
    give("one");
    end();
}
