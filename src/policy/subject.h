// SPDX-License-Identifier: Apache-2.0
/*
 * One run before the policies: it turns requests into Cedar's and decides. The context that
 * policies see is built here and only here, from the runtime's own facts, with every attribute that
 * the vocabulary declares.
 */
#pragma once

#include "policy/request.h"
#include "policy/ruleset.h"
#include "policy/verdict.h"

struct subject;

/** @param run copied @param ruleset see subject_set_ruleset. Never NULL; subject_free(). */
struct subject *subject_new(const struct policy_run *run, struct ruleset *ruleset);
void subject_free(struct subject *subject);

/** Change the four limits in the run's options, as a resume may. */
void subject_set_limits(struct subject *subject, const struct policy_run *run);
/** Say what models and tools the run may use. @param resources copied */
void subject_set_resources(struct subject *subject, const struct policy_resource *resources,
                           size_t count);

/** Use another ruleset; NULL = none, which denies everything. Keeps a reference. */
void subject_set_ruleset(struct subject *subject, struct ruleset *ruleset);
const struct ruleset *subject_ruleset(const struct subject *subject);

/** Decide. One thread at a time for a subject; takes no lock. */
void subject_decide(struct subject *subject, const struct policy_request *request,
                    struct policy_verdict *ret_verdict);

/**
 * Find the limits of iterating: those ahead of the run now. Where it may not iterate now, those
 * that it meets from its start on, because one that is used up would hide the others.
 * @param ret_limits `limit` in them is the first value that is denied
 */
void subject_find_limits(struct subject *subject, const struct policy_request *now,
                         struct policy_limit ret_limits[RUN_LIMIT_COUNT]);

/* Of the last subject_decide, until the next call. */

/** What Cedar said, with its policies and errors. Zero when it was not asked. */
const struct cedar_answer *subject_answer(const struct subject *subject);
/** VERDICT_INVALID_CONTEXT, VERDICT_POLICY_ERROR, VERDICT_UNAVAILABLE: in words; else "". */
const char *subject_problem(const struct subject *subject);
/** The request that Cedar got, for explanations. */
const struct cedar_request *subject_request(const struct subject *subject);
