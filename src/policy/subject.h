// SPDX-License-Identifier: Apache-2.0
/*
 * One run before the policies: its agent, its options and what the runtime knows about it, and the
 * verdict on what it wants to do. The context that policies see is built here and only here, from
 * the runtime's own facts, with every attribute that the vocabulary declares.
 *
 * A verdict is Cedar's decision and one rule more, which errs on the side of no: a forbid that
 * could not be evaluated denies. Both are kept apart, so that a record can show either.
 */
#pragma once

#include "policy/limit.h"
#include "policy/ruleset.h"
#include "policy/vocabulary.h"

/** A model or tool that the run may use: an entity with the attributes of the vocabulary. */
struct subject_resource {
    enum vocabulary_action action; /**< ACTION_CALL_MODEL or ACTION_CALL_TOOL */
    const char *id;
    const char *origin; /**< of a model its provider, of a tool its server; "" = built in */
    bool is_read_only;  /**< of a tool: it is declared to change nothing */
};

/** What does not change while a run goes on. Texts are copied. */
struct subject_options {
    const char *agent_id;
    const char *run_id;
    const char *kind;       /**< "command", "library" */
    const char *workspace;  /**< absolute path */
    int64_t max_iterations; /**< 0 = not given, as for the next ones */
    int64_t max_tokens;
    int64_t max_cost_micro;
    int64_t max_elapsed_ns;
    const struct subject_resource *resources; /**< NULL = none */
    size_t resource_count;
};

/** What is known now. */
struct subject_facts {
    int64_t iteration; /**< completed ones */
    int64_t elapsed_ns;
    int64_t tokens;
    int64_t cost_micro;
    int64_t consecutive_failures;
    int64_t conditions_met;
    int64_t conditions_total;
    int64_t now_ns; /**< wall clock */
    bool is_approved;
};

/** A step that somebody wants to take. */
struct subject_step {
    enum vocabulary_action action;
    const char *resource;  /**< id of the tool or model; NULL = the run itself */
    const char *condition; /**< ACTION_VERIFY: name of the exit condition */
    const char *input;     /**< ACTION_CALL_TOOL: canonical arguments, a JSON object; NULL = {} */
    const char *raw;       /**< the same as the agent wrote them; NULL = as `input` */
};

enum verdict_outcome {
    VERDICT_ALLOW,
    VERDICT_DENY,
    VERDICT_ASK, /**< denied until a person approves */
};

enum verdict_reason {
    VERDICT_PERMITTED,       /**< allowed */
    VERDICT_FORBIDDEN,       /**< a forbid is satisfied */
    VERDICT_NOT_PERMITTED,   /**< no permit is satisfied */
    VERDICT_APPROVAL_NEEDED, /**< every satisfied forbid says @on_deny("ask") */
    VERDICT_POLICY_ERROR,    /**< a forbid could not be evaluated */
    VERDICT_INVALID_CONTEXT, /**< the arguments cannot be expressed in Cedar */
    VERDICT_UNAVAILABLE,     /**< there are no policies to ask */
};

/** Policies that a verdict names in full; the count tells of more. */
#define VERDICT_NAMED 16

/** The answer. What it points to is the subject's, until the next question. */
struct verdict {
    enum verdict_outcome outcome;
    enum verdict_reason reason;
    bool is_allowed_by_cedar;   /**< the plain decision */
    struct cedar_answer answer; /**< with its policies and errors */
    const char *policy;         /**< id of the deciding policy, "" when there is none */
    const char *text;           /**< its @reason, or "" */
    bool is_own;                /**< it is one of Rondo's own: an option of the run */
    enum limit_counter counter; /**< which counter made it so; LIMIT_COUNTER_COUNT = none */
    struct limit limit;         /**< of that counter, from 0 */
    int64_t value;              /**< of that counter now */
    const char *problem;        /**< VERDICT_INVALID_CONTEXT, VERDICT_POLICY_ERROR: in words */
};

struct subject;

/** Never NULL; subject_free(). */
struct subject *subject_new(const struct subject_options *options);
void subject_free(struct subject *subject);

/** Change the options, as a resume may. */
void subject_set_options(struct subject *subject, const struct subject_options *options);

/** Use another ruleset; NULL = none, which denies everything. Keeps a reference. */
void subject_set_ruleset(struct subject *subject, struct ruleset *ruleset);
const struct ruleset *subject_ruleset(const struct subject *subject);

/** Decide. One thread at a time for a subject; takes no lock. */
void subject_decide(struct subject *subject, const struct subject_facts *facts,
                    const struct subject_step *step, struct verdict *ret_verdict);

/** The limit of a counter from its present value on, for `iterate`. */
struct limit subject_limit(struct subject *subject, const struct subject_facts *facts,
                           enum limit_counter counter);

/** Present value of a counter in the units of limits. */
int64_t subject_value(const struct subject_facts *facts, enum limit_counter counter);

/** "allow", "deny", "ask". Static. */
const char *verdict_outcome_name(enum verdict_outcome outcome);
/** "forbidden", ... Static. */
const char *verdict_reason_name(enum verdict_reason reason);

/** The request of the last subject_decide, for explanations. */
const struct cedar_request *subject_request(const struct subject *subject);
struct cedar_evaluator *subject_evaluator(struct subject *subject);
