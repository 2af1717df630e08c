// SPDX-License-Identifier: Apache-2.0
/*
 * The tools of the loop itself, there in autonomous runs without being declared: `update_plan`
 * replaces the plan, `finish_task` ends the run. The word of the agent is not enough to complete a
 * run that has exit conditions: they are evaluated first, and what is not met comes back as the
 * tool's answer.
 */
#include "loop/agent_internal.h"

#include "base/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static int call_finish(struct agent *agent, size_t index, struct json_object *arguments,
                       struct rondo_error *err);
static int call_plan(struct agent *agent, size_t index, struct json_object *arguments,
                     struct rondo_error *err);

static const struct {
    const char *name;
    const char *description;
    const char *schema;
    int (*call)(struct agent *agent, size_t index, struct json_object *arguments,
                struct rondo_error *err);
} own_tools[] = {
    {
        "finish_task",
        "End the run. Call it as soon as the task is done, or when you cannot go on.",
        "{\"type\":\"object\",\"properties\":{"
        "\"summary\":{\"type\":\"string\",\"description\":\"What was achieved, or what stands in "
        "the way\"},"
        "\"status\":{\"type\":\"string\",\"enum\":[\"completed\",\"blocked\",\"failed\"],"
        "\"default\":\"completed\",\"description\":\"How it ends\"}},"
        "\"required\":[\"summary\"]}",
        call_finish,
    },
    {
        "update_plan",
        "Replace the plan, all of its steps. It is shown to you again in each turn.",
        "{\"type\":\"object\",\"properties\":{\"steps\":{\"type\":\"array\",\"description\":\"All "
        "steps, in order\",\"items\":{\"type\":\"object\",\"properties\":{"
        "\"description\":{\"type\":\"string\",\"description\":\"What the step does\"},"
        "\"status\":{\"type\":\"string\",\"enum\":[\"pending\",\"in_progress\",\"completed\","
        "\"failed\",\"skipped\"],\"default\":\"pending\"},"
        "\"notes\":{\"type\":\"string\",\"description\":\"Findings worth keeping\"}},"
        "\"required\":[\"description\"]}}},\"required\":[\"steps\"]}",
        call_plan,
    },
};
#define OWN_TOOL_COUNT (sizeof(own_tools) / sizeof(own_tools[0]))

bool agent_is_own_tool(const struct agent *agent, const char *name)
{
    for (size_t i = 0; i < OWN_TOOL_COUNT && agent->config.mode == AGENT_AUTONOMOUS; i++) {
        if (strcmp(own_tools[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

bool agent_is_ending_tool(const char *name)
{
    return strcmp(name, "finish_task") == 0;
}

void agent_offer_tools(struct agent *agent)
{
    size_t count = toolbox_count(agent->toolbox);
    struct model_tool *tools = memory_new_zero(count + OWN_TOOL_COUNT, sizeof(*tools));
    toolbox_describe(agent->toolbox, tools);
    for (size_t i = 0; i < OWN_TOOL_COUNT && agent->config.mode == AGENT_AUTONOMOUS; i++) {
        tools[count++] = (struct model_tool){
            .name = own_tools[i].name,
            .description = own_tools[i].description,
            .schema = own_tools[i].schema,
        };
    }
    model_set_tools(agent->model, tools, count);
    free(tools);
}

static int answer(struct agent *agent, size_t index, const char *outcome, const struct buf *text)
{
    agent_answer(agent, index, outcome, buf_string(text), text->len, 0);
    return AGENT_GO_ON;
}

static int answer_error(struct agent *agent, size_t index, const char *message)
{
    agent_answer(agent, index, "error", message, strlen(message), 0);
    return AGENT_GO_ON;
}

static int call_plan(struct agent *agent, size_t index, struct json_object *arguments,
                     struct rondo_error *err)
{
    (void)err;
    struct plan fresh = {0};
    struct json_object *steps = NULL;
    json_object_object_get_ex(arguments, "steps", &steps);
    if (!plan_replace(&fresh, steps, agent->config.role->autonomy.max_plan_steps)) {
        return answer_error(agent, index,
                            "Error: `steps` must be an array of objects with a `description`");
    }
    auto_buf struct buf json = {0};
    auto_buf struct buf text = {0};
    plan_write_json(&fresh, &json);
    plan_write_answer(&fresh, &text);
    plan_fini(&fresh);
    struct journal_event event = {
        .type = JOURNAL_PLAN_UPDATED,
        .iteration = (int64_t)agent->memory.iteration,
        .plan = buf_string(&json),
    };
    agent_record(agent, &event);
    return answer(agent, index, "ok", &text);
}

/** What comes back when the conditions do not bear the agent out. */
static int answer_unmet(struct agent *agent, size_t index)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text,
                      "Error: the task is not finished, because exit conditions are not met:");
    agent_write_conditions(agent, &text);
    buf_append_string(&text, "\nGo on, and call finish_task again when they are.");
    return answer(agent, index, "error", &text);
}

static int accept_finish(struct agent *agent, size_t index, const char *status)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "Task finished (%s).", status);
    answer(agent, index, "ok", &text);
    return AGENT_BODY_OVER;
}

static int call_finish(struct agent *agent, size_t index, struct json_object *arguments,
                       struct rondo_error *err)
{
    const struct loop_spec *spec = loop_spec(agent->loop);
    const char *status = json_get_string(arguments, "status", "completed");
    enum run_finish finish;
    if (!run_finish_from_name(status, &finish)) {
        return answer_error(agent, index, "Error: `status` must be completed, blocked or failed");
    }
    if (finish != FINISH_COMPLETED || spec->condition_count == 0) {
        return accept_finish(agent, index, status);
    }
    agent_begin_call(agent, index); /* What is recorded behind the round would devalue it. */
    int r = loop_verify_in_body(agent->loop, err);
    if (r < 0) {
        return r;
    }
    const struct run_state *state = loop_state(agent->loop);
    if (run_conditions_met(state) == spec->condition_count) {
        return accept_finish(agent, index, status);
    }
    return cancel_is_set(agent_cancel(agent)) ? AGENT_BODY_CUT : answer_unmet(agent, index);
}

int agent_call_own(struct agent *agent, size_t index, struct rondo_error *err)
{
    const struct model_call *call = &agent->memory.calls[index].call;
    auto_json struct json_object *arguments = NULL;
    const char *text = call->arguments[0] == '\0' ? "{}" : call->arguments;
    if (strlen(text) > TOOL_ARGUMENTS_MAX_BYTES ||
        json_parse(text, strlen(text), &arguments, NULL) < 0 ||
        !json_object_is_type(arguments, json_type_object)) {
        return answer_error(agent, index, "Error: the arguments are not a JSON object");
    }
    for (size_t i = 0; i < OWN_TOOL_COUNT; i++) {
        if (strcmp(own_tools[i].name, call->name) == 0) {
            return own_tools[i].call(agent, index, arguments, err);
        }
    }
    return AGENT_GO_ON;
}
