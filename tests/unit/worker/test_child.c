// SPDX-License-Identifier: Apache-2.0
/*
 * Runs that work on tasks, several at once: their results, their ends, and people who touch the
 * branch meanwhile.
 */
#include "../work/work_scene.h"

#include "loop/control/control.h"
#include "loop/owner.h"

#include <pthread.h>

/* ---- Results -------------------------------------------------------------------------------- */

static enum run_finish write_own_file(const struct work_turn *turn)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.txt", turn->task);
    put(turn, name, turn->task);
    return FINISH_COMPLETED;
}

#define FOUR TASK("A", "") "," TASK("B", "") "," TASK("C", "") "," TASK("D", "")

WORK_TEST(each_task_is_a_run_of_its_own_that_names_its_parent)
{
    struct store *store = work_scene.store;
    struct store_run row;
    char id[ID_SIZE];
    char parent[ID_SIZE];
    struct loop_spec spec;
    work_play(TASK("A", ""), "true", 1, write_own_file);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    id_from_name(work_scene.run_id, "A/1", 3, id);
    assert_ok(store->ops->get_run(store, id, &row, &scene_err));
    assert_true(row.ended_ns > 0);
    assert_ok(loop_recorded_spec(store, id, &spec, &scene_err));
    assert_true(work_find_parent(&spec, parent));
    assert_string_equal(parent, work_scene.run_id);
    loop_spec_fini(&spec);
}

static const struct store_ops *usual;

/** A tenant of the store has made runs with the ids that runs get here. */
static int get_squatted(struct store *store, const char *run_id, struct store_run *ret_run,
                        struct rondo_error *err)
{
    int r = usual->get_run(store, run_id, ret_run, err);
    if (r == RONDO_ERR_NOT_FOUND && id_is_from_name(run_id)) {
        *ret_run = (struct store_run){.ended_ns = 1,
                                      .summary = {.status = RONDO_COMPLETED, .tokens = 1000000}};
        snprintf(ret_run->id, sizeof(ret_run->id), "%s", run_id);
        return 0;
    }
    return r;
}

WORK_TEST(a_run_that_somebody_else_has_made_with_its_id_is_neither_read_nor_executed)
{
    struct store *store = work_scene.store;
    struct store_run row;
    usual = store->ops;
    struct store_ops ops = *usual;
    ops.get_run = get_squatted;
    store->ops = &ops;
    work_play(TASK("A", ""), "true", 1, write_own_file);
    store->ops = usual;
    assert_int_not_equal(work_scene.status, RONDO_COMPLETED);
    assert_int_equal(work_ended("A", "error"), work_events("task.ended", NULL, NULL));
    assert_int_equal(
        work_events("task.ended", "is there already, and has another parent", NULL) > 0, 1);
    assert_ok(store->ops->get_run(store, work_scene.run_id, &row, &scene_err));
    assert_true(row.summary.tokens < 1000000);
}

WORK_TEST(what_the_runs_use_counts_for_the_parent)
{
    struct store_run row;
    struct store *store = work_scene.store;
    work_play(FOUR, "true", 3, write_own_file);
    assert_ok(store->ops->get_run(store, work_scene.run_id, &row, &scene_err));
    assert_int_equal(row.summary.tokens, 40);
}

static enum run_finish go_on(const struct work_turn *turn)
{
    (void)turn;
    return FINISH_NONE;
}

WORK_TEST(what_a_run_has_used_before_the_machine_failed_counts)
{
    struct store_run row;
    struct store *store = work_scene.store;
    make_work("false");
    work_scene.work.worker.max_iterations = 5;
    work_scene.fails_after = 1;
    work_play(TASK("A", ""), "false", 1, go_on);
    assert_int_equal(work_ended("A", "error"), 3);
    assert_ok(store->ops->get_run(store, work_scene.run_id, &row, &scene_err));
    assert_int_equal(row.summary.tokens, 30);
}

static enum run_finish write_but_never_review(const struct work_turn *turn)
{
    return strstr(turn->folder, "/review") != NULL ? FINISH_NONE : write_own_file(turn);
}

