// SPDX-License-Identifier: Apache-2.0
/* The words of the runtime to the model. */
#include "agent/internal.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

/** Bytes of a verifier's output that the model is shown: its end, where failures are. */
#define UNMET_OUTPUT_BYTES ((size_t)4096)

static void write_output_end(const char *output, struct buf *ret_text)
{
    size_t len = strlen(output);
    size_t skipped = len > UNMET_OUTPUT_BYTES ? len - UNMET_OUTPUT_BYTES : 0;
    while (skipped > 0 && skipped < len && ((unsigned char)output[skipped] & 0xC0) == 0x80) {
        skipped++; /* not inside of a character */
    }
    if (len > 0) {
        buf_append_string(ret_text, skipped > 0 ? "\n[...]\n" : "\n");
        buf_append_string(ret_text, output + skipped);
    }
}

static const char *command_of(const struct loop_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->condition_count; i++) {
        if (strcmp(spec->conditions[i].name, name) == 0) {
            return spec->conditions[i].command;
        }
    }
    return "?";
}

static void write_condition(const struct loop_spec *spec, struct json_object *condition,
                            struct buf *ret_text)
{
    const char *name = json_get_string(condition, "name", "");
    const char *message = json_get_string(condition, "message", "");
    int64_t exit_code = json_get_int(condition, "exit_code", -1);
    bool is_met = strcmp(json_get_string(condition, "status", ""), "met") == 0;
    buf_printf(ret_text, "\n- %s: %s", name, is_met ? "met" : "not met");
    if (is_met) {
        return;
    }
    if (message[0] != '\0') {
        buf_printf(ret_text, ", %s", message);
    } else if (exit_code >= 0) {
        buf_printf(ret_text, ", exit code %" PRId64, exit_code);
    } else {
        buf_printf(ret_text, ", %s", json_get_string(condition, "reason", ""));
    }
    buf_printf(ret_text, " (verified by: %s)", command_of(spec, name));
    write_output_end(json_get_string(condition, "output", ""), ret_text);
}

void agent_write_conditions(const struct agent *agent, struct buf *ret_text)
{
    /* The document is rebuilt when a run is resumed, unlike the results in memory. */
    const char *feedback = loop_feedback(agent->loop);
    auto_json struct json_object *root = NULL;
    struct json_object *list = NULL;
    if (json_parse(feedback, strlen(feedback), &root, NULL) < 0 ||
        !json_object_object_get_ex(root, "conditions", &list)) {
        return;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        write_condition(loop_spec(agent->loop), json_object_array_get_idx(list, i), ret_text);
    }
}

static void write_share(const char *what, int64_t used, int64_t limit, const char *unit,
                        struct buf *ret_text)
{
    if (limit > 0) {
        buf_printf(ret_text, "\n- %s: ", what);
        text_count(used, ret_text);
        buf_printf(ret_text, "%s/", unit);
        text_count(limit, ret_text);
        buf_printf(ret_text, "%s (%d%%)", unit, (int)((double)used * 100 / (double)limit));
    }
}

/** The list of `todo`, and what is used up of the run's limits. */
static void write_list(const struct agent *agent, struct buf *ret_text)
{
    const struct loop_spec *spec = loop_spec(agent->loop);
    const struct run_state *state = loop_state(agent->loop);
    if (agent->memory.plan.count == 0) {
        buf_append_string(ret_text, "(No todo items)");
    } else {
        plan_write_state(&agent->memory.plan, ret_text);
    }
    buf_append_string(ret_text, "\n\nBUDGET:");
    write_share("Iteration", (int64_t)state->finished, (int64_t)spec->max_iterations, "", ret_text);
    write_share("Tokens", state->tokens, spec->max_tokens, "", ret_text);
    if (spec->time_limit_ns > 0) {
        int64_t left = loop_time_left_ns(agent->loop);
        int64_t used = spec->time_limit_ns - (left < spec->time_limit_ns ? left : 0);
        write_share("Time", used / NS_PER_S, spec->time_limit_ns / NS_PER_S, "s", ret_text);
    }
}

const char *agent_given_prompt(const struct agent *agent, const char *words)
{
    const char *prompt = loop_spec(agent->loop)->prompt;
    if (words != NULL) {
        return words;
    }
    bool is_first = agent->memory.iteration <= 1 || agent->config.mode != AGENT_AUTONOMOUS;
    return !is_first ? NULL : prompt == NULL ? "" : prompt;
}

void agent_write_prompt(const struct agent *agent, const char *words, struct buf *ret_text)
{
    const struct loop_spec *spec = loop_spec(agent->loop);
    const char *given = agent_given_prompt(agent, words);
    if (given != NULL) {
        if (agent->config.mode == AGENT_AUTONOMOUS && words == NULL) {
            strategy_write_first(&agent->strategy, &agent->memory.plan, ret_text);
        }
        buf_append_string(ret_text, given);
        return;
    }
    strategy_write_next(&agent->strategy, &agent->memory.plan,
                        agent->config.role->autonomy.continuation_prompt, ret_text);
    buf_append_string(ret_text, "\n\nCURRENT STATUS:\n");
    if (agent->strategy.has_todo) {
        write_list(agent, ret_text);
    } else {
        plan_write_state(&agent->memory.plan, ret_text);
    }
    if (spec->condition_count > 0) {
        buf_append_string(ret_text, "\n\nEXIT CONDITIONS:");
        agent_write_conditions(agent, ret_text);
    }
}
