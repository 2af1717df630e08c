// SPDX-License-Identifier: Apache-2.0
#include "git_scene.h"

#include "base/limits.h"

static const struct git_trailer trailers[] = {{"Rondo-Run", "run-1"}, {"Rondo-Task", "T-1"}};

static struct git_commit_request request_of(const char *tree)
{
    return (struct git_commit_request){
        .tree = tree,
        .parent = scene_head(),
        .message = "[PRD: p] Task T-1: title\n\nRondo-Task: T-2\n\nbody",
        .trailers = trailers,
        .trailer_count = COUNT(trailers),
        .time_s = 1700000000,
    };
}

static void make_commit(char ret_id[GIT_ID_SIZE])
{
    char tree[GIT_ID_SIZE];
    assert_ok(git_resolve_tree(&scene_git, "HEAD", tree, &scene_err));
    const struct git_commit_request request = request_of(tree);
    assert_ok(git_commit_make(&scene_git, &request, ret_id, &scene_err));
}

SCENE(a_commit_has_author_parent_and_trailers_and_is_the_same_when_repeated)
{
    char id[GIT_ID_SIZE];
    char again[GIT_ID_SIZE];
    make_commit(id);
    make_commit(again);
    assert_string_equal(id, again);
    shell("cd repo && git branch made %s", id);
    assert_string_equal(shell_line("cd repo && git log -1 --format='%an <%ae> %ct' made"),
                        "A Person <person@example.com> 1700000000");
    assert_string_equal(
        shell_line("cd repo && git log -1 --format='%(trailers:key=Rondo-Task,valueonly)' made"),
        "T-1");
    assert_string_equal(shell_line("cd repo && git rev-parse made^"), scene_head());
}

SCENE(without_a_name_the_error_says_what_to_type)
{
    char id[GIT_ID_SIZE];
    shell("git config --global --unset user.email");
    scene_open();
    const struct git_commit_request request = request_of(scene_head());
    assert_int_equal(git_commit_make(&scene_git, &request, id, &scene_err), RONDO_ERR_STATE);
    assert_non_null(strstr(scene_err.message, "git config --global user.name"));
}

SCENE(trailers_of_more_than_a_line_are_refused)
{
    static const struct git_trailer bad[] = {
        {"Key", "a\nOther: b"}, {"Key:", "a"}, {"", "a"}, {"Key", ""}, {"Ke y", "a"}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct buf message = {0};
        struct git_commit_request request = {.message = "m", .trailers = &bad[i]};
        request.trailer_count = 1;
        assert_int_equal(git_commit_message(&request, &message, NULL), RONDO_ERR_INVALID);
        buf_fini(&message);
    }
}

SCENE(messages_have_a_limit)
{
    char *text = calloc(1, LIMIT_GIT_MESSAGE_BYTES + 2);
    struct git_commit_request request = {.message = text};
    struct buf message = {0};
    memset(text, 'x', LIMIT_GIT_MESSAGE_BYTES);
    assert_int_equal(git_commit_message(&request, &message, NULL), 0);
    text[LIMIT_GIT_MESSAGE_BYTES] = 'x';
    assert_int_equal(git_commit_message(&request, &message, NULL), RONDO_ERR_INVALID);
    assert_int_equal(
        git_commit_message(&(struct git_commit_request){.message = " \n"}, &message, NULL),
        RONDO_ERR_INVALID);
    buf_fini(&message);
    free(text);
}

SCENE(a_branch_moves_only_from_where_it_is_expected)
{
    char first[GIT_ID_SIZE];
    char second[GIT_ID_SIZE];
    char now[GIT_ID_SIZE];
    bool is_moved = false;
    snprintf(first, sizeof(first), "%s", scene_head());
    make_commit(second);
    assert_int_equal(git_branch_read(&scene_git, "rondo/x", now, &scene_err), RONDO_ERR_NOT_FOUND);
    assert_ok(git_branch_move(&scene_git, "rondo/x", NULL, first, "r", &is_moved, &scene_err));
    assert_true(is_moved);
    assert_ok(git_branch_move(&scene_git, "rondo/x", NULL, second, "r", &is_moved, &scene_err));
    assert_false(is_moved);
    assert_ok(git_branch_move(&scene_git, "rondo/x", first, second, "r", &is_moved, &scene_err));
    assert_true(is_moved);
    /* The same call after a kill. */
    assert_ok(git_branch_move(&scene_git, "rondo/x", first, second, "r", &is_moved, &scene_err));
    assert_true(is_moved);
    assert_ok(git_branch_read(&scene_git, "rondo/x", now, &scene_err));
    assert_string_equal(now, second);
}