WORK_TEST(what_a_review_has_used_before_the_machine_failed_counts)
{
    struct store_run row;
    struct store *store = work_scene.store;
    make_work("true");
    work_scene.work.attempts = 1;
    work_scene.work.reviewer = loop_spec_dup(&work_scene.work.worker);
    loop_spec_drop_conditions(&work_scene.work.reviewer);
    work_scene.work.reviewer.max_iterations = 5;
    work_scene.work.review_secret = memory_dup_string("secret");
    work_scene.fails_after = 1;
    work_play(TASK("A", ""), "true", 1, write_but_never_review);
    assert_int_equal(work_ended("A", "error"), 1);
    assert_ok(store->ops->get_run(store, work_scene.run_id, &row, &scene_err));
    assert_int_equal(row.summary.tokens, 20);
}

WORK_TEST(parallel_tasks_are_one_line_of_commits)
{
    work_play(FOUR, "true", 4, write_own_file);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git rev-list --count main..prd/scene"), "4");
    assert_string_equal(shell_line("cd repo && git rev-list --count --merges main..prd/scene"),
                        "0");
    shell("cd repo && for t in A B C D; do git show prd/scene:$t.txt | grep -q $t || exit 1; done");
    work_check_clean();
}

static enum run_finish be_closed(const struct work_turn *turn)
{
    if (turn->attempt > 1) {
        return write_own_file(turn);
    }
    /* As a server does with a run whose process is gone. */
    struct rondo_error err;
    (void)loop_close(turn->loop, OWNER_GONE_MESSAGE ": a test", &err);
    return FINISH_NONE;
}

WORK_TEST(a_run_that_was_closed_as_dead_is_no_attempt_that_counts)
{
    make_work("true");
    work_scene.work.attempts = 1;
    work_play(TASK("A", ""), "true", 1, be_closed);
    assert_int_equal(work_ended("A", "interrupted"), 1);
    assert_int_equal(work_ended("A", "committed"), 1);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
}

/* ---- Conflicts ------------------------------------------------------------------------------ */

/** Both have begun before one of them ends. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int begun;
    int wanted;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void meet(int wanted)
{
    pthread_mutex_lock(&meeting.lock);
    meeting.begun++;
    pthread_cond_broadcast(&meeting.changed);
    while (meeting.begun < wanted) {
        pthread_cond_wait(&meeting.changed, &meeting.lock);
    }
    pthread_mutex_unlock(&meeting.lock);
}

static enum run_finish change_the_same_line(const struct work_turn *turn)
{
    if (turn->attempt == 1) {
        meet(2);
    }
    put(turn, "a", turn->task);
    return FINISH_COMPLETED;
}

#define TWO TASK("A", "") "," TASK("B", "")

WORK_TEST(who_meets_the_changes_of_others_begins_again_with_them)
{
    meeting.begun = 0;
    make_work("true");
    work_scene.work.attempts = 1;
    work_play(TWO, "true", 2, change_the_same_line);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_int_equal(work_ended("A", "conflict") + work_ended("B", "conflict"), 1);
    assert_int_equal(work_events("task.started", "\"attempt\":2", NULL), 1);
    assert_string_equal(shell_line("cd repo && git rev-list --count main..prd/scene"), "2");
    work_check_clean();
}

/** A person commits a change of the same line while each attempt works. */
static enum run_finish be_overtaken(const struct work_turn *turn)
{
    quietly(
        "cd repo && T=$(mktemp -d) && git worktree add -q --detach $T/t prd/scene && cd $T/t && "
        "date +%N$$ >>a && git commit -qam person && "
        "git update-ref refs/heads/prd/scene HEAD && cd / && "
        "git -C \"$OLDPWD\" worktree remove --force $T/t");
    put(turn, "a", "mine");
    return FINISH_COMPLETED;
}

