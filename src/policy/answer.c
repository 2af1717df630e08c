// SPDX-License-Identifier: Apache-2.0
/* Asking for an explained answer, and its parts that text and JSON share. */
#include "policy/answer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/plain.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** Limits of counters. One that denies now is the verdict's; others matter where it allows. */
static void find_limits(struct policy_answer *answer)
{
    const struct verdict *verdict = &answer->verdict;
    if (verdict->counter != LIMIT_COUNTER_COUNT) {
        answer->limits[verdict->counter] = verdict->limit;
    }
    if (verdict->outcome != VERDICT_ALLOW || answer->question->step.action != ACTION_ITERATE) {
        return;
    }
    for (enum limit_counter i = 0; i < LIMIT_COUNTER_COUNT; i++) {
        answer->limits[i] = subject_limit(answer->subject, &answer->question->facts, i);
    }
}

void policy_answer_make(const struct question *question, struct ruleset *ruleset,
                        struct policy_answer *ret_answer)
{
    struct policy_answer answer = {.question = question, .ruleset = ruleset};
    uint32_t count = (uint32_t)cedar_policies_count(ruleset->policies);
    answer.subject = question_subject(question, ruleset);
    answer.states = memory_new_zero((size_t)count + 1, sizeof(*answer.states));
    subject_decide(answer.subject, &question->facts, &question->step, &answer.verdict);
    find_limits(&answer);
    bool is_asked = answer.verdict.reason != VERDICT_UNAVAILABLE &&
                    answer.verdict.reason != VERDICT_INVALID_CONTEXT;
    answer.explain = explain_new(ruleset->policies, subject_request(answer.subject));
    for (uint32_t i = 0; i < count && is_asked; i++) {
        answer.states[i] = explain_state(answer.explain, i);
        answer.counts[answer.states[i]]++;
    }
    *ret_answer = answer;
}

void policy_answer_fini(struct policy_answer *answer)
{
    explain_free(answer->explain);
    subject_free(answer->subject);
    free(answer->states);
    *answer = (struct policy_answer){0};
}

int policy_answer_exit_code(const struct policy_answer *answer)
{
    return answer->verdict.outcome == VERDICT_ALLOW
               ? 0
               : rondo_status_exit_code(RONDO_POLICY_VIOLATION);
}

void policy_answer_figure(enum limit_counter counter, int64_t value, struct buf *ret_text)
{
    /* Ten-thousandths of a dollar and seconds, in the units that have a form for people. */
    static const int64_t units[LIMIT_COUNTER_COUNT] = {1, 1, 100, NS_PER_S};
    int64_t scaled = 0;
    if (__builtin_mul_overflow(value, units[counter], &scaled)) {
        scaled = INT64_MAX;
    }
    if (counter == LIMIT_COST) {
        text_money(scaled, ret_text);
    } else if (counter == LIMIT_TIME && scaled > 0) {
        char text[FORMAT_DURATION_SIZE];
        format_duration(scaled, text);
        buf_append_string(ret_text, text);
    } else {
        buf_printf(ret_text, "%" PRId64 "%s", scaled, counter == LIMIT_TIME ? " s" : "");
    }
}

static void add_reason(const struct verdict *verdict, struct buf *out)
{
    if (verdict->text[0] != '\0') {
        buf_append_string(out, ": ");
        text_clean(verdict->text, strlen(verdict->text), out);
    }
}

static void add_counter(const struct verdict *verdict, struct buf *out)
{
    if (verdict->counter == LIMIT_COUNTER_COUNT) {
        return;
    }
    buf_printf(out, " (%s: ", limit_counter_name(verdict->counter));
    policy_answer_figure(verdict->counter, verdict->value, out);
    if (verdict->limit.is_known) {
        buf_append_string(out, " of ");
        policy_answer_figure(verdict->counter, verdict->limit.value, out);
    }
    buf_append_string(out, ")");
}

static const char *permitting(const struct policy_answer *answer)
{
    const struct cedar_answer *cedar = &answer->verdict.answer;
    return cedar->reason_count == 0
               ? ""
               : cedar_policies_id(answer->ruleset->policies, cedar->reasons[0]);
}

void policy_answer_sentence(const struct policy_answer *answer, struct buf *ret_text)
{
    const struct verdict *verdict = &answer->verdict;
    const char *action = vocabulary_action_name(answer->question->step.action);
    switch (verdict->reason) {
    case VERDICT_PERMITTED:
        buf_printf(ret_text, "allowed: `%s` permits `%s`, and nothing forbids it",
                   permitting(answer), action);
        break;
    case VERDICT_FORBIDDEN:
        buf_printf(ret_text, "denied: `%s` forbids `%s`", verdict->policy, action);
        add_counter(verdict, ret_text);
        add_reason(verdict, ret_text);
        break;
    case VERDICT_NOT_PERMITTED:
        buf_printf(ret_text, "denied: no policy permits `%s`", action);
        if (verdict->counter != LIMIT_COUNTER_COUNT) {
            buf_printf(ret_text, " any more; `%s` did", verdict->policy);
            add_counter(verdict, ret_text);
        }
        break;
    case VERDICT_APPROVAL_NEEDED:
        buf_printf(ret_text, "a person must approve: `%s` asks before `%s`", verdict->policy,
                   action);
        add_reason(verdict, ret_text);
        break;
    case VERDICT_POLICY_ERROR:
        buf_printf(ret_text,
                   "denied: the forbid `%s` could not be evaluated, which counts as a denial: %s",
                   verdict->policy, verdict->problem);
        break;
    case VERDICT_INVALID_CONTEXT:
    case VERDICT_UNAVAILABLE:
        buf_printf(ret_text, "denied: policies cannot be asked about this: %s", verdict->problem);
        break;
    }
}
