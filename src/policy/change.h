// SPDX-License-Identifier: Apache-2.0
/*
 * Putting policies in force: they are checked first, then recorded in the store's history, then the
 * file is replaced, so that a process that notices the new file finds its author in the history.
 * Any thread; the caller must serialise changes of one file.
 */
#pragma once

#include "policy/findings.h"
#include "policy/limit.h"
#include "policy/watch.h"

struct store;

/**
 * Read and check the policies at a path.
 * @param is_optional whether there may be none: then it is Rondo's own policies
 * @param findings gets what is wrong; with `err` too
 * @param ret_ruleset ruleset_unref(); untouched on failure
 */
int policy_load(const char *path, bool is_optional, struct policy_findings *findings,
                struct ruleset **ret_ruleset, struct rondo_error *err);

/** Policies to count for people: the administrator's, or without any Rondo's own. */
size_t policy_count(const struct ruleset *ruleset);

/** The limits of an agent without options of its own. */
void policy_default_limits(struct ruleset *ruleset,
                           struct policy_limit ret_limits[RUN_LIMIT_COUNT]);

/** The policies to put in force. Texts are borrowed. */
struct policy_change {
    const char *path; /**< of the policy file */
    const char *text;
    size_t len;
    const char *by;        /**< the author; at most LIMIT_POLICY_BY_BYTES */
    const char *if_digest; /**< only in place of policies with this digest; NULL = of any */
};

/**
 * Check the text as if it were in the file at the path, with the entities and links beside it.
 * @param findings gets all that is wrong
 * @param ret_next ruleset_unref(); untouched on failure
 * @return 0; RONDO_ERR_STATE when the path is a folder, whose files must be changed instead; else
 *         what is wrong with the text
 */
int policy_change_check(const struct policy_change *change, struct policy_findings *findings,
                        struct ruleset **ret_next, struct rondo_error *err);

/** What became of a change. policy_changed_fini(). */
struct policy_changed {
    bool is_conflict;       /**< other policies than `if_digest` are in force; nothing changed */
    bool is_changed;        /**< false: the very same are in force already */
    bool had_file;          /**< whether there was a policy file */
    struct ruleset *before; /**< NULL = what was there is wrong */
    char warning[256];      /**< what did not go well in spite of success, or "" */
};

/** Put a checked text in force. @param next from policy_change_check */
int policy_change_apply(struct store *store, const struct policy_change *change,
                        const struct ruleset *next, struct policy_changed *ret_changed,
                        struct rondo_error *err);
void policy_changed_fini(struct policy_changed *changed);