WORK_TEST(a_second_conflict_is_the_last)
{
    work_play(TASK("A", ""), "true", 1, be_overtaken);
    assert_int_equal(work_scene.status, RONDO_FAILED);
    assert_int_equal(work_ended("A", "conflict"), 2);
    assert_int_equal(work_events("task.started", NULL, NULL), 2);
    assert_int_equal(work_events("task.failed", "\"task\":\"A\"", NULL), 1);
    assert_string_equal(shell_line("cd repo && git log -1 --format=%s prd/scene"), "person");
}

static enum run_finish write_one_of_two(const struct work_turn *turn)
{
    if (turn->attempt == 1) {
        meet(2);
    }
    return write_own_file(turn);
}

WORK_TEST(two_good_changes_that_are_bad_together_do_not_both_come_onto_the_branch)
{
    meeting.begun = 0;
    make_work("! test -e A.txt || ! test -e B.txt");
    work_scene.work.attempts = 2;
    work_play(TWO, NULL, 2, write_one_of_two);
    assert_int_equal(work_scene.status, RONDO_FAILED);
    assert_int_equal(work_events("task.committed", NULL, NULL), 1);
    assert_int_equal(work_events("task.checked", "\"stage\":\"merged\"", "\"not_met\""), 1);
    assert_string_equal(shell_line("cd repo && git rev-list --count main..prd/scene"), "1");
    work_check_clean();
}

/* ---- People and the branch ------------------------------------------------------------------ */

static enum run_finish while_a_person_commits(const struct work_turn *turn)
{
    quietly("cd repo && git update-ref refs/heads/prd/scene "
            "$(git commit-tree -p prd/scene -m person $(git rev-parse prd/scene^{tree}))");
    return write_own_file(turn);
}

WORK_TEST(a_branch_that_a_person_has_moved_gets_the_commit_after_theirs)
{
    work_play(TWO, "true", 1, while_a_person_commits);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git log --format=%s prd/scene | tr '\\n' ','"),
                        "[PRD: scene] Task B: Title of B,person,"
                        "[PRD: scene] Task A: Title of A,person,first,");
    assert_int_equal(work_events("task.checked", "\"stage\":\"merged\"", "\"met\""), 2);
    work_check_clean();
}

static enum run_finish while_a_person_rewrites(const struct work_turn *turn)
{
    if (turn->attempt == 1) {
        quietly("cd repo && git update-ref refs/heads/prd/scene "
                "$(git commit-tree -m person $(git rev-parse prd/scene^{tree}))");
    }
    return write_own_file(turn);
}

WORK_TEST(a_history_that_a_person_has_rewritten_is_what_the_next_attempt_begins_with)
{
    work_play(TASK("A", ""), "true", 1, while_a_person_rewrites);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_int_equal(work_events("task.ended", "was rewritten", NULL), 1);
    assert_string_equal(shell_line("cd repo && git log --format=%s prd/scene | tr '\\n' ','"),
                        "[PRD: scene] Task A: Title of A,person,");
}

/** Without a sandbox it can move the branch itself. */
static enum run_finish commit_a_weaker_test(const struct work_turn *turn)
{
    if (strcmp(turn->task, "A") == 0 && turn->attempt == 1) {
        quietly("cd repo && export GIT_INDEX_FILE=$PWD/.git/other && git read-tree prd/scene && "
                "git update-index --cacheinfo 100644,$(echo | git hash-object -w --stdin),a && "
                "git update-ref refs/heads/prd/scene "
                "$(git commit-tree -p prd/scene -m sneaky $(git write-tree))");
    }
    return write_own_file(turn);
}

WORK_TEST(commits_of_others_that_change_protected_files_park_the_run)
{
    static const char *const globs[] = {"a", NULL};
    make_work("true");
    work_scene.work.protect = memory_dup_list(globs);
    work_play(TWO, NULL, 1, commit_a_weaker_test);
    assert_int_equal(work_scene.status, RONDO_BLOCKED);
    assert_non_null(strstr(work_scene.summary, "commits that are not Rondo's have changed a"));
    assert_int_equal(work_events("task.committed", NULL, NULL), 0);
    work_resume();
    assert_int_equal(work_scene.status, RONDO_BLOCKED);
    shell("cd repo && git branch -q -f prd/scene main");
    work_resume();
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git log --format=%s prd/scene | tr '\\n' ','"),
                        "[PRD: scene] Task B: Title of B,[PRD: scene] Task A: Title of A,first,");
    work_check_clean();
}

