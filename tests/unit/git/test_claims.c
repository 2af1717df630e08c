// SPDX-License-Identifier: Apache-2.0
/* Claims on a bare repository "far", from the repository "repo" of the scene. */
#include "git_scene.h"

#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/claims/claims.h"

#include <sys/file.h>
#include <unistd.h>

static struct git_claim_result result;
static struct git_claims claims;
static enum git_claim_end end;
static const struct git_access origin = {.remote = "origin"};

static int set_up(void **state)
{
    scene_set_up(state);
    shell("git init -q --bare far && cd repo && git remote add origin ../far");
    scene_open();
    return 0;
}

static int tear_down(void **state)
{
    git_claim_result_fini(&result);
    git_claims_fini(&claims);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/** Make, move or delete the claim "7". @return its id after it; valid for four further calls */
static const char *change(const char *old_id, const char *text, enum git_claim_end expected)
{
    static char ids[4][GIT_ID_SIZE];
    static unsigned next;
    char *id = ids[next++ % COUNT(ids)];
    const struct git_claim_change request = {.name = "7", .old_id = old_id, .text = text};
    git_claim_result_fini(&result);
    assert_ok(git_claim_change(&scene_git, &origin, &request, &result, &scene_err));
    if (result.end != expected) {
        fail_msg("end %d in place of %d: %s", (int)result.end, (int)expected, result.reason);
    }
    memcpy(id, result.id, GIT_ID_SIZE);
    return id;
}

static const char *far_claim(void)
{
    return shell_line("git -C far rev-parse --quiet --verify refs/rondo/claims/7 || echo none");
}

static void read_all(void)
{
    git_claims_fini(&claims);
    assert_ok(git_claims_read(&scene_git, &origin, NULL, &claims, &end, &scene_err));
    if (end != GIT_CLAIM_DONE) {
        fail_msg("end %d: %s", (int)end, scene_err.message);
    }
}

/* --- one owner after the other --- */

CASE(a_claim_is_made_once_renewed_by_its_owner_and_released)
{
    const char *mine = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    assert_string_equal(far_claim(), mine);
    const char *nothing = change("", "owner 2 nonce b", GIT_CLAIM_LOST);
    assert_string_equal(nothing, "");
    assert_string_equal(far_claim(), mine);
    const char *renewed = change(mine, "owner 1 nonce a, later", GIT_CLAIM_DONE);
    assert_string_not_equal(renewed, mine);
    assert_string_equal(far_claim(), renewed);
    change(mine, NULL, GIT_CLAIM_LOST);
    assert_string_equal(far_claim(), renewed);
    assert_string_equal(change(renewed, NULL, GIT_CLAIM_DONE), "");
    assert_string_equal(far_claim(), "none");
    change(renewed, NULL, GIT_CLAIM_LOST);
    change(renewed, "too late", GIT_CLAIM_LOST);
    assert_string_equal(far_claim(), "none");
}

CASE(an_owner_that_wakes_up_after_a_takeover_can_do_nothing)
{
    const char *frozen = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    const char *taken = change(frozen, "owner 2 nonce b", GIT_CLAIM_DONE);
    change(frozen, "owner 1 nonce a, later", GIT_CLAIM_LOST);
    change(frozen, NULL, GIT_CLAIM_LOST);
    assert_string_equal(far_claim(), taken);
}

CASE(the_same_change_made_again_after_a_lost_answer_has_the_same_end)
{
    const char *mine = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    assert_string_equal(change("", "owner 1 nonce a", GIT_CLAIM_DONE), mine);
    const char *renewed = change(mine, "owner 1 nonce a, later", GIT_CLAIM_DONE);
    assert_string_equal(change(mine, "owner 1 nonce a, later", GIT_CLAIM_DONE), renewed);
}

CASE(a_claim_names_nobody_and_leads_to_no_file_of_the_repository)
{
    change("", "text \"of\" a claim\n\nwith lines", GIT_CLAIM_DONE);
    shell("cd far && git cat-file -p refs/rondo/claims/7 >../object && ! grep -q 'A Person' "
          "../object && ! grep -q parent ../object && "
          "test -z \"$(git ls-tree -r refs/rondo/claims/7)\"");
    read_all();
    assert_string_equal(claims.items[0].text, "text \"of\" a claim\n\nwith lines");
}

CASE(nothing_of_claims_is_seen_in_the_repository_of_the_person)
{
    shell("cd repo && git config remote.origin.fetch +refs/*:refs/* && "
          "git count-objects >../before && git for-each-ref >>../before");
    scene_open();
    change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    shell("cd far && git update-ref refs/rondo/claims/8 $(echo other | git commit-tree "
          "$(git mktree </dev/null))");
    read_all();
    assert_int_equal(claims.count, 2);
    assert_string_equal(claims.items[1].text, "other");
    shell("cd repo && git count-objects >../after && git for-each-ref >>../after && "
          "cmp ../before ../after && git fsck --strict && test ! -e .git/FETCH_HEAD");
}

/* --- with a branch --- */

static void change_with_branch(const char *old_id, const char *text, const char *commit,
                               enum git_claim_end expected)
{
    const struct git_claim_change request = {
        .name = "7", .old_id = old_id, .text = text, .branch = "work/7", .commit = commit};
    git_claim_result_fini(&result);
    assert_ok(git_claim_change(&scene_git, &origin, &request, &result, &scene_err));
    if (result.end != expected) {
        fail_msg("end %d in place of %d: %s", (int)result.end, (int)expected, result.reason);
    }
}

static const char *far_branch(void)
{
    return shell_line("git -C far rev-parse --quiet --verify refs/heads/work/7 || echo none");
}

CASE(a_branch_is_pushed_only_with_the_claim)
{
    const char *lost = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    const char *mine = change(lost, "owner 2 nonce b", GIT_CLAIM_DONE);
    change_with_branch(lost, "owner 1 nonce a, later", scene_head(), GIT_CLAIM_LOST);
    assert_string_equal(far_branch(), "none");
    assert_string_equal(far_claim(), mine);
    change_with_branch(mine, "owner 2 nonce b, later", scene_head(), GIT_CLAIM_DONE);
    assert_string_equal(far_branch(), scene_head());
    assert_string_equal(far_claim(), result.id);
}

CASE(a_branch_with_other_commits_is_not_overwritten_and_the_claim_stays)
{
    char theirs[GIT_ID_SIZE];
    change_with_branch("", "owner 1 nonce a", scene_head(), GIT_CLAIM_DONE);
    const char *mine = shell_line("git -C far rev-parse refs/rondo/claims/7");
    char kept[GIT_ID_SIZE];
    snprintf(kept, sizeof(kept), "%s", mine);
    shell("cd far && git update-ref refs/heads/work/7 $(echo theirs | git commit-tree "
          "refs/heads/work/7^{tree} -p refs/heads/work/7)");
    snprintf(theirs, sizeof(theirs), "%s", far_branch());
    shell("cd repo && git commit -q --allow-empty -m ours");
    change_with_branch(kept, "owner 1 nonce a, later", scene_head(), GIT_CLAIM_LOST);
    assert_string_equal(far_branch(), theirs);
    assert_string_equal(far_claim(), kept);
}

CASE(a_branch_of_the_remote_is_deleted_only_where_it_is_expected)
{
    change_with_branch("", "owner 1 nonce a", scene_head(), GIT_CLAIM_DONE);
    shell("cd repo && git commit -q --allow-empty -m other");
    assert_ok(
        git_delete_remote_branch(&scene_git, &origin, "work/7", scene_head(), &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_LOST);
    shell("cd repo && git reset -q --hard HEAD^");
    assert_ok(
        git_delete_remote_branch(&scene_git, &origin, "work/7", scene_head(), &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_DONE);
    assert_string_equal(far_branch(), "none");
    assert_ok(
        git_delete_remote_branch(&scene_git, &origin, "work/7", scene_head(), &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_LOST);
}

/* --- reading --- */

CASE(claims_are_read_with_their_texts_and_only_one_if_so_asked)
{
    read_all();
    assert_int_equal(claims.count, 0);
    change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    shell("cd far && e=$(git mktree </dev/null) && for i in 1 10 8; do git update-ref "
          "refs/rondo/claims/$i $(echo claim $i | git commit-tree $e); done");
    read_all();
    assert_int_equal(claims.count, 4);
    assert_string_equal(claims.items[0].name, "1");
    assert_string_equal(claims.items[1].name, "10");
    assert_string_equal(claims.items[1].text, "claim 10");
    assert_string_equal(claims.items[2].text, "owner 1 nonce a");
    assert_string_equal(claims.items[2].id, result.id);
    git_claims_fini(&claims);
    assert_ok(git_claims_read(&scene_git, &origin, "1", &claims, &end, &scene_err));
    assert_int_equal(claims.count, 1);
    assert_string_equal(claims.items[0].text, "claim 1");
    git_claims_fini(&claims);
    assert_ok(git_claims_read(&scene_git, &origin, "99", &claims, &end, &scene_err));
    assert_int_equal(claims.count, 0);
    assert_int_equal(end, GIT_CLAIM_DONE);
}

CASE(what_is_no_claim_is_taken_by_nobody_knows_whom)
{
    shell("git -C repo push -q ../far HEAD:refs/heads/main && cd far && e=$(git mktree </dev/null) "
          "&& blob=$(echo blob | git hash-object -w --stdin) && "
          "git update-ref refs/rondo/claims/blob $blob && "
          "git update-ref refs/rondo/claims/history $(echo x | git commit-tree $e -p main) && "
          "git update-ref refs/rondo/claims/tree $e && "
          "git tag -a -m x t $blob && git update-ref refs/rondo/claims/tag t && "
          "git update-ref refs/rondo/claims/fine $(echo fine | git commit-tree $e) && "
          "git update-ref refs/rondo/other $blob && git update-ref refs/rondo/claims/a/b $blob");
    read_all();
    assert_int_equal(claims.count, 6);
    for (size_t i = 0; i < claims.count; i++) {
        bool is_fine = strcmp(claims.items[i].name, "fine") == 0;
        assert_int_equal(claims.items[i].text != NULL, is_fine);
    }
}

CASE(texts_and_claims_have_limits)
{
    auto_free char *text = memory_new(LIMIT_GIT_CLAIM_BYTES + 2);
    memset(text, 'x', LIMIT_GIT_CLAIM_BYTES + 1);
    text[LIMIT_GIT_CLAIM_BYTES + 1] = '\0';
    const struct git_claim_change too_long = {.name = "7", .old_id = "", .text = text};
    assert_int_equal(git_claim_change(&scene_git, &origin, &too_long, &result, &scene_err),
                     RONDO_ERR_INVALID);
    shell("head -c %zu /dev/zero | tr '\\0' x >text && cd far && git update-ref "
          "refs/rondo/claims/8 $(git commit-tree $(git mktree </dev/null) <../text)",
          LIMIT_GIT_CLAIM_BYTES + 1);
    text[LIMIT_GIT_CLAIM_BYTES] = '\0';
    change("", text, GIT_CLAIM_DONE);
    read_all();
    assert_string_equal(claims.items[0].text, text);
    assert_null(claims.items[1].text);
}

CASE(of_thousands_of_claims_the_first_are_read)
{
    shell("cd far && c=$(echo a | git commit-tree $(git mktree </dev/null)) && seq -f "
          "\"create refs/rondo/claims/%%05.0f $c\" %d | git update-ref --stdin && git pack-refs "
          "--all",
          LIMIT_GIT_CLAIMS + 1);
    read_all();
    assert_int_equal(claims.count, LIMIT_GIT_CLAIMS);
    assert_string_equal(claims.items[LIMIT_GIT_CLAIMS - 1].name, "02000");
    shell("git -C far update-ref -d refs/rondo/claims/00001");
    read_all();
    assert_int_equal(claims.count, LIMIT_GIT_CLAIMS);
    assert_string_equal(claims.items[LIMIT_GIT_CLAIMS - 1].name, "02001");
}

CASE(objects_of_claims_are_thrown_away_when_there_are_many_and_nobody_reads_them)
{
    const char *mine = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    read_all();
    shell("cd repo/.git/rondo-claims && ! ls -d reading-* && mkdir -p 17 && cd 17 && "
          "touch $(seq -f 'x%%.0f' 40)");
    int fd = open(scene_path("repo/.git/rondo-claims"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_SH), 0);
    read_all();
    shell("test -e repo/.git/rondo-claims/17/x1");
    close(fd);
    read_all();
    shell("test -z \"$(ls repo/.git/rondo-claims)\"");
    read_all();
    assert_string_equal(claims.items[0].text, "owner 1 nonce a");
    change(mine, NULL, GIT_CLAIM_DONE);
}

/* --- what is refused here --- */

CASE(a_change_that_cannot_be_meant_is_refused)
{
    const struct git_claim_change rows[] = {
        {.name = "a..b", .old_id = "", .text = "x"},
        {.name = "", .old_id = "", .text = "x"},
        {.name = "7", .old_id = "", .text = ""},
        {.name = "7", .old_id = "", .text = "x\n"},
        {.name = "7", .old_id = "", .text = NULL},
        {.name = "7", .old_id = "abc", .text = "x"},
        {.name = "7", .old_id = "", .text = "x", .branch = "main", .commit = "main"},
        {.name = "7", .old_id = "", .text = "x", .branch = "-f", .commit = scene_head()},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int r = git_claim_change(&scene_git, &origin, &rows[i], &result, &scene_err);
        if (r != RONDO_ERR_INVALID) {
            fail_msg("row %zu: %d", i, r);
        }
    }
    assert_string_equal(shell_line("git -C far for-each-ref | wc -l"), "0");
}

CASE(of_a_lock_that_is_in_the_way_nobody_knows_whose_it_is)
{
    const char *mine = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    shell("touch far/refs/rondo/claims/7.lock");
    change(mine, "owner 1 nonce a, later", GIT_CLAIM_NETWORK);
    assert_non_null(strstr(result.reason, "File exists"));
    change_with_branch(mine, "owner 1 nonce a, later", scene_head(), GIT_CLAIM_NETWORK);
    assert_string_equal(far_branch(), "none");
    shell("rm far/refs/rondo/claims/7.lock");
    change_with_branch(mine, "owner 1 nonce a, later", scene_head(), GIT_CLAIM_DONE);
}

CASE(rules_of_the_server_are_refusals_and_a_server_that_is_not_there_is_the_network)
{
    shell("printf '#!/bin/sh\\necho not here\\nexit 1\\n' >far/hooks/pre-receive && "
          "chmod +x far/hooks/pre-receive");
    change("", "owner 1 nonce a", GIT_CLAIM_REFUSED);
    assert_non_null(strstr(result.reason, "not here"));
    shell("mv far/hooks/pre-receive far/hooks/update && "
          "printf '#!/bin/sh\\ncase $1 in refs/heads/*) exit 1; esac\\n' >far/hooks/update");
    const char *mine = change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    change_with_branch(mine, "owner 1 nonce a, later", scene_head(), GIT_CLAIM_REFUSED);
    assert_string_equal(far_branch(), "none");
    change(mine, NULL, GIT_CLAIM_DONE);
    shell("rm far/hooks/update && git -C far config receive.hideRefs refs/rondo");
    change("", "owner 1 nonce a", GIT_CLAIM_REFUSED);
    shell("cd repo && git remote set-url origin http://me:s3cret@127.0.0.1:1/r");
    change("", "owner 1 nonce a", GIT_CLAIM_NETWORK);
    assert_null(strstr(result.reason, "s3cret"));
    assert_ok(git_claims_read(&scene_git, &origin, NULL, &claims, &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_NETWORK);
    assert_null(strstr(scene_err.message, "s3cret"));
}

CASE(a_branch_of_the_remote_moves_only_from_where_it_was_seen)
{
    char first[GIT_ID_SIZE];
    snprintf(first, sizeof(first), "%s", scene_head());
    assert_ok(git_move_remote_branch(&scene_git, &origin, "work/8", "", first, &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_DONE);
    shell("cd repo && git commit -q --allow-empty -m more");
    assert_ok(
        git_move_remote_branch(&scene_git, &origin, "work/8", "", scene_head(), &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_LOST);
    assert_ok(git_move_remote_branch(&scene_git, &origin, "work/8", first, scene_head(), &end,
                                     &scene_err));
    assert_int_equal(end, GIT_CLAIM_DONE);
    shell("cd repo && git commit -q --allow-empty -m late");
    assert_ok(git_move_remote_branch(&scene_git, &origin, "work/8", first, scene_head(), &end,
                                     &scene_err));
    assert_int_equal(end, GIT_CLAIM_LOST);
}
