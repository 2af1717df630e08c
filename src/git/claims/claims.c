// SPDX-License-Identifier: Apache-2.0
/*
 * `git push --porcelain --force-with-lease=REFERENCE:ID` (git-push(1)). What became of a reference
 * is in git's own lines on stdout; the remote's words on stderr only say why.
 */
#include "git/claims/claims.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/claims/claim_objects.h"
#include "git/commit.h"
#include "git/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what an end means --- */

static bool has_any(const char *text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strstr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/**
 * The line of a reference: "FLAG<tab>FROM:REFERENCE<tab>SUMMARY".
 * @param ret_summary owned; NULL when there is no line
 * @return its flag, or 0
 */
static char find_line(const char *output, const char *reference, char **ret_summary)
{
    size_t reference_len = strlen(reference);
    for (const char *line = output; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *colon = len > 2 && line[1] == '\t' ? memchr(line, ':', len) : NULL;
        const char *to = colon == NULL ? line : colon + 1;
        if (colon != NULL && strncmp(to, reference, reference_len) == 0 &&
            to[reference_len] == '\t') {
            const char *summary = to + reference_len + 1;
            *ret_summary = memory_dup_bytes(summary, (size_t)(line + len - summary));
            return *line;
        }
        line += len;
        line += line[0] == '\n';
    }
    *ret_summary = NULL;
    return '\0';
}

/** Why a reference was rejected. */
static enum git_claim_end judge_rejection(const char *summary, const struct git_reply *reply)
{
    static const char *const lost[] = {
        "stale info",
        "fetch first",
        "non-fast-forward",
        "already exists",
        "but expected",
        "reference does not exist",
        "incorrect old value",
        "reference is missing",
        "unable to resolve reference",
        "cannot create",
        NULL,
    };
    /* The remote tells more on stderr, if at all. It may be a lock that is in the way: others are
     * pushing, or were killed as they did; nobody knows who has the claim. */
    static const char *const unclear[] = {
        "cannot lock ref",      "atomic transaction failed",
        "atomic push failure",  "atomic push failed",
        "failed to update ref", "transaction failed to start",
        "failed to lock",       NULL,
    };
    if (has_any(summary, lost)) {
        return GIT_CLAIM_LOST;
    }
    if (!has_any(summary, unclear)) {
        return GIT_CLAIM_REFUSED;
    }
    return has_any(buf_string(&reply->errors), lost) ? GIT_CLAIM_LOST : GIT_CLAIM_NETWORK;
}

/** @param branch pushed with it; NULL = none */
static enum git_claim_end judge_push(const struct git_reply *reply, const char *reference,
                                     const char *branch)
{
    static const char *const together[] = {"atomic push failed", "atomic push failure", NULL};
    auto_free char *summary = NULL;
    auto_free char *branch_summary = NULL;
    char flag = find_line(buf_string(&reply->output), reference, &summary);
    if (reply->exit_code == 0) {
        return flag != '\0' && flag != '!' ? GIT_CLAIM_DONE : GIT_CLAIM_NETWORK;
    }
    /* Of two references that fail together one has the reason. Over HTTP git may not come to write
     * the line of the other one: it reads its helper's message as an answer. */
    bool is_branch = branch != NULL && (flag != '!' || has_any(summary, together)) &&
                     find_line(buf_string(&reply->output), branch, &branch_summary) == '!';
    if (!is_branch && flag != '!') {
        return git_access_judge(reply);
    }
    return judge_rejection(is_branch ? branch_summary : summary, reply);
}

/* --- pushing --- */

/** What is pushed to one reference by compare and swap, and a branch with it. */
struct push {
    const char *reference;
    const char *old_id;
    const char *new_id; /* "" = delete */
    const char *branch; /* whole name; NULL = none */
    const char *commit;
};

static int run_push(const struct git_connection *connection, const struct push *push,
                    struct git_reply *ret_reply, struct rondo_error *err)
{
    auto_buf struct buf lease = {0};
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    buf_printf(&lease, "--force-with-lease=%s:%s", push->reference, push->old_id);
    buf_printf(&first, "%s:%s", push->new_id, push->reference);
    const char *arguments[] = {"push",
                               "--porcelain",
                               "--no-force",
                               "--no-verify",
                               "--no-signed",
                               "--no-follow-tags",
                               "--recurse-submodules=no",
                               buf_string(&lease),
                               push->branch == NULL ? "--no-atomic" : "--atomic",
                               "--",
                               GIT_CONNECTION,
                               buf_string(&first),
                               NULL,
                               NULL};
    if (push->branch != NULL) {
        buf_printf(&second, "%s:%s", push->commit, push->branch);
        arguments[12] = buf_string(&second);
    }
    /* Not repeated: a second one would be told that the claim is there, or gone, already. */
    const struct git_call call = {.arguments = arguments, .is_once = true};
    return git_connection_run(connection, call, ret_reply, err);
}

/** @param ret_result `id` is left to the caller */
static int push_and_judge(const struct git_connection *connection, const struct push *push,
                          struct git_claim_result *ret_result, struct rondo_error *err)
{
    auto_git_reply struct git_reply reply = {0};
    struct rondo_error killed = {0};
    int r = run_push(connection, push, &reply, &killed);
    if (r == GIT_NOT_ANSWERED || r == RONDO_ERR_SYSTEM) {
        *ret_result = (struct git_claim_result){
            .end = GIT_CLAIM_NETWORK,
            .reason = memory_dup_string(r == GIT_NOT_ANSWERED ? "the remote did not answer in time"
                                                              : killed.message)};
        return 0;
    }
    if (r != 0) {
        return error_set(err, r, "%s", killed.message);
    }
    *ret_result = (struct git_claim_result){
        .end = judge_push(&reply, push->reference, push->branch),
        .reason = git_access_reason(&reply),
    };
    return 0;
}

void git_claim_result_fini(struct git_claim_result *result)
{
    free(result->reason);
    *result = (struct git_claim_result){0};
}

/* --- making --- */

static int check_id(const struct git *git, const char *id, struct rondo_error *err)
{
    return git_id_is_valid(git->repository, id)
               ? 0
               : error_set(err, RONDO_ERR_INVALID, "'%.80s' is not the id of a commit", id);
}

static int check_text(const char *text, struct rondo_error *err)
{
    size_t len = strlen(text);
    return len > 0 && len <= LIMIT_GIT_CLAIM_BYTES && text[len - 1] != '\n'
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "a claim needs a text of at most %zu bytes without line end",
                           LIMIT_GIT_CLAIM_BYTES);
}

