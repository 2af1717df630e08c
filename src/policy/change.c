// SPDX-License-Identifier: Apache-2.0
/*
 * Checking, recording and replacing a policy file.
 *
 * all opens: the policies in force, which an administrator replaces; no sandbox shows them as
 * writable.
 */
#include "policy/change.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "os/file.h"
#include "os/trust.h"
#include "policy/replica.h"
#include "policy/source_lock.h"
#include "policy/subject.h"
#include "policy/written_request.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int policy_load(const char *path, bool is_optional, struct policy_findings *findings,
                struct ruleset **ret_ruleset, struct rondo_error *err)
{
    if (is_optional && !file_exists(path)) {
        return ruleset_make(RULESET_BUILT_IN, NULL, 0, NULL, NULL, ret_ruleset, err);
    }
    return watch_read(path, policy_findings_add, findings, ret_ruleset, err);
}

size_t policy_count(const struct ruleset *ruleset)
{
    bool is_built_in = strcmp(ruleset->source, RULESET_BUILT_IN) == 0;
    return is_built_in ? cedar_policies_count(ruleset->policies) : ruleset->given_count;
}

void policy_default_limits(struct ruleset *ruleset, struct policy_limit ret_limits[RUN_LIMIT_COUNT])
{
    struct written_request written;
    written_request_init(&written, clock_now(clock_system()));
    struct subject *subject = subject_new(&written.run, ruleset);
    subject_find_limits(subject, &written.request, ret_limits);
    subject_free(subject);
    written_request_fini(&written);
}

int policy_change_check(const struct policy_change *change, struct policy_findings *findings,
                        struct ruleset **ret_next, struct rondo_error *err)
{
    struct stat status;
    if (stat(change->path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return error_set(err, RONDO_ERR_STATE, "%s is a folder; change the files in it",
                         change->path);
    }
    return watch_read_as(change->path, change->text, change->len, policy_findings_add, findings,
                         ret_next, err);
}

static int record(struct store *store, const struct policy_change *change,
                  const struct ruleset *ruleset, struct rondo_error *err)
{
    struct store_policy_change entry = {
        .time_ns = clock_now(clock_system()),
        .source = policy_history_source(change->path),
        .digest = ruleset->digest,
        .how = "set",
        .by = change->by,
        .text = ruleset->text,
        .text_len = ruleset->text_len,
    };
    uint64_t number = 0;
    bool is_new = false;
    return store->ops->record_policy(store, &entry, &number, &is_new, err);
}

/** Replace the file, or the one that a symbolic link leads to, and keep its mode. */
static int replace(const struct policy_change *change, struct policy_changed *changed,
                   struct rondo_error *err)
{
    struct stat status;
    auto_free char *real = realpath(change->path, NULL);
    const char *path = real == NULL ? change->path : real;
    bool has_mode = stat(path, &status) == 0;
    int r = file_replace_durably(path, change->text, change->len, err);
    if (r == 0 && has_mode && chmod(path, status.st_mode & 07777) < 0) {
        snprintf(changed->warning, sizeof(changed->warning), "the mode of %.128s could not be kept",
                 path);
    }
    return r;
}

/**
 * Record a change, and put it in force on other machines, if there are any.
 * @param version of what they share now
 */
static int announce(struct store *store, const struct policy_change *change,
                    const struct ruleset *next, uint64_t version, struct rondo_error *err)
{
    bool is_applied = true;
    int r = record(store, change, next, err);
    r = r < 0 ? r
              : policy_replica_put(store, change->path, change->text, change->len, version,
                                   &is_applied, err);
    if (r == 0 && !is_applied) {
        r = error_set(err, RONDO_ERR_BUSY,
                      "somebody else changed the policies at the same time; see `rondo policy "
                      "show`, and set yours again");
        policy_replica_bring(store, change->path, &version, NULL);
    }
    return r;
}

static int put(struct store *store, const struct policy_change *change, const struct ruleset *next,
               uint64_t version, struct policy_changed *changed, struct rondo_error *err)
{
    int r = announce(store, change, next, version, err);
    if (r < 0) {
        return r;
    }
    /* A change made through Rondo also confirms policies that need a confirmation. */
    bool is_confirmed = trust_stamp(TRUST_POLICY, change->path) != 0;
    r = is_confirmed
            ? trust_confirm(TRUST_POLICY, change->path, next->digest, strlen(next->digest), err)
            : 0;
    r = r < 0 ? r : replace(change, changed, err);
    if (r < 0) {
        if (is_confirmed && changed->before != NULL) {
            trust_confirm(TRUST_POLICY, change->path, changed->before->digest,
                          strlen(changed->before->digest), NULL);
        }
        /* What was recorded did not happen; what is there is recorded on top of it. */
        if (changed->before == NULL || record(store, change, changed->before, NULL) < 0) {
            error_prefix(err, "the history has an entry %.12s that never was in force",
                         next->digest);
        }
        return r;
    }
    return 0;
}

/** Whether the policies were so far those of this machine alone, in spite of the store. */
static bool is_not_shared(const struct policy_change *change, uint64_t version)
{
    return version == 0 && strcmp(policy_history_source(change->path), POLICY_SHARED_SOURCE) == 0;
}

int policy_change_apply(struct store *store, const struct policy_change *change,
                        const struct ruleset *next, struct policy_changed *ret_changed,
                        struct rondo_error *err)
{
    struct policy_findings findings = {0};
    uint64_t version = 0;
    int lock = source_lock(change->path, true);
    int r = policy_replica_bring(store, change->path, &version, err);
    if (r < 0) {
        source_unlock(lock);
        return r;
    }
    struct policy_changed changed = {.had_file = file_exists(change->path)};
    policy_load(change->path, true, &findings, &changed.before, NULL);
    policy_findings_fini(&findings);
    const char *now = changed.before == NULL ? "" : changed.before->digest;
    changed.is_conflict = change->if_digest != NULL && strcmp(change->if_digest, now) != 0;
    changed.is_changed =
        !changed.is_conflict &&
        (!changed.had_file || strcmp(now, next->digest) != 0 || is_not_shared(change, version));
    r = changed.is_changed ? put(store, change, next, version, &changed, err) : 0;
    source_unlock(lock);
    if (r < 0) {
        policy_changed_fini(&changed);
        return r;
    }
    *ret_changed = changed;
    return 0;
}

void policy_changed_fini(struct policy_changed *changed)
{
    ruleset_unref(changed->before);
    changed->before = NULL;
}
