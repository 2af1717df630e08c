// SPDX-License-Identifier: Apache-2.0
#include "git/reuse.h"
#include "git_scene.h"

#include <sys/xattr.h>

static struct git_tree_mark scene_mark;

static struct git_worktree_request request_of(const char *name)
{
    static char base[PATH_MAX + 300];
    static char index[PATH_MAX + 300];
    snprintf(base, sizeof(base), "%s-base", scene_path(name));
    snprintf(index, sizeof(index), "%s-index", scene_path(name));
    return (struct git_worktree_request){
        .path = scene_path(name),
        .commit = scene_head(),
        .lock_reason = "rondo run-1 task-2 7",
        .index_path = index,
        .base_index_path = base,
    };
}

static void add_tree(const char *name)
{
    const struct git_worktree_request request = request_of(name);
    assert_ok(git_worktree_add(&scene_git, &request, &scene_err));
    assert_ok(
        git_worktree_mark(scene_path(name), request.base_index_path, &scene_mark, &scene_err));
}

static int reset_tree(void)
{
    const struct git_worktree_request request = request_of("tree");
    return git_worktree_reset(&scene_git, &request, &scene_mark, &scene_err);
}

static void remove_tree(const char *name)
{
    assert_ok(git_worktree_remove(scene_repository, scene_path(name), &scene_err));
}

/* A repository with links, programs, folders in folders, and files that rules ignore. */
static void fill_repository(void)
{
    shell("cd repo && mkdir -p deep/er/est && echo x >deep/er/est/x && ln -s a link && "
          "ln -s nowhere dead && printf '#!/bin/sh\\n' >run.sh && chmod +x run.sh && "
          "echo kept >kept.ignored && git add -Af && git commit -qm second");
}

/** What can be seen of a tree and of its records, but for times, names and numbers of files. */
#define LOOK                                                                                 \
    "(cd $t && find . -not -name .git -printf '%%P %%y %%m %%n %%U %%G %%l\\n' | sort && "   \
    "find . -type f -not -name .git -print0 | sort -z | xargs -0 sha256sum && "              \
    "git status --porcelain --ignored && git ls-files -v -s && "                             \
    "git log --oneline | head -3 && cd \"$(git rev-parse --git-dir)\" && ls -A && cat HEAD " \
    "locked)"

/** Compare the tree to one that is new. */
static void assert_is_new(void)
{
    struct stat status;
    add_tree("fresh");
    shell("for t in tree fresh; do " LOOK " >$t.seen; done; "
          "diff tree.seen fresh.seen");
    remove_tree("fresh");
    assert_int_equal(stat(scene_path("tree-base"), &status), 0);
    /* An agent's own git finds the repository in it, and our index has no changes. */
    shell("cd tree && test \"$(git rev-parse HEAD)\" = \"$(git -C ../repo rev-parse HEAD)\" && "
          "GIT_DIR=../repo/.git GIT_WORK_TREE=$PWD GIT_INDEX_FILE=../tree-index "
          "git diff-files --exit-code");
}

SCENE(a_tree_in_which_nothing_happened_is_new_again)
{
    fill_repository();
    add_tree("tree");
    for (int i = 0; i < 3; i++) {
        assert_ok(reset_tree());
        assert_is_new();
        add_tree("other"); /* another mark must not matter */
        remove_tree("other");
        assert_ok(git_worktree_mark(scene_path("tree"), scene_path("tree-base"), &scene_mark,
                                    &scene_err));
    }
}

