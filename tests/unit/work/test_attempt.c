// SPDX-License-Identifier: Apache-2.0
/* What is taken from a working tree, and what is refused: workers that do not do what they say. */
#include "work_scene.h"

#include "work/attempt.h"

/* ---- Protected files ------------------------------------------------------------------------ */

TEST(a_glob_without_a_slash_protects_the_name_in_every_folder)
{
    char *globs[] = {(char *)"*.test.js", (char *)"tests/**", NULL};
    assert_string_equal(attempt_protected_by(globs, "a.test.js"), "*.test.js");
    assert_string_equal(attempt_protected_by(globs, "deep/er/a.test.js"), "*.test.js");
    assert_string_equal(attempt_protected_by(globs, "tests/a/b"), "tests/**");
    assert_null(attempt_protected_by(globs, "src/tests/a"));
    assert_null(attempt_protected_by(globs, "a.js"));
    assert_null(attempt_protected_by(NULL, "a.test.js"));
}

/* ---- Workers -------------------------------------------------------------------------------- */

static const char *what; /* the shell command of `shell_worker`, in its working tree */

static enum run_finish do_shell(const struct work_turn *turn)
{
    char command[2 * PATH_MAX];
    snprintf(command, sizeof(command), "cd '%s' && %s", turn->folder, what);
    quietly(command);
    return FINISH_COMPLETED;
}

/** One attempt at one task. */
static void try_once(const char *command, const char *check)
{
    what = command;
    if (work_scene.work.name == NULL) {
        make_work(check);
    }
    work_scene.work.attempts = 1;
    work_play(TASK("A", ""), check, 1, do_shell);
    work_check_clean();
}

static void expect_failure(const char *outcome, const char *message)
{
    assert_int_equal(work_scene.status, RONDO_FAILED);
    if (work_ended("A", outcome) != 1 || work_events("task.ended", message, NULL) != 1) {
        shell("true");
        fail_msg("not %s: %s", outcome, message);
    }
    assert_int_equal(work_events("task.committed", NULL, NULL), 0);
    assert_string_equal(shell_line("cd repo && git rev-list --count main..prd/scene"), "0");
}

WORK_TEST(a_change_becomes_a_commit_with_its_trailers)
{
    try_once("echo new >new.txt", "test -s new.txt");
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git log -1 --format=%s prd/scene"),
                        "[PRD: scene] Task A: Title of A");
    assert_string_equal(
        shell_line("cd repo && git log -1 --format='%(trailers:key=Rondo-Task,valueonly)' "
                   "prd/scene"),
        "A");
    assert_string_equal(shell_line("cd repo && git rev-parse prd/scene^"), scene_head());
}

WORK_TEST(who_changes_nothing_has_done_nothing)
{
    try_once("true", "true");
    expect_failure("no_change", "no file was changed");
}

WORK_TEST(a_file_that_git_ignores_is_no_change)
{
    try_once("echo x >x.ignored", "true");
    expect_failure("no_change", "no file was changed");
}

WORK_TEST(a_failing_check_keeps_the_changes_as_a_patch)
{
    try_once("echo new >new.txt", "echo broken; false");
    expect_failure("checks_failed", "`echo broken; false` failed");
    assert_int_equal(work_events("task.ended", "\"patch\"", "broken"), 1);
    shell("grep -q '+new' state/rondo/patches/*");
}

WORK_TEST(the_files_of_the_prd_are_left_alone)
{
    shell("cd repo && echo {} >prd.json && git add -f prd.json && git commit -qm prd");
    try_once("echo '{}' >>prd.json; echo new >new.txt", "true");
    expect_failure("refused", "prd.json was changed");
}

WORK_TEST(protected_files_may_not_be_weakened_or_deleted)
{
    static const char *const globs[] = {"folder/*", NULL};
    make_work("true");
    work_scene.work.protect = memory_dup_list(globs);
    try_once("rm folder/b && echo new >new.txt", "true");
    expect_failure("refused", "folder/b was deleted");
}

WORK_TEST(a_repository_inside_is_refused)
{
    try_once("git init -q inner && echo x >inner/x", "true");
    expect_failure("refused", "is a nested git repository");
}

WORK_TEST(commits_of_the_worker_do_not_count_but_their_content_does)
{
    try_once("echo mine >mine.txt && git add mine.txt && git commit -qm mine", "test -s mine.txt");
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git rev-list --count main..prd/scene"), "1");
    assert_string_equal(shell_line("cd repo && git log -1 --format=%an prd/scene"), "A Person");
    assert_string_equal(shell_line("cd repo && git show prd/scene:mine.txt"), "mine");
}

WORK_TEST(a_git_file_that_leads_elsewhere_moves_nothing_there)
{
    try_once("git init -q ../../../../evil && echo 'gitdir: '$(cd ../../../../evil && pwd)/.git "
             ">.git; echo new >new.txt",
             "test -s new.txt");
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git show prd/scene:new.txt"), "new");
}

WORK_TEST(a_working_tree_that_is_gone_fails_the_attempt_and_no_more)
{
    try_once("cd .. && rm -rf tree", "true");
    assert_int_equal(work_scene.status, RONDO_FAILED);
    assert_int_equal(work_events("task.committed", NULL, NULL), 0);
}

WORK_TEST(a_link_in_place_of_the_tree_is_not_followed)
{
    shell("mkdir victim && touch victim/kept");
    try_once("cd .. && rm -rf tree && ln -s ../../../../../victim tree", "true");
    assert_int_equal(work_events("task.committed", NULL, NULL), 0);
    assert_true(scene_has("victim/kept"));
}

/* ---- Attempts ------------------------------------------------------------------------------- */

static enum run_finish succeed_in_the_second(const struct work_turn *turn)
{
    put(turn, "new.txt", turn->attempt == 2 ? "good\n" : "bad\n");
    return FINISH_COMPLETED;
}

WORK_TEST(the_next_attempt_begins_from_the_same_commit)
{
    work_play(TASK("A", ""), "grep -q good new.txt", 1, succeed_in_the_second);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_int_equal(work_ended("A", "checks_failed"), 1);
    assert_int_equal(work_ended("A", "committed"), 1);
    assert_string_equal(shell_line("cd repo && git rev-list --count main..prd/scene"), "1");
}

static enum run_finish fail_always(const struct work_turn *turn)
{
    put(turn, "new.txt", "x");
    return FINISH_FAILED;
}

WORK_TEST(a_task_has_its_attempts_and_those_that_need_it_are_blocked)
{
    make_work("true");
    work_scene.work.attempts = 2;
    work_play(TASK("A", "") "," TASK("B", ", \"dependsOn\": [\"A\"]"), "true", 1, fail_always);
    assert_int_equal(work_scene.status, RONDO_FAILED);
    assert_int_equal(work_ended("A", "worker_failed"), 2);
    assert_int_equal(work_events("task.failed", "\"task\":\"A\"", NULL), 1);
    assert_int_equal(work_events("task.blocked", "\"task\":\"B\"", NULL), 1);
    work_check_clean();
}
