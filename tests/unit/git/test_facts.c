// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

#include "base/limits.h"
#include "git/facts.h"

static struct git_facts facts;

static int tear_down(void **state)
{
    git_facts_fini(&facts);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, scene_set_up, tear_down)

static void read_facts(void)
{
    git_facts_fini(&facts);
    assert_ok(git_facts_read(&scene_git, &facts, &scene_err));
}

static void assert_refused(const char *advice)
{
    assert_int_equal(git_facts_check(&facts, NULL, &scene_err), RONDO_ERR_STATE);
    if (strstr(scene_err.message, advice) == NULL) {
        fail_msg("'%s' is not in: %s", advice, scene_err.message);
    }
}

CASE(a_clean_branch_is_fine)
{
    read_facts();
    assert_string_equal(facts.branch, "main");
    assert_string_equal(facts.head, scene_head());
    assert_false(facts.is_bare || facts.is_empty || facts.is_detached);
    assert_int_equal(facts.dirty_count, 0);
    assert_ok(git_facts_check(&facts, NULL, &scene_err));
}

CASE(changed_files_are_refused_unless_they_are_allowed)
{
    static const char *const allowed[] = {"a", "folder/b", NULL};
    shell("cd repo && echo 2 >>a && git mv folder/b 'folder/c d' && echo u >untracked");
    read_facts();
    assert_int_equal(facts.dirty_count, 3);
    assert_string_equal(facts.dirty[1], "folder/b");
    assert_string_equal(facts.dirty[2], "folder/c d");
    assert_int_equal(facts.untracked_count, 1);
    assert_refused("git stash");
    assert_int_equal(git_facts_check(&facts, allowed, &scene_err), RONDO_ERR_STATE);
    assert_non_null(strstr(scene_err.message, "1 tracked file has changes"));
    shell("cd repo && git reset -q --hard && echo 2 >>a");
    read_facts();
    assert_ok(git_facts_check(&facts, allowed, &scene_err));
}

CASE(names_of_changed_files_have_a_limit)
{
    shell("cd repo && for i in $(seq 1 %d); do echo >f$i; done && git add -A", LIMIT_GIT_DIRTY);
    read_facts();
    assert_int_equal(facts.dirty_count, LIMIT_GIT_DIRTY);
    assert_non_null(facts.dirty[LIMIT_GIT_DIRTY - 1]);
    shell("cd repo && echo >one-more && git add -A");
    read_facts();
    assert_int_equal(facts.dirty_count, LIMIT_GIT_DIRTY + 1);
    assert_null(facts.dirty[LIMIT_GIT_DIRTY]);
}

CASE(a_detached_head_is_refused)
{
    shell("cd repo && git checkout -q --detach");
    read_facts();
    assert_true(facts.is_detached);
    assert_null(facts.branch);
    assert_refused("git switch");
}

CASE(an_empty_repository_is_refused)
{
    shell("rm -rf repo && git init -q repo");
    scene_open();
    read_facts();
    assert_true(facts.is_empty);
    assert_string_equal(facts.branch, "main");
    assert_string_equal(facts.head, "");
    assert_refused("git commit");
}

CASE(a_bare_repository_is_refused)
{
    shell("mv repo old && git clone -q --bare old repo");
    scene_open();
    read_facts();
    assert_true(facts.is_bare);
    assert_string_equal(facts.branch, "main");
    assert_string_equal(facts.head, scene_head());
    assert_refused("bare");
}

CASE(operations_in_progress_are_refused)
{
    shell("cd repo && git checkout -qb other && echo other >a && git commit -qam other && "
          "git checkout -q main && echo main >a && git commit -qam main");
    static const struct {
        const char *begin;
        const char *end;
        enum git_operation operation;
        const char *advice;
    } rows[] = {
        {"git merge other", "git merge --abort", GIT_MERGE, "git merge --abort"},
        {"git rebase other", "git rebase --abort", GIT_REBASE, "git rebase --abort"},
        {"git cherry-pick other", "git cherry-pick --abort", GIT_CHERRY_PICK,
         "git cherry-pick --abort"},
        {"git revert --no-edit other", "git revert --abort", GIT_REVERT, "git revert --abort"},
        {"git bisect start", "git bisect reset", GIT_BISECT, "git bisect reset"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        shell("cd repo && { %s; true; }", rows[i].begin);
        read_facts();
        assert_int_equal(facts.operation, rows[i].operation);
        assert_refused(rows[i].advice);
        shell("cd repo && %s", rows[i].end);
    }
}