SCENE(a_branch_is_deleted_only_where_it_is_expected)
{
    char first[GIT_ID_SIZE];
    char second[GIT_ID_SIZE];
    char now[GIT_ID_SIZE];
    bool is_moved = false;
    snprintf(first, sizeof(first), "%s", scene_head());
    make_commit(second);
    assert_ok(git_branch_move(&scene_git, "rondo/x", NULL, second, "r", &is_moved, &scene_err));
    assert_int_equal(git_branch_delete(&scene_git, "rondo/x", first, &scene_err), RONDO_ERR_STATE);
    assert_ok(git_branch_read(&scene_git, "rondo/x", now, &scene_err));
    assert_string_equal(now, second);
    assert_ok(git_branch_delete(&scene_git, "rondo/x", second, &scene_err));
    assert_int_equal(git_branch_read(&scene_git, "rondo/x", now, &scene_err), RONDO_ERR_NOT_FOUND);
    assert_int_equal(git_branch_delete(&scene_git, "rondo/x", second, &scene_err), RONDO_ERR_STATE);
    assert_int_equal(git_branch_delete(&scene_git, "--all", second, &scene_err), RONDO_ERR_INVALID);
    assert_int_equal(git_branch_delete(&scene_git, "rondo/x", "HEAD", &scene_err),
                     RONDO_ERR_INVALID);
}

SCENE(a_branch_that_is_there_already_is_seen_without_a_process)
{
    bool is_moved = true;
    char commit[GIT_ID_SIZE];
    make_commit(commit);
    const char *head = scene_head();
    shell("git -C repo branch x");
    uint64_t before = scene_git.process_count;
    assert_ok(git_branch_move(&scene_git, "x", NULL, commit, "r", &is_moved, &scene_err));
    assert_false(is_moved);
    assert_ok(git_branch_move(&scene_git, "x", NULL, head, "r", &is_moved, &scene_err));
    assert_true(is_moved);
    assert_int_equal(scene_git.process_count, before);
}

SCENE(a_lock_that_a_killed_git_left_is_removed)
{
    bool is_moved = false;
    shell("touch repo/.git/refs/heads/x.lock");
    assert_ok(git_branch_move(&scene_git, "x", NULL, scene_head(), "r", &is_moved, &scene_err));
    assert_true(is_moved);
}

SCENE(a_lock_that_cannot_be_removed_is_named)
{
    bool is_moved = false;
    shell("mkdir repo/.git/refs/heads/x.lock");
    assert_int_equal(
        git_branch_move(&scene_git, "x", NULL, scene_head(), "r", &is_moved, &scene_err),
        RONDO_ERR_BUSY);
    assert_non_null(strstr(scene_err.message, "refs/heads/x.lock"));
}

SCENE(branch_names_follow_the_rules_of_git)
{
    static const char *const bad[] = {"-x",   "",   "a..b", "a b", "/a",   "a/",     "a//b", ".a",
                                      "a/.b", "a.", "HEAD", "@",   "a@{b", "a.lock", "a~",   "a^",
                                      "a:",   "a?", "a*",   "a[",  "a\\b", "a\nb",   "a\177"};
    static const char *const good[] = {"a", "rondo/x-1", "a.b", "a@b", "\303\244", "a-"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(git_branch_check_name(bad[i], NULL), RONDO_ERR_INVALID);
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(git_branch_check_name(good[i], NULL), 0);
        shell("git check-ref-format --branch '%s'", good[i]);
    }
    char name[LIMIT_GIT_BRANCH_BYTES + 2] = {0};
    memset(name, 'a', LIMIT_GIT_BRANCH_BYTES);
    assert_int_equal(git_branch_check_name(name, NULL), 0);
    name[LIMIT_GIT_BRANCH_BYTES] = 'a';
    assert_int_equal(git_branch_check_name(name, NULL), RONDO_ERR_INVALID);
}

static struct git_kept_move kept_move(const char *kept, const char *new_id)
{
    return (struct git_kept_move){
        .run = "run-1", .number = 1, .kept = kept, .branch = "x", .new_id = new_id, .reason = "r"};
}

#define BACKUP "cd repo && git rev-parse refs/rondo/backup/run-1/1"

SCENE(one_git_keeps_a_commit_and_moves_the_branch)
{
    char id[GIT_ID_SIZE];
    bool is_moved = false;
    make_commit(id);
    struct git_kept_move move = kept_move(scene_head(), id);
    uint64_t before = scene_git.process_count;
    assert_ok(git_branch_move_kept(&scene_git, &move, &is_moved, &scene_err));
    assert_int_equal(scene_git.process_count, before + 1);
    assert_true(is_moved);
    assert_string_equal(shell_line(BACKUP), move.kept);
    assert_string_equal(shell_line("cd repo && git rev-parse x"), id);
    assert_string_equal(shell_line("cd repo && git log -g -1 --format=%gs x"), "r");
    /* The same call after a kill. */
    is_moved = false;
    assert_ok(git_branch_move_kept(&scene_git, &move, &is_moved, &scene_err));
    assert_true(is_moved);
}

