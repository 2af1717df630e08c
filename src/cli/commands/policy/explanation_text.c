// SPDX-License-Identifier: Apache-2.0
/* An explanation for people. */
#include "cli/commands/policy/explanation_text.h"
#include "base/auto.h"
#include "base/clock.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <string.h>

/** Append a text of a policy on one line, with the indentation of its lines taken out. */
static void add_line(const char *text, struct buf *out)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    bool is_space = true;
    for (const char *at = buf_string(&clean); *at != '\0'; at++) {
        if (*at != ' ' || !is_space) {
            buf_append(out, at, 1);
        }
        is_space = *at == ' ';
    }
}

static void add_request(const struct written_request *written, struct buf *out)
{
    const struct policy_request *request = &written->request;
    char now[CLOCK_UTC_SIZE];
    clock_format_utc(request->now_ns, now);
    buf_append_string(out, "Agent ");
    add_line(written->run.agent_id, out);
    buf_printf(out, " requests `%s`", vocabulary_action_name(request->action));
    const char *object = request->resource != NULL ? request->resource : request->condition;
    if (object != NULL) {
        buf_append_string(out, " of ");
        add_line(object, out);
    }
    buf_append_string(out, " in run ");
    add_line(written->run.run_id, out);
    buf_printf(out, "\n  iteration %" PRId64 ", elapsed ", request->iteration);
    policy_explanation_figure(RUN_LIMIT_TIME, request->elapsed_ns / NS_PER_S * NS_PER_S, out);
    buf_printf(out, ", tokens %" PRId64 ", cost ", request->tokens);
    text_money(request->cost_micro, out);
    buf_printf(out,
               ", failures in a row %" PRId64 ", conditions %" PRId64 "/%" PRId64 ", %s, %s\n\n",
               request->consecutive_failures, request->conditions_met, request->conditions_total,
               request->is_approved ? "approved" : "not approved", now);
}

static void add_term(const struct explain_term *term, struct buf *out)
{
    buf_append_string(out, "        ");
    add_line(term->text, out);
    if (term->truth == EXPLAIN_ERROR) {
        buf_append_string(out, " fails: ");
        add_line(term->problem, out);
    } else {
        buf_printf(out, " is %s", explain_truth_name(term->truth));
    }
    const char *separator = term->truth == EXPLAIN_ERROR ? "; " : ": ";
    for (size_t i = 0; i < term->value_count; i++) {
        if (term->values[i].value == NULL) {
            continue; /* What it lacks is in the problem. */
        }
        buf_append_string(out, separator);
        add_line(term->values[i].text, out);
        buf_append_string(out, " is ");
        add_line(term->values[i].value, out);
        separator = ", ";
    }
    buf_append_string(out, "\n");
}

static void add_condition(const struct explain_condition *condition, const struct style *style,
                          struct buf *out)
{
    buf_printf(out, "    %s { ", condition->is_unless ? "unless" : "when");
    add_line(condition->text, out);
    buf_append_string(out, " } ");
    if (!condition->is_reached) {
        style_append(style, COLOUR_DIM, "is not reached", out);
    } else if (condition->truth == EXPLAIN_ERROR) {
        style_append(style, COLOUR_YELLOW, "fails", out);
    } else {
        buf_printf(out, "is %s", explain_truth_name(condition->truth));
    }
    buf_append_string(out, "\n");
    for (size_t i = 0; i < condition->term_count; i++) {
        add_term(&condition->terms[i], out);
    }
}

static void add_state(const struct explain_policy *policy, const struct style *style,
                      struct buf *out)
{
    switch (policy->state) {
    case EXPLAIN_SATISFIED:
        style_append(style, policy->is_forbid ? COLOUR_RED : COLOUR_GREEN,
                     policy->is_forbid ? "forbids" : "permits", out);
        break;
    case EXPLAIN_FAILED:
        style_append(style, COLOUR_YELLOW, "cannot be evaluated", out);
        buf_append_string(out,
                          policy->is_forbid ? ": Cedar skips it, Rondo denies" : ": it is skipped");
        break;
    case EXPLAIN_UNSATISFIED:
        buf_append_string(out, "does not apply");
        break;
    case EXPLAIN_OUT_OF_SCOPE:
    case EXPLAIN_STATE_COUNT:
        buf_append_string(out, "does not match: ");
        add_line(policy->scope, out);
        buf_printf(out, ", but %s is ", policy->scope_variable);
        add_line(policy->scope_value, out);
        break;
    }
}

static void add_place(const struct explain_policy *policy, bool is_own, struct buf *out)
{
    if (is_own) {
        buf_append_string(out, " (Rondo's own) ");
        return;
    }
    buf_append_string(out, " (");
    add_line(policy->file, out);
    buf_printf(out, ":%u) ", policy->line);
}

