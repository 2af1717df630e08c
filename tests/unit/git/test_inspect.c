// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "git/inspect.h"
#include "git_scene.h"

static int set_up(void **state)
{
    scene_set_up(state);
    return scene_add_tree();
}

#define CASE(name) TEST_WITH(name, set_up, scene_tear_down)

static int inspect_up_to(size_t max_folders)
{
    int fd = open(scene_path("tree"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    scene_err = (struct rondo_error){0};
    int r = git_tree_inspect(scene_repository, fd, max_folders, &scene_err);
    close(fd);
    return r;
}

static int inspect(void)
{
    return inspect_up_to(LIMIT_GIT_FOLDERS);
}

/** Refused with a message that has a text in it. */
static void assert_refused(const char *text)
{
    assert_int_equal(inspect(), RONDO_ERR_DENIED);
    assert_non_null(strstr(scene_err.message, text));
}

CASE(a_common_tree_is_fine)
{
    shell("cd tree && mkdir -p d/e && echo '*.x' >d/e/.gitignore && echo '*.x text' "
          ">.gitattributes && mkfifo pipe && ln -s pipe link");
    assert_int_equal(inspect(), 0);
}

CASE(pipes_in_place_of_rules_are_refused)
{
    shell("mkdir -p tree/d/e && mkfifo tree/d/e/.gitignore");
    assert_refused("d/e/.gitignore is not a regular file");
    shell("rm tree/d/e/.gitignore && mkfifo tree/d/.gitattributes");
    assert_refused("d/.gitattributes is not a regular file");
    shell("rm tree/d/.gitattributes && mkfifo tree/.gitmodules");
    assert_refused(".gitmodules");
}

CASE(links_and_folders_in_place_of_rules_are_not_followed_by_git)
{
    shell("cd tree && ln -sf /dev/zero .gitignore && ln -s /dev/zero folder/.gitattributes && "
          "mkdir .gitattributes folder/.gitignore");
    assert_int_equal(inspect(), 0);
    shell("ln -s /dev/zero tree/.gitmodules");
    assert_refused(".gitmodules");
}

CASE(rules_have_a_size_one_by_one_and_together)
{
    shell("truncate -s %ld tree/.gitignore", LIMIT_GIT_RULES_BYTES);
    assert_int_equal(inspect(), 0);
    shell("truncate -s %ld tree/.gitignore", LIMIT_GIT_RULES_BYTES + 1);
    assert_refused("larger than 1 MiB");
    shell("cd tree && truncate -s %ld .gitignore && for i in $(seq 2 %ld); do mkdir d$i && "
          "truncate -s %ld d$i/.gitignore; done",
          LIMIT_GIT_RULES_BYTES, (long)LIMIT_GIT_RULES_SUM_BYTES / LIMIT_GIT_RULES_BYTES,
          LIMIT_GIT_RULES_BYTES);
    assert_int_equal(inspect(), 0);
    shell("echo >tree/folder/.gitignore");
    assert_refused("larger than 64 MiB");
}

CASE(folders_have_a_limit)
{
    assert_int_equal(inspect_up_to(1), 0);
    shell("mkdir tree/d");
    assert_int_equal(inspect_up_to(1), RONDO_ERR_LIMIT);
}

CASE(nested_repositories_are_fine)
{
    shell("cd tree && git init -q nest && cd nest && git commit -q --allow-empty -m n && "
          "git pack-refs --all && git branch other && git worktree add -q ../further && cd .. && "
          "ln -s nest/.git folder/.git && mkdir e && echo gitdir: ../nest/.git >e/.git && mkdir f "
          "&& mkfifo f/.git");
    assert_int_equal(inspect(), 0);
}

CASE(nested_repositories_in_which_git_would_wait_are_refused)
{
    static const char *const files[] = {"HEAD",   "config",          "packed-refs",    "commondir",
                                        "gitdir", "refs/heads/main", "refs/heads/x/y", "refs/z"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        shell("cd tree && rm -rf n && git init -q n && cd n/.git && mkdir -p refs/heads/x && "
              "rm -f %s && mkfifo %s",
              files[i], files[i]);
        assert_refused("of a nested repository");
        shell("cd tree/n/.git && rm %s && ln -s /dev/zero %s", files[i], files[i]);
        assert_refused("of a nested repository");
    }
}

CASE(a_nested_head_must_lead_to_a_ref)
{
    shell("cd tree && git init -q n && mkfifo n/.git/PIPE && echo 'ref:  PIPE' >n/.git/HEAD");
    assert_refused("points elsewhere");
    shell("cd tree && echo 'ref: refs/heads/a' >n/.git/HEAD && echo 'ref: PIPE' "
          ">n/.git/refs/heads/a");
    assert_refused("points elsewhere");
    shell("cd tree && rm -r n/.git/refs && ln -s /tmp n/.git/refs");
    assert_refused("is not a folder");
}

CASE(a_nested_git_file_is_followed)
{
    shell("git init -q out && cd out/.git && rm HEAD && mkfifo HEAD && cd ../../tree && mkdir n m "
          "&& echo 'gitdir: ../../out/.git' >n/.git");
    assert_refused("n/.git/HEAD");
    shell("cd tree && rm n/.git && ln -s %s n/.git", scene_path("out/.git"));
    assert_refused("n/.git/HEAD");
    shell("cd tree && rm n/.git && git init -q w && cd w && git commit -q --allow-empty -m w && "
          "git worktree add -q ../v && mkfifo .git/refs/heads/pipe && mv .git ../../moved && cd .. "
          "&& echo 'gitdir: ../../moved/worktrees/v' >v/.git");
    assert_refused("pipe (of a nested repository)");
}

CASE(a_folder_of_ours_that_cannot_be_listed_is_refused)
{
    shell("cd tree && mkdir closed && mkfifo closed/.gitignore && chmod 300 closed");
    if (geteuid() == 0) {
        assert_refused(".gitignore");
    } else {
        assert_refused("cannot be listed");
    }
    shell("chmod 700 tree/closed");
}
