// SPDX-License-Identifier: Apache-2.0
/*
 * Why a request is allowed or denied, policy by policy. What is said comes from the evaluator
 * itself, which is asked again for the parts of a condition: nothing is read off a text, so an
 * explanation cannot disagree with the decision.
 *
 * Only the deciding part of a condition is reported: of `a && b` the part that is false, or both
 * when both are true.
 */
#pragma once

#include "rondo/cedar.h"

/** What a policy says to a request. */
enum explain_state {
    EXPLAIN_SATISFIED = 0, /**< scope and conditions hold: it permits or forbids */
    EXPLAIN_FAILED,        /**< a condition cannot be evaluated */
    EXPLAIN_UNSATISFIED,   /**< the scope matches, but a condition does not hold */
    EXPLAIN_OUT_OF_SCOPE,  /**< the scope does not match */
    EXPLAIN_STATE_COUNT,
};

enum explain_truth {
    EXPLAIN_FALSE = 0,
    EXPLAIN_TRUE,
    EXPLAIN_ERROR,
};

/** Parts of one condition that are reported, and operands of one part. */
#define EXPLAIN_TERMS  64
#define EXPLAIN_VALUES 16

/** `context.iteration` is 100. */
struct explain_value {
    const char *text;  /**< source text */
    const char *value; /**< as Cedar text; NULL when it has none because of an error */
};

/** A comparison, `has`, method or the like that decided. */
struct explain_term {
    const char *text; /**< source text, cut when it is long */
    enum explain_truth truth;
    const char *problem; /**< of an error, in words; else "" */
    const struct explain_value *values;
    size_t value_count;
};

struct explain_condition {
    bool is_unless;
    bool is_reached; /**< false: one before it decided; then nothing more is known of it */
    const char *text;
    enum explain_truth truth; /**< of the expression: an `unless` holds when it is false */
    const struct explain_term *terms;
    size_t term_count;
};

struct explain_policy {
    uint32_t index;
    enum explain_state state;
    bool is_forbid;
    const char *id;
    const char *file;
    unsigned line;
    const char *reason;         /**< its @reason, or "" */
    const char *scope;          /**< EXPLAIN_OUT_OF_SCOPE: the part that does not match, */
    const char *scope_variable; /**< what it is about ("action"), */
    const char *scope_value;    /**< and the request's value; else all "" */
    const struct explain_condition *conditions;
    size_t condition_count;
};

struct explain;

/** Both must outlive the result and not change. Never NULL. One thread at a time. */
struct explain *explain_new(const struct cedar_policies *policies,
                            const struct cedar_request *request);
/** NULL is allowed. */
void explain_free(struct explain *explain);

/** What a policy says. @param index below cedar_policies_count, as in the next one */
enum explain_state explain_state(struct explain *explain, uint32_t index);

/** All about a policy. Borrowed until the next call. */
const struct explain_policy *explain_policy(struct explain *explain, uint32_t index);

/** "satisfied", "failed", ... Static. */
const char *explain_state_name(enum explain_state state);
/** "false", "true", "error". Static. */
const char *explain_truth_name(enum explain_truth truth);
