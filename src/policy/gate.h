// SPDX-License-Identifier: Apache-2.0
/*
 * The gate of a running loop: before each step the policies are brought up to date, and then they
 * decide. One for each loop, used by its thread only. Nothing here blocks but reading policy files
 * that have changed. A gate that cannot decide denies.
 */
#pragma once

#include "policy/request.h"
#include "policy/verdict.h"
#include "policy/watch.h"

struct policy_gate;
struct store_premise;

/**
 * Open the gate of a run and read its policies.
 * @param watch    of its policies; outlives the gate
 * @param run      copied
 * @param in_force digest that the run's journal has last, "" = built in: the first refresh
 *                 reports when it is another one
 * @return 0 with *ret_gate for policy_gate_free(); RONDO_ERR_INVALID, RONDO_ERR_NOT_FOUND when
 *         there are no valid policies; RONDO_ERR_DENIED when they must be confirmed
 */
int policy_gate_open(struct watch *watch, const struct policy_run *run, const char *in_force,
                     struct policy_gate **ret_gate, struct rondo_error *err);
/** NULL is allowed. */
void policy_gate_free(struct policy_gate *gate);

/** The rules in force at the last step. Borrowed until the next. */
const struct ruleset *policy_gate_ruleset(const struct policy_gate *gate);

/** Say what models and tools the run may use. @param resources copied */
void policy_gate_set_resources(struct policy_gate *gate, const struct policy_resource *resources,
                               size_t count);
/** Use the limits of a run from the next decision on. */
void policy_gate_set_limits(struct policy_gate *gate, const struct policy_run *run);

/** Bytes that the limits in an update take at most: four names with a number each. */
#define POLICY_UPDATE_LIMITS_SIZE 160

/** What happened to the policies since the step before. Texts are borrowed until the next one. */
struct policy_update {
    enum watch_news news;
    const char *sha256; /**< in force now; "" = built in */
    const char *source;
    const char *by;
    const char *message;                        /**< WATCH_REFUSED: what is wrong */
    char limits[POLICY_UPDATE_LIMITS_SIZE];     /**< JSON object, as the journal has it */
    char old_limits[POLICY_UPDATE_LIMITS_SIZE]; /**< "" = there were none before */
};

/** See watch_rely(). */
bool policy_gate_rely(struct policy_gate *gate, struct store_premise *ret_premise);

/**
 * Bring the policies up to date.
 * @param request for the limits in the update
 * @param relies  the caller finds out by its next commit whether the store has others
 * (policy_gate_rely())
 */
void policy_gate_refresh(struct policy_gate *gate, const struct policy_request *request,
                         bool relies, struct policy_update *ret_update);

/** Decide. With the verdict that allows an iteration come the limits ahead. */
void policy_gate_decide(struct policy_gate *gate, const struct policy_request *request,
                        struct policy_verdict *ret_verdict);

/** See subject_find_limits. */
void policy_gate_find_limits(struct policy_gate *gate, const struct policy_request *request,
                             struct policy_limit ret_limits[RUN_LIMIT_COUNT]);
