// SPDX-License-Identifier: Apache-2.0
/*
 * The result of evaluating policies for a request (policy/request.h). One form, from the engine to
 * the journal, to the person who approves, and to `rondo policy explain`.
 *
 * A verdict is Cedar's decision and one rule more, which errs on the side of no: a forbid that
 * could not be evaluated denies. Both are kept apart, so that a record can show either.
 */
#pragma once

#include "base/digest.h"
#include "policy/limit.h"
#include "policy/ruleset.h"
#include "policy/vocabulary/severity.h"
#include "policy/vocabulary/vocabulary.h"
#include "rondo/types.h"

enum verdict_outcome {
    VERDICT_ALLOW,
    VERDICT_DENY,
    VERDICT_ASK, /**< denied until a person approves */
};

enum verdict_reason {
    VERDICT_PERMITTED,        /**< allowed */
    VERDICT_FORBIDDEN,        /**< a forbid is satisfied */
    VERDICT_NOT_PERMITTED,    /**< no permit is satisfied */
    VERDICT_APPROVAL_NEEDED,  /**< every satisfied forbid says @on_deny("ask") */
    VERDICT_POLICY_ERROR,     /**< a forbid could not be evaluated */
    VERDICT_INVALID_CONTEXT,  /**< the arguments cannot be expressed in Cedar */
    VERDICT_UNAVAILABLE,      /**< there are no policies */
    VERDICT_COST_UNKNOWN,     /**< the loop's own: a cost limit cannot be enforced */
    VERDICT_BUDGET_EXHAUSTED, /**< the body's own: a limit over all runs of the agent */
};

/** Policies that a verdict names in full; the count may be larger. */
#define VERDICT_NAMED 16
/** Bytes of the lists of policies and errors that a verdict carries. */
#define VERDICT_LIST_SIZE 1024

/** A policy that asks a person. Texts are cut to fit. */
struct verdict_ask {
    char rule[128];                /**< its id */
    char trigger[64];              /**< its @handoff, or VERDICT_TRIGGER */
    enum policy_severity severity; /**< its @severity */
};

/** The reason of a policy that asks without @handoff. */
#define VERDICT_TRIGGER "explicit_agent_rule"

/** A value: it may be kept and copied. */
struct policy_verdict {
    enum verdict_outcome outcome;
    enum verdict_reason reason;
    bool is_allowed_by_cedar; /**< the plain decision */
    bool is_own;            /**< the deciding policy is one of Rondo's own: an option of the run */
    int64_t deciding;       /**< its index in the ruleset; -1 = there is none */
    enum run_limit counter; /**< which counter made it deny; RUN_LIMIT_COUNT = none */
    /** When denied: that of `counter`. From policy_gate_decide, when an iteration is allowed: those
     * ahead. */
    struct policy_limit limits[RUN_LIMIT_COUNT];

    /* What follows is policy_verdict_describe's, and "" before. Texts are cut to fit. */
    char policy[128];                       /**< id of the deciding policy or limit */
    char text[256];                         /**< the policy's own @reason, or "" */
    char message[512];                      /**< for people */
    char sha256[DIGEST_HEX_SIZE];           /**< policies that decided; "" = Cedar was not asked */
    char policies[VERDICT_LIST_SIZE];       /**< JSON array of the deciding policies' ids, or "" */
    char errors[VERDICT_LIST_SIZE];         /**< JSON array of what could not be evaluated, or "" */
    struct verdict_ask asks[VERDICT_NAMED]; /**< VERDICT_ASK: who asks, most severe first */
    size_t ask_count;
};

/** A denial that nothing is known about yet, without the cost of clearing its texts. */
void policy_verdict_init(struct policy_verdict *ret_verdict);

/**
 * Put a denial in words, and list what decided it.
 * @param ruleset NULL = there was none
 * @param answer  Cedar's, if it was asked
 * @param problem VERDICT_INVALID_CONTEXT, VERDICT_POLICY_ERROR, VERDICT_UNAVAILABLE: what is wrong
 */
void policy_verdict_describe(struct policy_verdict *verdict, enum vocabulary_action action,
                             const struct ruleset *ruleset, const struct cedar_answer *answer,
                             const char *problem);

/** The limit that a verdict denies for; NULL = it denies for another reason, or does not deny. */
const struct policy_limit *policy_verdict_limit(const struct policy_verdict *verdict);

/**
 * Add what another verdict asks, of another form of the same step. Both are VERDICT_ASK.
 */
void policy_verdict_merge(struct policy_verdict *verdict, const struct policy_verdict *other);

/** The final status of a run that ends by this denial. */
enum rondo_status policy_verdict_status(const struct policy_verdict *verdict);

/** "allow", "deny", "ask". Static. */
const char *verdict_outcome_name(enum verdict_outcome outcome);
/** "forbidden", ... Static. */
const char *verdict_reason_name(enum verdict_reason reason);
