// SPDX-License-Identifier: Apache-2.0
/* A run before policies, for tests. */
#pragma once

#include "policy/subject.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define PERMIT "permit (principal, action, resource);\n"
#define FORBID "forbid (principal, action, resource) "

/** Wednesday, the 21st of January 2026. */
#define WEDNESDAY_NS (INT64_C(1768953600) * NS_PER_S)
#define DAY_NS       (INT64_C(86400) * NS_PER_S)

/** An expression that fails in a run that has used tokens. */
#define OVERFLOWS "{ context.tokens + 9223372036854775807 > 0 }"

static const struct policy_run plain = {
    .agent_id = "fixer",
    .run_id = "run-1",
    .kind = "command",
    .workspace = "/srv/job",
};

static inline struct ruleset *rules(const char *policies, const char *entities)
{
    struct ruleset_text texts[] = {
        {RULESET_POLICIES, "p.cedar", policies, strlen(policies)},
        {RULESET_ENTITIES, "p.entities.json", entities, entities == NULL ? 0 : strlen(entities)},
    };
    struct ruleset *ruleset = NULL;
    struct rondo_error err = {0};
    if (ruleset_make("/p.cedar", texts, entities == NULL ? 1 : 2, NULL, NULL, &ruleset, &err) < 0) {
        fail_msg("%s\n%s", err.message, policies);
    }
    return ruleset;
}

static inline struct subject *subject_with(const struct policy_run *options, const char *policies,
                                           const char *entities)
{
    struct ruleset *ruleset = rules(policies, entities);
    struct subject *subject = subject_new(options, ruleset);
    ruleset_unref(ruleset);
    return subject;
}

/** Decide, and describe a denial as the gate does. */
static inline struct policy_verdict decide_request(struct subject *subject,
                                                   const struct policy_request *request)
{
    struct policy_verdict verdict;
    subject_decide(subject, request, &verdict);
    if (verdict.outcome != VERDICT_ALLOW) {
        policy_verdict_describe(&verdict, request->action, subject_ruleset(subject),
                                subject_answer(subject), subject_problem(subject));
    }
    return verdict;
}

static inline struct policy_verdict decide(struct subject *subject,
                                           const struct policy_request *facts,
                                           enum vocabulary_action action)
{
    static const char *const resources[VOCABULARY_ACTION_COUNT] = {
        [ACTION_CALL_MODEL] = "gpt", [ACTION_CALL_TOOL] = "shell"};
    struct policy_request request = facts == NULL ? (struct policy_request){0} : *facts;
    request.action = action;
    request.resource = resources[action];
    request.condition = "tests";
    return decide_request(subject, &request);
}

static inline void expect_verdict(const struct policy_verdict *verdict,
                                  enum verdict_outcome outcome, enum verdict_reason reason,
                                  const char *policy)
{
    assert_int_equal(verdict->outcome, outcome);
    assert_int_equal(verdict->reason, reason);
    assert_string_equal(verdict->policy, policy);
}