static int check_change(const struct git *git, const struct git_claim_change *change,
                        struct rondo_error *err)
{
    int r = git_branch_check_name(change->name, err);
    if (r == 0 && *change->old_id != '\0') {
        r = check_id(git, change->old_id, err);
    }
    if (r == 0 && change->text == NULL && *change->old_id == '\0') {
        r = error_set(err, RONDO_ERR_INVALID, "a claim that is not there cannot be deleted");
    }
    if (r == 0 && change->text != NULL) {
        r = check_text(change->text, err);
    }
    if (r == 0 && change->branch != NULL) {
        r = git_branch_check_name(change->branch, err);
        r = r != 0 ? r : check_id(git, change->commit, err);
    }
    return r;
}

/** Run git for an id that it prints. @return GIT_NOT_ANSWERED, too */
static int run_for_id(const struct git_connection *connection, const char *const *arguments,
                      const char *input, char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {
        .arguments = arguments, .input = input, .input_len = strlen(input)};
    int r = git_connection_run(connection, call, &reply, err);
    if (r == 0 && reply.exit_code != 0) {
        r = git_fail(&reply, "cannot make a claim", err);
    }
    if (r == 0) {
        snprintf(ret_id, GIT_ID_SIZE, "%s", git_reply_line(&reply));
        r = check_id(connection->git, ret_id, err);
    }
    return r;
}