SCENE(files_that_stay_are_not_written_again)
{
    struct stat before;
    struct stat after;
    fill_repository();
    add_tree("tree");
    assert_int_equal(stat(scene_path("tree/deep/er/est/x"), &before), 0);
    shell("cd repo && echo changed >a && git rm -q run.sh && git add a && git commit -qm third");
    assert_ok(reset_tree());
    assert_is_new();
    assert_int_equal(stat(scene_path("tree/deep/er/est/x"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

/* What an agent, or its checks, may have left: afterwards the tree is as new. */
static const char *const leftovers[] = {
    "echo other >a",
    "rm a folder/b",
    "rm -r deep",
    "echo new >new && mkdir -p n/e/w && echo new >n/e/w/x && mkdir empty deep/empty",
    "echo x >x.ignored && echo other >kept.ignored && mkdir q.ignored && touch q.ignored/y",
    "chmod 755 a && chmod 644 run.sh && chmod 600 folder/b",
    "touch -r a ../stamp && echo two >a && touch -r ../stamp a", /* same size, same time */
    "cp -p a ../copy && echo two >../copy && touch -r a ../copy && mv ../copy a",
    "touch a folder/b run.sh",
    "ln a hard && ln a ../hard",
    "ln folder/b folder/second && rm folder/b",
    "rm a && ln -s /etc/passwd a && ln -sf b link && rm dead && ln -s a dead",
    "rm -r folder && ln -s /tmp folder",
    "rm -r folder && echo file >folder && rm a && mkdir a && echo x >a/x",
    "rm a && mkfifo a && mkfifo fifo deep/fifo",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
    "git init -q nested && cd nested && git config user.name x && echo x >x && git add x && "
    "git commit -qm x",
    "mkdir -p deep/n && git init -q deep/n && echo '[core]fsmonitor=touch ../marker' "
    ">>deep/n/.git/config",
    "mkdir closed && touch closed/x && chmod 0 closed && mkdir ro && touch ro/x && chmod 555 ro",
    "git update-index --assume-unchanged a && git update-index --skip-worktree folder/b && "
    "echo other >a && echo other >folder/b",
    "git rm -q a && git add -Af && git commit -qm own --allow-empty && echo y >y && git add y",
    "git mv a moved && echo conflict >.git.x",
    "git update-index --index-version 4 && git update-index --split-index",
    "echo secret >../repo/.git/worktrees/tree/info_exclude && git config --worktree x.y z || true",
    "mkdir -p ../repo/.git/worktrees/tree/info && echo /a "
    ">../repo/.git/worktrees/tree/info/sparse-checkout",
    "git update-ref refs/worktree/own HEAD && git update-ref refs/bisect/bad HEAD && "
    "cp ../repo/.git/HEAD ../repo/.git/worktrees/tree/MERGE_HEAD",
    "touch ../repo/.git/worktrees/tree/index.lock ../tree-base.lock",
    "echo '* text eol=crlf' >.gitattributes && echo '*' >.gitignore",
    "printf '* filter=own\\n' >folder/.gitattributes",
    "touch -- \"$(printf 'line\\nend')\" ' ' '-x' \"$(printf '\\377')\"",
};

SCENE(whatever_was_left_is_gone)
{
    fill_repository();
    add_tree("tree");
    for (size_t i = 0; i < COUNT(leftovers); i++) {
        shell("cd tree && umask 022 && { %s; }", leftovers[i]);
        if (reset_tree() != 0) {
            fail_msg("%s: %s", leftovers[i], scene_err.message);
        }
        assert_is_new();
        assert_ok(git_worktree_mark(scene_path("tree"), scene_path("tree-base"), &scene_mark,
                                    &scene_err));
    }
    assert_false(scene_has("marker"));
}

/* What cannot be undone for certain: a new tree is to be made. */
static const char *const refusals[] = {
    "rm .git && cp -r ../repo/.git .git",
    "echo 'gitdir: /nonexistent' >.git",
    "cp -p .git ../g && rm .git && mv ../g .git",
    "touch -r .git ../stamp && printf ' ' >>.git && truncate -s -1 .git && touch -r ../stamp .git",
    "ln .git ../link",
    "rm .git && ln -s ../repo/.git .git",
    "chmod 700 folder",
    "chmod 777 .",
    "chmod 0 folder",
    "cd .. && mv tree was && cp -a was tree",
    "cd .. && mv tree was && ln -s was tree",
    "git checkout -q -b own",
    "echo /elsewhere/.git >../repo/.git/worktrees/tree/gitdir",
    "echo ../../../.. >../repo/.git/worktrees/tree/commondir",
    "rm ../repo/.git/worktrees/tree/HEAD",
    "rm -r ../repo/.git/worktrees/tree",
    "printf x >../tree-base",
    "cd ../repo && echo '*.x text' >.gitattributes && git add . && git commit -qm rules",
};

SCENE(what_is_unusual_is_refused)
{
    fill_repository();
    for (size_t i = 0; i < COUNT(refusals); i++) {
        add_tree("tree");
        shell("cd tree && umask 022 && { %s; }", refusals[i]);
        if (reset_tree() == 0) {
            fail_msg("accepted: %s", refusals[i]);
        }
        shell("rm -rf was");
        shell(
            "grep -sl elsewhere repo/.git/worktrees/*/gitdir | xargs -r dirname | xargs -r rm -r");
        remove_tree("tree");
        assert_false(scene_has("tree"));
    }
}

SCENE(attributes_of_files_are_gone_and_those_of_folders_refused)
{
    fill_repository();
    add_tree("tree");
    if (setxattr(scene_path("tree/a"), "user.own", "1", 1, 0) != 0) {
        skip(); /* The file system has none. */
    }
    assert_ok(reset_tree());
    assert_is_new();
    assert_int_equal(listxattr(scene_path("tree/a"), NULL, 0), 0);
    assert_ok(
        git_worktree_mark(scene_path("tree"), scene_path("tree-base"), &scene_mark, &scene_err));
    assert_int_equal(setxattr(scene_path("tree/folder"), "user.own", "1", 1, 0), 0);
    assert_int_equal(reset_tree(), RONDO_ERR_DENIED);
}

SCENE(a_tree_that_has_moved_is_the_same)
{
    fill_repository();
    add_tree("tree");
    shell("echo other >tree/a");
    assert_ok(
        git_worktree_move(scene_repository, scene_path("tree"), scene_path("away"), &scene_err));
    assert_false(scene_has("tree"));
    shell("cd away && test \"$(git status --porcelain)\" = ' M a'");
    assert_ok(
        git_worktree_move(scene_repository, scene_path("away"), scene_path("tree"), &scene_err));
    assert_ok(reset_tree());
    assert_is_new();
}

SCENE(a_move_never_replaces_anything)
{
    add_tree("tree");
    shell("mkdir away && touch away/kept");
    assert_int_equal(
        git_worktree_move(scene_repository, scene_path("tree"), scene_path("away"), &scene_err),
        RONDO_ERR_IO);
    assert_true(scene_has("away/kept"));
    assert_true(scene_has("tree/a"));
    /* Its records have the new path by now, by which they are removed. */
    remove_tree("away");
    shell("test -z \"$(ls repo/.git/worktrees 2>/dev/null)\"");
}

SCENE(submodules_are_empty_again)
{
    fill_repository();
    shell("git init -q other && cd other && git commit -q --allow-empty -m x && cd ../repo && "
          "git -c protocol.file.allow=always submodule --quiet add ../other module && "
          "git commit -qm module");
    add_tree("tree");
    shell("cd tree && mkdir -p module/x && touch module/x/y && git init -q module");
    assert_ok(reset_tree());
    assert_is_new();
}

/** Without a sandbox it reaches the index by which files are compared. */
SCENE(a_tree_whose_index_an_agent_has_written_is_not_used_again)
{
    fill_repository();
    add_tree("tree");
    shell("cd tree && echo evil >a && cp ../tree-base ../fresh && "
          "GIT_INDEX_FILE=$PWD/../fresh git add a && mv ../fresh ../tree-base");
    assert_int_equal(reset_tree(), RONDO_ERR_DENIED);
}
