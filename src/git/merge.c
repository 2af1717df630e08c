// SPDX-License-Identifier: Apache-2.0
/*
 * Merges by `git merge-tree --write-tree`. Git 2.39 has no --merge-base; the merge base of a commit
 * and a tip in whose history its parent is, is that parent, which is checked before.
 */
#include "git/merge.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "git/commit.h"

#include <stdio.h>
#include <string.h>

static int take_merge(const struct git *git, const struct git_reply *reply, struct git_merge *merge,
                      struct rondo_error *err)
{
    const char *at = buf_string(&reply->output);
    const char *end = at + reply->output.len;
    size_t count = 0;
    if (reply->exit_code > 1 || !git_id_is_valid(git->repository, at)) {
        return git_fail(reply, "cannot merge", err);
    }
    merge->has_conflicts = reply->exit_code == 1;
    snprintf(merge->tree, sizeof(merge->tree), "%s", merge->has_conflicts ? "" : at);
    for (at += strlen(at) + 1; at < end && *at != '\0'; at += strlen(at) + 1) {
        merge->conflicts = memory_resize(merge->conflicts, count + 2, sizeof(char *));
        merge->conflicts[count++] = memory_dup_string(at);
        merge->conflicts[count] = NULL;
    }
    return 0;
}

static int run_merge(struct git *git, const char *tip, const char *commit,
                     struct git_merge *ret_merge, struct rondo_error *err)
{
    const char *const arguments[] = {
        "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, commit, NULL};
    const struct git_call call = {.arguments = arguments, .output_limit = LIMIT_GIT_LIST_BYTES};
    struct git_merge merge = {.conflicts = memory_new_zero(1, sizeof(char *))};
    auto_git_reply struct git_reply reply = {0};
    int r = git_call_run(git, &call, &reply, err);
    if (r == 0) {
        r = take_merge(git, &reply, &merge, err);
    }
    if (r != 0) {
        git_merge_fini(&merge);
        return r;
    }
    *ret_merge = merge;
    return 0;
}

int git_merge_try(struct git *git, const char *base, const char *tip, const char *commit,
                  struct git_merge *ret_merge, struct rondo_error *err)
{
    bool is_tip_later = false;
    bool is_commit_later = false;
    int r = git_commit_is_ancestor(git, base, tip, &is_tip_later, err);
    if (r == 0) {
        r = git_commit_is_ancestor(git, base, commit, &is_commit_later, err);
    }
    if (r == 0 && !(is_tip_later && is_commit_later)) {
        r = error_set(err, RONDO_ERR_STATE,
                      "the history of the branch was rewritten: it no longer contains %.12s", base);
    }
    return r != 0 ? r : run_merge(git, tip, commit, ret_merge, err);
}

void git_merge_fini(struct git_merge *merge)
{
    memory_free_list(merge->conflicts);
    *merge = (struct git_merge){0};
}