/** Nobody's name, and always the same time: the same text is the same commit. */
static void add_author(struct git_connection *connection)
{
    static const char *const rows[][2] = {
        {"GIT_AUTHOR_NAME", "Rondo"},
        {"GIT_AUTHOR_EMAIL", "rondo@localhost"},
        {"GIT_AUTHOR_DATE", "@0 +0000"},
        {"GIT_COMMITTER_NAME", "Rondo"},
        {"GIT_COMMITTER_EMAIL", "rondo@localhost"},
        {"GIT_COMMITTER_DATE", "@0 +0000"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        git_connection_add(connection, rows[i][0], rows[i][1]);
    }
}

static int make_commit(struct git_connection *connection, const char *text,
                       char ret_id[GIT_ID_SIZE], struct rondo_error *err)
{
    static const char *const make_tree[] = {"mktree", NULL};
    char tree[GIT_ID_SIZE];
    add_author(connection);
    int r = run_for_id(connection, make_tree, "", tree, err);
    const char *const arguments[] = {
        "-c", "i18n.commitEncoding=UTF-8", "commit-tree", "--no-gpg-sign", "-F", "-", tree, NULL};
    return r != 0 ? r : run_for_id(connection, arguments, text, ret_id, err);
}

static int change_on(struct git_connection *connection, const struct git_claim_change *change,
                     struct git_claim_result *ret_result, struct rondo_error *err)
{
    auto_buf struct buf reference = {0};
    auto_buf struct buf branch = {0};
    char id[GIT_ID_SIZE] = "";
    int r = change->text == NULL ? 0 : make_commit(connection, change->text, id, err);
    if (r == GIT_NOT_ANSWERED) {
        *ret_result = (struct git_claim_result){.end = GIT_CLAIM_NETWORK,
                                                .reason = memory_dup_string("git was too slow")};
        return 0;
    }
    if (r != 0) {
        return r;
    }
    buf_printf(&reference, GIT_CLAIMS "%s", change->name);
    struct push push = {
        .reference = buf_string(&reference), .old_id = change->old_id, .new_id = id};
    if (change->branch != NULL) {
        buf_printf(&branch, "refs/heads/%s", change->branch);
        push.branch = buf_string(&branch);
        push.commit = change->commit;
    }
    r = push_and_judge(connection, &push, ret_result, err);
    if (r == 0 && ret_result->end == GIT_CLAIM_DONE) {
        memcpy(ret_result->id, id, sizeof(id));
    }
    return r;
}

int git_claim_change(struct git *git, const struct git_access *access,
                     const struct git_claim_change *change, struct git_claim_result *ret_result,
                     struct rondo_error *err)
{
    auto_git_connection struct git_connection connection = {0};
    struct git_claim_objects objects = {0};
    int r = check_change(git, change, err);
    if (r == 0) {
        r = git_connection_open(git, access, true, &connection, err);
    }
    if (r == 0) {
        r = git_claim_objects_open(&connection, &objects, err);
    }
    if (r == 0) {
        r = change_on(&connection, change, ret_result, err);
    }
    git_claim_objects_fini(&objects);
    return r;
}

/** Compare and swap of one branch. @param commit "" = delete */
static int change_branch(struct git *git, const struct git_access *access, const char *branch,
                         const char *old_id, const char *commit, enum git_claim_end *ret_end,
                         struct rondo_error *err)
{
    auto_git_connection struct git_connection connection = {0};
    auto_buf struct buf reference = {0};
    struct git_claim_result result = {0};
    int r = git_branch_check_name(branch, err);
    if (r == 0) {
        r = git_connection_open(git, access, true, &connection, err);
    }
    buf_printf(&reference, "refs/heads/%s", branch);
    const struct push push = {
        .reference = buf_string(&reference), .old_id = old_id, .new_id = commit};
    if (r == 0) {
        r = push_and_judge(&connection, &push, &result, err);
    }
    if (r == 0) {
        *ret_end = result.end;
        error_set(result.end == GIT_CLAIM_DONE ? NULL : err, RONDO_ERR_STATE, "%s", result.reason);
    }
    git_claim_result_fini(&result);
    return r;
}

int git_move_remote_branch(struct git *git, const struct git_access *access, const char *branch,
                           const char *old_id, const char *commit, enum git_claim_end *ret_end,
                           struct rondo_error *err)
{
    int r = check_id(git, commit, err);
    if (r == 0 && old_id[0] != '\0') {
        r = check_id(git, old_id, err);
    }
    return r != 0 ? r : change_branch(git, access, branch, old_id, commit, ret_end, err);
}

int git_delete_remote_branch(struct git *git, const struct git_access *access, const char *branch,
                             const char *commit, enum git_claim_end *ret_end,
                             struct rondo_error *err)
{
    int r = check_id(git, commit, err);
    return r != 0 ? r : change_branch(git, access, branch, commit, "", ret_end, err);
}
