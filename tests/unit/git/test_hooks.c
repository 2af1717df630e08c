// SPDX-License-Identifier: Apache-2.0
#include "base/auto.h"
#include "git/hooks.h"
#include "git_scene.h"
#include "os/spawn/sandbox_trial.h"
#include "os/spawn/supervise.h"

#define SELF "/proc/self/exe"

static struct git_hook_result result;
static struct git_changes changes;
static enum sandbox_tier tiers[] = {SANDBOX_NAMESPACE, SANDBOX_LANDLOCK};

static int set_up(void **state)
{
    scene_set_up(state);
    return scene_add_tree();
}

static int tear_down(void **state)
{
    git_hook_result_fini(&result);
    git_changes_fini(&changes);
    return scene_tear_down(state);
}

#define CASE(name)                                                                               \
    TEST_FUNCTION(name);                                                                         \
    TEST_ROW(namespace_##name, "namespace: " #name, name, set_up, tear_down, (void *)&tiers[0]); \
    TEST_ROW(landlock_##name, "landlock: " #name, name, set_up, tear_down, (void *)&tiers[1]);   \
    TEST_FUNCTION(name)

/** Skip the test where the machine lacks the tier. */
static void need(enum sandbox_tier tier)
{
    char reason[256];
    if (!sandbox_is_available(tier, reason)) {
        print_message("skipped: %s\n", reason);
        skip();
    }
}

static void write_hook(const char *name, const char *script)
{
    shell("cat >repo/.git/hooks/%s <<'END'\n#!/bin/sh\n%s\nEND\nchmod +x repo/.git/hooks/%s", name,
          script, name);
}

static int run(void **state, enum git_hook hook, const char *message)
{
    const struct sandbox_policy policy = {.tier = *(enum sandbox_tier *)*state,
                                          .workspace = scene_path("tree"),
                                          .is_canonical = true};
    struct git_hook_request request = {
        .hook = hook,
        .changes = {.path = scene_path("tree"),
                    .index_path = scene_path("index"),
                    .base = scene_head()},
        .message = message,
        .sandbox = &policy,
        .supervisor = SELF,
        .output_keep = 1000,
    };
    need(policy.tier);
    git_hook_result_fini(&result);
    git_changes_fini(&changes);
    assert_ok(git_changes_read(&scene_git, &request.changes, &changes, &scene_err));
    request.tree = changes.tree;
    int r = git_hook_run(&scene_git, &request, &result, &scene_err);
    if (r == 0 && !result.has_passed) {
        print_message("the hook said: %s\n", result.output);
    }
    return r;
}

CASE(a_missing_hook_passes)
{
    assert_ok(run(state, GIT_HOOK_COMMIT_MESSAGE, "m\n"));
    assert_true(result.is_missing && result.has_passed);
    assert_string_equal(result.message, "m\n");
    write_hook("pre-commit", "exit 1");
    shell("chmod -x repo/.git/hooks/pre-commit");
    assert_ok(run(state, GIT_HOOK_PRE_COMMIT, NULL));
    assert_true(result.is_missing);
}

CASE(a_hook_that_refuses_is_an_outcome)
{
    write_hook("pre-commit", "git diff --cached --name-only; exit 3");
    shell("echo 2 >>tree/a");
    assert_ok(run(state, GIT_HOOK_PRE_COMMIT, NULL));
    assert_false(result.has_passed);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(result.output, "a\n");
}

CASE(a_hook_that_formats_and_adds_changes_the_tree)
{
    write_hook("pre-commit", "test -z \"$1\" && echo formatted >a && git add a && git write-tree");
    shell("echo 2 >>tree/a && cp index index.before");
    assert_ok(run(state, GIT_HOOK_PRE_COMMIT, NULL));
    assert_true(result.has_passed);
    assert_true(result.is_tree_changed);
    assert_memory_equal(result.output, result.changes.tree, strlen(result.changes.tree));
    assert_string_equal(shell_line("cd repo && git show $(git -C ../tree hash-object a)"),
                        "formatted");
}

CASE(a_hook_of_messages_can_change_the_message)
{
    write_hook("commit-msg", "cat \"$1\"; echo 'Signed: me' >>\"$1\"");
    assert_ok(run(state, GIT_HOOK_COMMIT_MESSAGE, "title\n"));
    assert_string_equal(result.output, "title\n");
    assert_true(result.has_passed && result.is_message_changed && !result.is_tree_changed);
    assert_string_equal(result.message, "title\nSigned: me\n");
    write_hook("commit-msg", "rm \"$1\"; mkfifo \"$1\"");
    assert_int_equal(run(state, GIT_HOOK_COMMIT_MESSAGE, "title\n"), RONDO_ERR_DENIED);
}

CASE(a_hook_cannot_write_into_the_git_folder)
{
    write_hook("pre-commit", "git config core.fsmonitor evil; echo x >>%s/config; "
                             "echo x >\"$GIT_DIR/HEAD\"; git branch evil; "
                             "git rev-parse HEAD && cat \"$GIT_DIR/HEAD\" >/dev/null");
    shell("cp repo/.git/config config && cp repo/.git/worktrees/tree/HEAD head && "
          "sed -i 's,%%s,%s,' repo/.git/hooks/pre-commit",
          scene_path("repo/.git"));
    assert_ok(run(state, GIT_HOOK_PRE_COMMIT, NULL));
    assert_true(result.has_passed);
    shell("cmp config repo/.git/config && cmp head repo/.git/worktrees/tree/HEAD && "
          "! git -C repo rev-parse -q --verify evil");
}

static int run_without_sandbox(void)
{
    const struct git_hook_request request = {.hook = GIT_HOOK_PRE_COMMIT,
                                             .changes = {.path = scene_path("tree"),
                                                         .index_path = scene_path("index"),
                                                         .base = scene_head()},
                                             .tree = scene_head()};
    return git_hook_run(&scene_git, &request, &result, &scene_err);
}

TEST_WITH(without_a_sandbox_nothing_is_run, scene_set_up, scene_tear_down)
{
    write_hook("pre-commit", "exit 0");
    assert_ok(scene_add_tree());
    assert_int_equal(run_without_sandbox(), RONDO_ERR_INVALID);
}

TEST_WITH(a_person_can_switch_the_sandbox_off, scene_set_up, scene_tear_down)
{
    const struct sandbox_policy policy = {.tier = SANDBOX_NONE, .workspace = scene_path("tree")};
    write_hook("pre-commit", "git diff --cached --name-only; exit 4");
    assert_ok(scene_add_tree());
    shell("echo 2 >>tree/a");
    struct git_hook_request request = {.hook = GIT_HOOK_PRE_COMMIT,
                                       .changes = {.path = scene_path("tree"),
                                                   .index_path = scene_path("index"),
                                                   .base = scene_head()},
                                       .sandbox = &policy,
                                       .supervisor = SELF,
                                       .output_keep = 1000};
    assert_ok(git_changes_read(&scene_git, &request.changes, &changes, &scene_err));
    request.tree = changes.tree;
    assert_ok(git_hook_run(&scene_git, &request, &result, &scene_err));
    assert_int_equal(result.exit_code, 4);
    assert_string_equal(result.output, "a\n");
    git_hook_result_fini(&result);
    git_changes_fini(&changes);
}

TEST_WITH(hooks_are_the_persons_unless_the_settings_lead_into_the_tree, scene_set_up,
          scene_tear_down)
{
    bool is_in_tree = true;
    assert_ok(scene_add_tree());
    shell("mkdir repo/h tree/h && touch repo/h/pre-commit tree/h/pre-commit && "
          "chmod +x */h/pre-commit && git -C repo config core.hooksPath h");
    scene_open();
    auto_free char *own =
        git_hook_find(scene_repository, GIT_HOOK_PRE_COMMIT, scene_path("tree"), &is_in_tree);
    assert_string_equal(own, scene_path("repo/h/pre-commit"));
    assert_false(is_in_tree);
    shell("git -C repo config core.hooksPath %s", scene_path("tree/h"));
    scene_open();
    auto_free char *evil =
        git_hook_find(scene_repository, GIT_HOOK_PRE_COMMIT, scene_path("tree"), &is_in_tree);
    assert_string_equal(evil, scene_path("tree/h/pre-commit"));
    assert_true(is_in_tree);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