static void add_policy(const struct explain_policy *policy, bool is_own, const struct style *style,
                       struct buf *out)
{
    auto_buf struct buf id = {0};
    add_line(policy->id, &id);
    buf_append_string(out, policy->is_forbid ? "forbid " : "permit ");
    style_append(style, COLOUR_BOLD, buf_string(&id), out);
    add_place(policy, is_own, out);
    add_state(policy, style, out);
    if (policy->state == EXPLAIN_SATISFIED && policy->reason[0] != '\0') {
        buf_append_string(out, ": ");
        add_line(policy->reason, out);
    }
    buf_append_string(out, "\n");
    for (size_t i = 0; i < policy->condition_count; i++) {
        add_condition(&policy->conditions[i], style, out);
    }
}

/** What says nothing new: other requests, and options that the run does not have. */
static bool is_dull(const struct policy_explanation *explanation, uint32_t index)
{
    bool is_own = index >= explanation->ruleset->given_count;
    return explanation->states[index] == EXPLAIN_OUT_OF_SCOPE ||
           (is_own && explanation->states[index] == EXPLAIN_UNSATISFIED);
}

/** Policies of one state; forbids weigh more than permits and come first. @return those left out */
static size_t add_policies(struct policy_explanation *explanation, enum explain_state state,
                           bool shows_all, const struct style *style, struct buf *out)
{
    const struct cedar_policies *policies = explanation->ruleset->policies;
    size_t count = explanation->counts[state] == 0 ? 0 : cedar_policies_count(policies);
    size_t hidden = 0;
    for (int is_permit = 0; is_permit < 2; is_permit++) {
        for (uint32_t i = 0; i < count; i++) {
            if (explanation->states[i] != state ||
                cedar_policies_is_forbid(policies, i) != (is_permit == 0)) {
                continue;
            }
            if (!shows_all && is_dull(explanation, i)) {
                hidden++;
                continue;
            }
            add_policy(explain_policy(explanation->explain, i),
                       i >= explanation->ruleset->given_count, style, out);
        }
    }
    return hidden;
}

static void add_limits(const struct policy_explanation *explanation, struct buf *out)
{
    static const char *const names[RUN_LIMIT_COUNT] = {"iteration limit", "token limit",
                                                       "cost limit", "time limit"};
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        if (explanation->verdict.limits[i].is_known) {
            buf_printf(out, "  %s: ", names[i]);
            policy_explanation_figure(i, explanation->verdict.limits[i].limit, out);
            buf_append_string(out, explanation->verdict.limits[i].is_estimated ? " (estimated)\n"
                                                                               : "\n");
        }
    }
    bool is_iterate = explanation->written->request.action == ACTION_ITERATE;
    bool is_allowed = explanation->verdict.outcome == VERDICT_ALLOW;
    if (is_iterate && is_allowed && !explanation->verdict.limits[RUN_LIMIT_ITERATIONS].is_known) {
        buf_append_string(out, "  iteration limit: none\n");
    }
}

static void add_verdict(const struct policy_explanation *explanation, const struct style *style,
                        struct buf *out)
{
    const struct policy_verdict *verdict = &explanation->verdict;
    auto_buf struct buf sentence = {0};
    auto_buf struct buf line = {0};
    policy_explanation_sentence(explanation, &sentence);
    add_line(buf_string(&sentence), &line);
    enum colour colour = verdict->outcome == VERDICT_ALLOW ? COLOUR_GREEN
                         : verdict->outcome == VERDICT_ASK ? COLOUR_YELLOW
                                                           : COLOUR_RED;
    style_append(style, colour, buf_string(&line), out);
    buf_printf(out, "\n  Cedar: %s, Rondo: %s (%s)\n",
               verdict->is_allowed_by_cedar ? "allow" : "deny",
               verdict_outcome_name(verdict->outcome), verdict_reason_name(verdict->reason));
}

void policy_explanation_text(struct policy_explanation *explanation, const struct style *style,
                             bool shows_all, struct buf *ret_text)
{
    add_request(explanation->written, ret_text);
    size_t hidden = 0;
    for (enum explain_state i = EXPLAIN_SATISFIED; i < EXPLAIN_STATE_COUNT; i++) {
        hidden += add_policies(explanation, i, shows_all, style, ret_text);
    }
    if (hidden > 0) {
        buf_printf(ret_text, "%zu more polic%s not apply; --all shows %s\n", hidden,
                   hidden == 1 ? "y does" : "ies do", hidden == 1 ? "it" : "them");
    }
    buf_append_string(ret_text, "\n");
    add_verdict(explanation, style, ret_text);
    add_limits(explanation, ret_text);
}