static enum run_finish while_a_person_switches(const struct work_turn *turn)
{
    quietly("cd repo && git switch -q prd/scene");
    return write_own_file(turn);
}

WORK_TEST(a_branch_that_a_person_has_checked_out_is_not_moved_below_them)
{
    work_play(TASK("A", ""), "true", 1, while_a_person_switches);
    assert_int_equal(work_scene.status, RONDO_BLOCKED);
    assert_non_null(strstr(work_scene.summary, "prd/scene is checked out in"));
    assert_non_null(strstr(work_scene.summary, "rondo resume"));
    assert_int_equal(work_events("task.committed", NULL, NULL), 0);
    assert_int_equal(work_events("task.ended", NULL, NULL), 0);
    shell("cd repo && test -z \"$(git status --porcelain --untracked-files=no)\" && "
          "git switch -q main");
    work_resume();
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_int_equal(work_events("task.started", NULL, NULL), 1);
    assert_string_equal(shell_line("cd repo && git show prd/scene:A.txt"), "A");
    work_check_clean();
}

WORK_TEST(no_attempt_begins_while_the_branch_is_checked_out)
{
    shell("cd repo && git branch prd/scene && git switch -q prd/scene");
    work_play(TASK("A", ""), "true", 1, write_own_file);
    assert_int_equal(work_scene.status, RONDO_BLOCKED);
    assert_int_equal(work_events("task.started", NULL, NULL), 0);
}

static enum run_finish while_a_person_deletes(const struct work_turn *turn)
{
    quietly("cd repo && git branch -qD prd/scene");
    return write_own_file(turn);
}

WORK_TEST(a_branch_that_a_person_has_deleted_is_not_made_again)
{
    work_play(TASK("A", ""), "true", 1, while_a_person_deletes);
    assert_int_equal(work_scene.status, RONDO_BLOCKED);
    assert_non_null(strstr(work_scene.summary, "prd/scene is gone"));
    shell("cd repo && ! git rev-parse -q --verify prd/scene && git branch prd/scene main");
    work_resume();
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    assert_string_equal(shell_line("cd repo && git show prd/scene:A.txt"), "A");
}

/* ---- Patches -------------------------------------------------------------------------------- */

static enum run_finish fail_with_a_change(const struct work_turn *turn)
{
    put(turn, "f", turn->task);
    return FINISH_FAILED;
}

WORK_TEST(tasks_whose_ids_have_the_same_plain_name_have_patches_of_their_own)
{
    make_work("true");
    work_scene.work.attempts = 1;
    work_play(TASK("a/b", "") "," TASK("a b", "") "," TASK("\u00fc", ""), NULL, 1,
              fail_with_a_change);
    assert_int_equal(work_events("task.ended", "\"outcome\":\"worker_failed\"", NULL), 3);
    shell("cd state/rondo/patches && grep -q '^+a/b' *.patch && grep -q '^+a b' *.patch && "
          "grep -q '^+\xc3\xbc' *.patch");
}

/* ---- Working trees -------------------------------------------------------------------------- */

static char folders[4][PATH_MAX];

static enum run_finish note_folder(const struct work_turn *turn)
{
    snprintf(folders[turn->task[0] - 'A'], PATH_MAX, "%s", turn->folder);
    meet(4);
    return write_own_file(turn);
}

WORK_TEST(each_attempt_has_a_working_tree_of_its_own)
{
    meeting.begun = 0;
    work_play(FOUR, "true", 4, note_folder);
    assert_int_equal(work_scene.status, RONDO_COMPLETED);
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(folders[i], folders[k]);
        }
    }
}
