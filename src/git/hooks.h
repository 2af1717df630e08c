// SPDX-License-Identifier: Apache-2.0
/*
 * Running the hooks of a repository for a commit that the runtime makes. They are the person's:
 * from the folder that git names for the person's own working tree. They run on files of an agent,
 * often run programs of the tree, and so only in the sandbox that the caller gives. In it they can
 * change the working tree and a scratch copy of the index; the git folder is readable only, and
 * objects that they make go into the scratch folder. What they did to the index does not count, the
 * working tree does.
 */
#pragma once

#include "git/changes.h"

struct sandbox_policy;

enum git_hook { GIT_HOOK_PRE_COMMIT, GIT_HOOK_COMMIT_MESSAGE, GIT_HOOK_COUNT };

/** "pre-commit", "commit-msg". Static. */
const char *git_hook_name(enum git_hook hook);

/**
 * The program of a hook, as git chooses it.
 * @param tree_path of the attempt's working tree
 * @param ret_is_in_tree whether it is in that tree, because an absolute core.hooksPath leads there:
 *        an agent may have written it; may be NULL
 * @return canonical path, owned; NULL when there is none, or it is not executable
 */
char *git_hook_find(const struct git_repository *repository, enum git_hook hook,
                    const char *tree_path, bool *ret_is_in_tree);

/** What to run. Borrowed. */
struct git_hook_request {
    enum git_hook hook;
    struct git_changes_request changes; /**< the working tree, looked at by git_changes_read */
    const char *tree;                   /**< what that call has found in it */
    const char *message; /**< of the commit, for GIT_HOOK_COMMIT_MESSAGE; else NULL */
    const struct sandbox_policy *sandbox; /**< with the working tree as workspace; never NULL. Its
                                               tier is none only where a person has said so */
    const char *const *variables; /**< further "NAME=value"; or NULL. The sandbox names those that
                                       reach the hook */
    const char *supervisor;       /**< as in struct spawn_request; may be NULL */
    int64_t total_ns;             /**< deadline; 0 = GIT_HOOK_NS */
    size_t output_keep;           /**< bytes of the output's end */
};

#define GIT_HOOK_NS (INT64_C(600) * 1000000000)

/** How it went. git_hook_result_fini() */
struct git_hook_result {
    bool is_missing;            /**< there is no such hook: nothing was run */
    bool has_passed;            /**< it ended with 0, or is missing */
    int exit_code;              /**< -1 when a signal or the deadline ended it */
    char reason[256];           /**< for people, when it did not exit */
    char *output;               /**< end of stdout and stderr; owned, never NULL */
    bool is_tree_changed;       /**< the hook changed files: `changes.tree` will be committed */
    struct git_changes changes; /**< of the working tree after it; only if it has passed */
    char *message;              /**< after it; owned; NULL for GIT_HOOK_PRE_COMMIT */
    bool is_message_changed;
};

/**
 * Run a hook. A hook that refuses is an outcome.
 * @return RONDO_ERR_INVALID without a sandbox; RONDO_ERR_STATE when it cannot be started in it;
 *         RONDO_ERR_CANCELLED; RONDO_ERR_DENIED for what is no message any more; errors of
 *         git_changes_read
 */
int git_hook_run(struct git *git, const struct git_hook_request *request,
                 struct git_hook_result *ret_result, struct rondo_error *err);
void git_hook_result_fini(struct git_hook_result *result);
