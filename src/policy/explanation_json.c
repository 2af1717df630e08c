// SPDX-License-Identifier: Apache-2.0
/* An explanation for programs. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "policy/explanation.h"

static void write_money(struct json_writer *writer, const char *key, int64_t micro)
{
    auto_buf struct buf text = {0};
    text_money(micro, &text);
    json_write_string(writer, key, buf_string(&text));
}

static void write_request(struct json_writer *writer, const struct written_request *written)
{
    const struct policy_request *request = &written->request;
    char now[CLOCK_UTC_SIZE];
    clock_format_utc(request->now_ns, now);
    json_begin_object(writer, "request");
    json_write_string(writer, "agent", written->run.agent_id);
    json_write_string(writer, "run", written->run.run_id);
    json_write_string(writer, "action", vocabulary_action_name(request->action));
    json_write_string(writer, "tool", written->tool);
    json_write_string(writer, "model", written->model);
    json_write_string(writer, "condition", request->condition);
    json_begin_object(writer, "context");
    json_write_int(writer, "iteration", request->iteration);
    json_write_int(writer, "elapsed_s", request->elapsed_ns / NS_PER_S);
    json_write_int(writer, "tokens", request->tokens);
    write_money(writer, "cost_usd", request->cost_micro);
    json_write_int(writer, "consecutive_failures", request->consecutive_failures);
    json_write_int(writer, "conditions_met", request->conditions_met);
    json_write_int(writer, "conditions_total", request->conditions_total);
    json_write_bool(writer, "approved", request->is_approved);
    json_write_string(writer, "now", now);
    if (request->input != NULL) {
        json_write_raw(writer, "input", request->input);
    }
    json_end_object(writer);
    json_end_object(writer);
}

static void write_term(struct json_writer *writer, const struct explain_term *term)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "text", term->text);
    json_write_string(writer, "value", explain_truth_name(term->truth));
    if (term->truth == EXPLAIN_ERROR) {
        json_write_string(writer, "problem", term->problem);
    }
    json_begin_array(writer, "operands");
    for (size_t i = 0; i < term->value_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "text", term->values[i].text);
        json_write_string(writer, "value", term->values[i].value);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static void write_condition(struct json_writer *writer, const struct explain_condition *condition)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "kind", condition->is_unless ? "unless" : "when");
    json_write_string(writer, "text", condition->text);
    json_write_string(writer, "value",
                      condition->is_reached ? explain_truth_name(condition->truth) : NULL);
    json_begin_array(writer, "terms");
    for (size_t i = 0; i < condition->term_count; i++) {
        write_term(writer, &condition->terms[i]);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static void write_policy(struct json_writer *writer, const struct explain_policy *policy)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "id", policy->id);
    json_write_string(writer, "effect", policy->is_forbid ? "forbid" : "permit");
    json_write_string(writer, "file", policy->file);
    json_write_int(writer, "line", policy->line);
    json_write_string(writer, "state", explain_state_name(policy->state));
    if (policy->reason[0] != '\0') {
        json_write_string(writer, "reason", policy->reason);
    }
    if (policy->state == EXPLAIN_OUT_OF_SCOPE) {
        json_begin_object(writer, "mismatch");
        json_write_string(writer, "scope", policy->scope);
        json_write_string(writer, "variable", policy->scope_variable);
        json_write_string(writer, "value", policy->scope_value);
        json_end_object(writer);
    }
    json_begin_array(writer, "conditions");
    for (size_t i = 0; i < policy->condition_count; i++) {
        write_condition(writer, &policy->conditions[i]);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static void write_policies(struct json_writer *writer, struct policy_explanation *explanation)
{
    size_t count = 0;
    for (size_t i = 0; i < EXPLAIN_STATE_COUNT; i++) {
        count += explanation->counts[i];
    }
    json_begin_array(writer, "policies");
    for (uint32_t i = 0; i < count; i++) {
        write_policy(writer, explain_policy(explanation->explain, i));
    }
    json_end_array(writer);
}

/** In the units of policies, which see whole seconds, and count one that has begun. */
static void write_limit_value(struct json_writer *writer, enum run_limit counter, int64_t limit)
{
    if (counter == RUN_LIMIT_COST) {
        write_money(writer, "value", limit);
    } else if (counter == RUN_LIMIT_TIME) {
        json_write_int(writer, "value", limit / NS_PER_S + (limit % NS_PER_S > 0 ? 1 : 0));
    } else {
        json_write_int(writer, "value", limit);
    }
}

static void write_limits(struct json_writer *writer, const struct policy_verdict *verdict)
{
    json_begin_object(writer, "limits");
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        const struct policy_limit *limit = &verdict->limits[i];
        if (!limit->is_known) {
            continue;
        }
        json_begin_object(writer, run_limit_name(i));
        write_limit_value(writer, i, limit->limit);
        json_write_bool(writer, "is_estimated", limit->is_estimated);
        json_end_object(writer);
    }
    json_end_object(writer);
}

void policy_explanation_json(struct policy_explanation *explanation, struct buf *ret_json)
{
    const struct policy_verdict *verdict = &explanation->verdict;
    const struct cedar_answer *cedar = subject_answer(explanation->subject);
    auto_buf struct buf sentence = {0};
    policy_explanation_sentence(explanation, &sentence);
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", "policy_explanation");
    json_write_string(&writer, "verdict", verdict_outcome_name(verdict->outcome));
    json_write_string(&writer, "cedar_decision", verdict->is_allowed_by_cedar ? "allow" : "deny");
    json_write_string(&writer, "reason", verdict_reason_name(verdict->reason));
    json_write_string(&writer, "policy",
                      explanation->policy[0] == '\0' ? NULL : explanation->policy);
    json_begin_array(&writer, "decided_by");
    for (size_t i = 0; i < cedar->reason_count; i++) {
        json_write_string(&writer, NULL,
                          cedar_policies_id(explanation->ruleset->policies, cedar->reasons[i]));
    }
    json_end_array(&writer);
    json_write_string(&writer, "message", buf_string(&sentence));
    json_write_string(&writer, "source", explanation->ruleset->source);
    json_write_string(&writer, "digest", explanation->ruleset->digest);
    write_request(&writer, explanation->written);
    write_policies(&writer, explanation);
    write_limits(&writer, verdict);
    json_write_int(&writer, "exit_code", policy_explanation_exit_code(explanation));
    json_end_object(&writer);
    buf_append_string(ret_json, "\n");
}