SCENE(a_branch_that_is_elsewhere_is_not_moved_and_the_commit_is_kept)
{
    char id[GIT_ID_SIZE];
    bool is_moved = true;
    make_commit(id);
    shell("cd repo && git branch x");
    const struct git_kept_move move = kept_move(scene_head(), id);
    assert_ok(git_branch_move_kept(&scene_git, &move, &is_moved, &scene_err));
    assert_false(is_moved);
    assert_string_equal(shell_line(BACKUP), scene_head());
    assert_string_equal(shell_line("cd repo && git rev-parse x"), scene_head());
}

SCENE(a_backup_takes_the_place_of_one_for_a_move_that_did_not_come_about)
{
    char id[GIT_ID_SIZE];
    bool is_moved = false;
    make_commit(id);
    shell("cd repo && git update-ref refs/rondo/backup/run-1/1 HEAD");
    const struct git_kept_move move = kept_move(id, id);
    assert_ok(git_branch_move_kept(&scene_git, &move, &is_moved, &scene_err));
    assert_true(is_moved);
    assert_string_equal(shell_line(BACKUP), id);
}

SCENE(locks_of_a_killed_git_do_not_keep_a_branch_from_its_move)
{
    char id[GIT_ID_SIZE];
    bool is_moved = false;
    make_commit(id);
    shell("mkdir -p repo/.git/refs/rondo/backup/run-1 && touch repo/.git/refs/heads/x.lock "
          "repo/.git/refs/rondo/backup/run-1/1.lock");
    const struct git_kept_move move = kept_move(scene_head(), id);
    assert_ok(git_branch_move_kept(&scene_git, &move, &is_moved, &scene_err));
    assert_true(is_moved);
    assert_string_equal(shell_line(BACKUP), move.kept);
}

SCENE(what_is_no_name_or_id_is_refused_before_a_move)
{
    bool is_moved = false;
    struct git_kept_move bad[5];
    for (size_t i = 0; i < COUNT(bad); i++) {
        bad[i] = kept_move(scene_head(), scene_head());
    }
    bad[0].run = "a b";
    bad[1].branch = "x\ndelete refs/heads/main";
    bad[2].kept = "main";
    bad[3].new_id = "main";
    bad[4].old_id = "main";
    uint64_t before = scene_git.process_count;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(git_branch_move_kept(&scene_git, &bad[i], &is_moved, &scene_err),
                         RONDO_ERR_INVALID);
    }
    assert_int_equal(scene_git.process_count, before);
}

SCENE(ancestors_are_known)
{
    char id[GIT_ID_SIZE];
    bool is_ancestor = false;
    make_commit(id);
    assert_ok(git_commit_is_ancestor(&scene_git, scene_head(), id, &is_ancestor, &scene_err));
    assert_true(is_ancestor);
    assert_ok(git_commit_is_ancestor(&scene_git, id, scene_head(), &is_ancestor, &scene_err));
    assert_false(is_ancestor);
}

SCENE(no_hook_runs_for_a_commit_or_a_branch)
{
    char id[GIT_ID_SIZE];
    bool is_moved = false;
    shell("cd repo/.git/hooks && printf '#!/bin/sh\\ntouch %s\\n' >reference-transaction && "
          "cp reference-transaction pre-commit && chmod +x *",
          scene_path("marker"));
    make_commit(id);
    assert_ok(git_branch_move(&scene_git, "x", NULL, id, "r", &is_moved, &scene_err));
    assert_false(scene_has("marker"));
}

SCENE(a_commit_with_two_parents_joins_their_histories)
{
    char first[GIT_ID_SIZE];
    char one[GIT_ID_SIZE];
    char base[GIT_ID_SIZE];
    char joined[GIT_ID_SIZE];
    snprintf(first, sizeof(first), "%s", scene_head());
    shell("cd repo && git checkout -q -b other && git commit -q --allow-empty -m one");
    snprintf(one, sizeof(one), "%s", scene_head());
    shell("cd repo && git checkout -q main && git commit -q --allow-empty -m two");
    assert_ok(git_commit_merge_base(&scene_git, one, scene_head(), base, &scene_err));
    assert_string_equal(base, first);
    const struct git_commit_request request = {.tree = shell_line("git -C repo write-tree"),
                                               .parent = scene_head(),
                                               .merged = one,
                                               .message = "join"};
    assert_ok(git_commit_make(&scene_git, &request, joined, &scene_err));
    shell("test \"$(git -C repo show -s --format=%%P %s)\" = '%s %s'", joined, scene_head(), one);
    shell("cd repo && git checkout -q --orphan new && git commit -q --allow-empty -m new");
    assert_ok(git_commit_merge_base(&scene_git, one, scene_head(), base, &scene_err));
    assert_string_equal(base, "");
}
