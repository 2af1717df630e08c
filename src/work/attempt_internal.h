// SPDX-License-Identifier: Apache-2.0
/* What the files of an attempt share. Internal to it. The attempt's thread. */
#pragma once

#include "work/attempt.h"

#include "git/changes.h"

/** A working tree of the attempt. Borrowed. */
struct attempt_place {
    const char *folder;
    const char *index_path;
    const char *base;            /**< commit that it began from */
    struct git_index_mark *mark; /**< of our index; a worker without a sandbox reaches it */
};

/** Note why the attempt fails. @return false, for `return attempt_fail(...)` */
bool attempt_fail(struct attempt *attempt, const char *outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The machine failed, and not the worker. One that was stopped is parked. @return false */
bool attempt_fail_by(struct attempt *attempt, const struct rondo_error *err);

/** Keep the end of what shows why it fails. @param output may be NULL */
void attempt_keep_output(struct attempt *attempt, const char *output, size_t len);

/** Make the variables that all commands of the attempt get. */
void attempt_make_variables(struct attempt *attempt);

/** Have the parent's thread record a check. @param result is taken over */
void attempt_post_check(struct attempt *attempt, const char *stage,
                        const struct loop_condition *condition, struct verify_result *result);

/** A use of the repository that ends when the attempt is stopped. */
struct git attempt_git(struct attempt *attempt);

/** What to read the changes of a place with. Borrowed. */
struct git_changes_request attempt_changes_request(const struct attempt *attempt,
                                                   const struct attempt_place *place);

/** Take changes as what will be committed, if they may be. */
bool attempt_take_changes(struct attempt *attempt, const struct git_changes *changes);

/** Run the hook pre-commit, if there is one. What it changes is taken. */
bool attempt_run_pre_commit(struct attempt *attempt, const struct attempt_place *place);

/** A commit that no branch has. */
int attempt_make_commit(struct attempt *attempt, const char *tree, const char *parent,
                        char ret_id[GIT_ID_SIZE], struct rondo_error *err);

/** Have the reviewer, if there is one, decide about what will be committed. */
bool attempt_review(struct attempt *attempt);

/** Make the message of the commit, with the hook commit-msg, if there is one. */
bool attempt_make_message(struct attempt *attempt, const struct attempt_place *place);

/**
 * Note which files that --protect names, and that are in no commit, are there before the worker:
 * the preparation of the tree has made them.
 * @param guard zeroed by the caller
 */
bool attempt_guard_begin(struct attempt *attempt, const struct attempt_place *place,
                         struct attempt_guard *guard);

/**
 * Remove such files that are new; the attempt is refused when one of a commit is not as
 * git_changes_read() took it.
 * @param by the command that was run; NULL = the worker
 * @param ret_has_removed whether there were new ones; may be NULL
 */
bool attempt_guard_hold(struct attempt *attempt, const struct attempt_place *place,
                        struct attempt_guard *guard, const char *by, bool *ret_has_removed);

void attempt_guard_fini(struct attempt_guard *guard);
