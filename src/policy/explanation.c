// SPDX-License-Identifier: Apache-2.0
/* Making explanations, and their parts that text and JSON share. */
#include "policy/explanation.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void name_deciding(struct policy_explanation *explanation)
{
    const struct cedar_policies *policies = explanation->ruleset->policies;
    explanation->policy = "";
    explanation->reason = "";
    if (explanation->verdict.deciding >= 0) {
        size_t policy = (size_t)explanation->verdict.deciding;
        const char *reason = cedar_policies_annotation(policies, policy, "reason");
        explanation->policy = cedar_policies_id(policies, policy);
        explanation->reason = reason == NULL ? "" : reason;
    }
}

void policy_explanation_make(const struct written_request *written, struct ruleset *ruleset,
                             struct policy_explanation *ret_explanation)
{
    struct policy_explanation explanation = {.written = written, .ruleset = ruleset};
    struct policy_verdict *verdict = &explanation.verdict;
    uint32_t count = (uint32_t)cedar_policies_count(ruleset->policies);
    explanation.subject = subject_new(&written->run, ruleset);
    explanation.states = memory_new_zero((size_t)count + 1, sizeof(*explanation.states));
    subject_decide(explanation.subject, &written->request, verdict);
    name_deciding(&explanation);
    if (verdict->outcome == VERDICT_ALLOW && written->request.action == ACTION_ITERATE) {
        subject_find_limits(explanation.subject, &written->request, verdict->limits);
    }
    bool is_asked =
        verdict->reason != VERDICT_UNAVAILABLE && verdict->reason != VERDICT_INVALID_CONTEXT;
    explanation.explain = explain_new(ruleset->policies, subject_request(explanation.subject));
    for (uint32_t i = 0; i < count && is_asked; i++) {
        explanation.states[i] = explain_state(explanation.explain, i);
        explanation.counts[explanation.states[i]]++;
    }
    *ret_explanation = explanation;
}

void policy_explanation_fini(struct policy_explanation *explanation)
{
    explain_free(explanation->explain);
    subject_free(explanation->subject);
    free(explanation->states);
    *explanation = (struct policy_explanation){0};
}

int policy_explanation_exit_code(const struct policy_explanation *explanation)
{
    return explanation->verdict.outcome == VERDICT_ALLOW
               ? 0
               : rondo_status_exit_code(RONDO_POLICY_VIOLATION);
}

void policy_explanation_figure(enum run_limit counter, int64_t value, struct buf *ret_text)
{
    if (counter == RUN_LIMIT_COST) {
        text_money(value, ret_text);
    } else if (counter == RUN_LIMIT_TIME && value > 0) {
        char text[FORMAT_DURATION_SIZE];
        format_duration(value, text);
        buf_append_string(ret_text, text);
    } else {
        buf_printf(ret_text, "%" PRId64 "%s", value, counter == RUN_LIMIT_TIME ? " s" : "");
    }
}

static void add_reason(const struct policy_explanation *explanation, struct buf *out)
{
    if (explanation->reason[0] != '\0') {
        buf_append_string(out, ": ");
        text_clean(explanation->reason, strlen(explanation->reason), out);
    }
}

static void add_counter(const struct policy_verdict *verdict, struct buf *out)
{
    if (verdict->counter == RUN_LIMIT_COUNT) {
        return;
    }
    const struct policy_limit *limit = &verdict->limits[verdict->counter];
    buf_printf(out, " (%s: ", run_limit_name(verdict->counter));
    policy_explanation_figure(verdict->counter, limit->value, out);
    if (limit->is_known) {
        buf_append_string(out, " of ");
        policy_explanation_figure(verdict->counter, limit->limit, out);
    }
    buf_append_string(out, ")");
}

static const char *permitting(const struct policy_explanation *explanation)
{
    const struct cedar_answer *cedar = subject_answer(explanation->subject);
    return cedar->reason_count == 0
               ? ""
               : cedar_policies_id(explanation->ruleset->policies, cedar->reasons[0]);
}

void policy_explanation_sentence(const struct policy_explanation *explanation, struct buf *ret_text)
{
    const struct policy_verdict *verdict = &explanation->verdict;
    const char *action = vocabulary_action_name(explanation->written->request.action);
    switch (verdict->reason) {
    case VERDICT_PERMITTED:
        buf_printf(ret_text, "allowed: `%s` permits `%s`, and nothing forbids it",
                   permitting(explanation), action);
        break;
    case VERDICT_FORBIDDEN:
        buf_printf(ret_text, "denied: `%s` forbids `%s`", explanation->policy, action);
        add_counter(verdict, ret_text);
        add_reason(explanation, ret_text);
        break;
    case VERDICT_NOT_PERMITTED:
        buf_printf(ret_text, "denied: no policy permits `%s`", action);
        if (verdict->counter != RUN_LIMIT_COUNT) {
            buf_printf(ret_text, " any more; `%s` did", explanation->policy);
            add_counter(verdict, ret_text);
        }
        break;
    case VERDICT_APPROVAL_NEEDED:
        buf_printf(ret_text, "a person must approve: `%s` requires it for `%s`",
                   explanation->policy, action);
        add_reason(explanation, ret_text);
        break;
    case VERDICT_POLICY_ERROR:
        buf_printf(ret_text,
                   "denied: the forbid `%s` could not be evaluated, which counts as a denial: %s",
                   explanation->policy, subject_problem(explanation->subject));
        break;
    case VERDICT_INVALID_CONTEXT:
    case VERDICT_UNAVAILABLE:
    case VERDICT_COST_UNKNOWN:
    case VERDICT_BUDGET_EXHAUSTED:
        buf_printf(ret_text, "denied: policies cannot evaluate this request: %s",
                   subject_problem(explanation->subject));
        break;
    }
}
