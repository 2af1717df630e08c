// SPDX-License-Identifier: Apache-2.0
/*
 * The tools of the loop itself, there in autonomous runs without being declared: `update_plan`
 * replaces the plan, `finish_task` ends the run. With the tool type `todo` its tools take the place
 * of `update_plan`, in runs of any kind, and `finalize_plan` is there while a strategy plans first.
 * The word of the agent is not enough to complete a run that has exit conditions: they are
 * evaluated first, and what is not met comes back as the tool's answer.
 */
#include "agent/internal.h"
#include "agent/memory/memories.h"
#include "agent/output.h"
#include "agent/plan/todo.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/schema_check.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static int call_finish(struct agent *agent, size_t index, struct json_object *arguments,
                       struct rondo_error *err);
static int call_plan(struct agent *agent, size_t index, struct json_object *arguments,
                     struct rondo_error *err);
static int call_finalize(struct agent *agent, size_t index, struct json_object *arguments,
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
        "End the run. Call it as soon as the task is done, or when you cannot continue.",
        "{\"type\":\"object\",\"properties\":{"
        "\"summary\":{\"type\":\"string\",\"description\":\"What was achieved, or what is in "
        "the way\"},"
        "\"status\":{\"type\":\"string\",\"enum\":[\"completed\",\"blocked\",\"failed\"],"
        "\"default\":\"completed\",\"description\":\"How it ends\"}},"
        "\"required\":[\"summary\"],\"additionalProperties\":false}",
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
    {
        "finalize_plan",
        "Say that the list is complete; then the work on it begins.",
        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
        call_finalize,
    },
};
#define OWN_TOOL_COUNT (sizeof(own_tools) / sizeof(own_tools[0]))

/** Whether a row is there in this run. */
static bool is_offered(const struct agent *agent, size_t row)
{
    const struct strategy *strategy = &agent->strategy;
    bool is_autonomous = agent->config.mode == AGENT_AUTONOMOUS;
    bool has_plan = own_tools[row].call == call_plan && !strategy->has_todo;
    bool has_phases =
        own_tools[row].call == call_finalize && strategy->pattern == STRATEGY_PLAN_EXECUTE;
    return is_autonomous && (own_tools[row].call == call_finish || has_plan || has_phases);
}

static bool is_todo_tool(const struct agent *agent, const char *name)
{
    return agent->strategy.has_todo && todo_tool_find(name) != NULL;
}

bool agent_is_own_tool(const struct agent *agent, const char *name)
{
    for (size_t i = 0; i < OWN_TOOL_COUNT; i++) {
        if (strcmp(own_tools[i].name, name) == 0) {
            return is_offered(agent, i);
        }
    }
    return is_todo_tool(agent, name);
}

int agent_check_own_tools(const struct agent *agent, struct rondo_error *err)
{
    for (size_t i = 0; i < toolbox_count(agent->toolbox); i++) {
        const char *name = toolbox_at(agent->toolbox, i)->name;
        if (agent_is_own_tool(agent, name) || strcmp(name, ANSWER_TOOL) == 0) {
            return error_set(err, RONDO_ERR_INVALID,
                             "a tool \"%s\" has the name of one of Rondo's own; exclude it "
                             "(`tool_exclude` of an mcp entry) or give it a prefix (`tool_prefix`)",
                             name);
        }
    }
    return 0;
}

bool agent_is_ending_tool(const char *name)
{
    return strcmp(name, "finish_task") == 0;
}

void agent_offer_tools(struct agent *agent)
{
    size_t count = toolbox_count(agent->toolbox);
    size_t todo_count = 0;
    while (agent->strategy.has_todo && todo_tool_at(todo_count) != NULL) {
        todo_count++;
    }
    struct model_tool *tools =
        memory_new_zero(count + OWN_TOOL_COUNT + todo_count + 1, sizeof(*tools));
    toolbox_describe(agent->toolbox, tools);
    for (size_t i = 0; i < OWN_TOOL_COUNT; i++) {
        if (is_offered(agent, i)) {
            tools[count++] = (struct model_tool){
                .name = own_tools[i].name,
                .description = own_tools[i].description,
                .schema = own_tools[i].schema,
            };
        }
    }
    for (size_t i = 0; i < todo_count; i++) {
        const struct todo_tool *tool = todo_tool_at(i);
        tools[count++] = (struct model_tool){
            .name = tool->name, .description = tool->description, .schema = tool->schema};
    }
    agent->offers_answers = agent_has_questions(agent);
    if (agent->offers_answers) {
        tools[count++] = agent_answer_tool();
    }
    model_set_tools(agent->model, tools, count);
    free(tools);
}

static int answer_text(struct agent *agent, size_t index, const char *outcome,
                       const struct buf *text)
{
    agent_answer(agent, index, outcome, buf_string(text), text->len, 0);
    return AGENT_CONTINUE;
}

static int answer_error(struct agent *agent, size_t index, const char *message)
{
    agent_answer(agent, index, "error", message, strlen(message), 0);
    return AGENT_CONTINUE;
}

static void record_plan(struct agent *agent, const struct plan *fresh)
{
    auto_buf struct buf json = {0};
    plan_write_json(fresh, &json);
    struct journal_event event = {
        .type = JOURNAL_PLAN_UPDATED,
        .plan_updated = {.iteration = (int64_t)agent->memory.iteration, .plan = buf_string(&json)},
    };
    agent_record(agent, &event);
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
    auto_buf struct buf text = {0};
    plan_write_answer(&fresh, &text);
    record_plan(agent, &fresh);
    plan_fini(&fresh);
    return answer_text(agent, index, "ok", &text);
}

/** A copy that a tool may change. */
static void copy_plan(const struct plan *plan, struct plan *ret_copy)
{
    auto_buf struct buf json = {0};
    auto_json struct json_object *steps = NULL;
    plan_write_json(plan, &json);
    json_parse(json.data, json.len, &steps, NULL);
    plan_load(ret_copy, steps);
}

static int call_todo(struct agent *agent, size_t index, const char *name,
                     struct json_object *arguments)
{
    auto_buf struct buf text = {0};
    struct plan fresh = {0};
    copy_plan(&agent->memory.plan, &fresh);
    enum todo_outcome outcome =
        todo_call(&fresh, name, arguments, agent->strategy.max_items, &text);
    if (outcome == TODO_CHANGED) {
        record_plan(agent, &fresh);
    }
    plan_fini(&fresh);
    return answer_text(agent, index, outcome == TODO_REFUSED ? "error" : "ok", &text);
}

static int call_finalize(struct agent *agent, size_t index, struct json_object *arguments,
                         struct rondo_error *err)
{
    (void)arguments;
    (void)err;
    auto_buf struct buf text = {0};
    struct plan fresh = {0};
    if (agent->memory.plan.count == 0) {
        return answer_error(agent, index, "Error: the list is empty; add items to it first");
    }
    copy_plan(&agent->memory.plan, &fresh);
    for (size_t i = 0; i < fresh.count; i++) {
        fresh.steps[i].is_final = true;
    }
    record_plan(agent, &fresh);
    plan_fini(&fresh);
    buf_append_string(&text, "The plan is final. Work on it: get_next_todo, update_todo.");
    return answer_text(agent, index, "ok", &text);
}

/** What comes back when the conditions do not bear the agent out. */
static int answer_unmet(struct agent *agent, size_t index)
{
    auto_buf struct buf text = {0};
    buf_append_string(&text,
                      "Error: the task is not finished, because exit conditions are not met:");
    agent_write_conditions(agent, &text);
    buf_append_string(&text, "\nGo on, and call finish_task again when they are.");
    return answer_text(agent, index, "error", &text);
}

static int accept_finish(struct agent *agent, size_t index, const char *status,
                         struct json_object *arguments)
{
    auto_buf struct buf text = {0};
    agent_memories_record_end(agent->memories, status, json_get_string(arguments, "summary", ""));
    buf_printf(&text, "Task finished (%s).", status);
    answer_text(agent, index, "ok", &text);
    return AGENT_BODY_OVER;
}

/** Before a run ends, the agent looks at its result again, as often as the role says. */
static int ask_reflection(struct agent *agent, size_t index, const char *summary,
                          const char *status)
{
    auto_buf struct buf text = {0};
    strategy_write_reflection(&agent->strategy, (size_t)agent->memory.reflections, summary, status,
                              &text);
    return answer_text(agent, index, "error", &text);
}

bool agent_read_finish(struct json_object *arguments, enum run_finish *ret_finish)
{
    struct json_object *status = NULL;
    if (!json_object_object_get_ex(arguments, "status", &status)) {
        *ret_finish = FINISH_COMPLETED;
        return true;
    }
    return json_object_is_type(status, json_type_string) &&
           run_finish_from_name(json_object_get_string(status), ret_finish);
}

/**
 * The answer of a role with a schema is the summary of its end.
 * @param ret_next set when it is sent back
 */
static bool is_fitting(struct agent *agent, size_t index, struct json_object *arguments,
                       int *ret_next)
{
    auto_buf struct buf why = {0};
    auto_buf struct buf text = {0};
    const char *summary = json_get_string(arguments, "summary", "");
    bool is_short = strlen(summary) <= LIMIT_SUMMARY_BYTES;
    if (agent->schema == NULL || (is_short && output_check(agent->schema, summary, &why))) {
        return true;
    }
    if (!is_short) {
        buf_printf(&why, "it has more than %zu bytes", (size_t)LIMIT_SUMMARY_BYTES);
    }
    buf_printf(&text,
               "Error: the task is not finished, because its summary does not fit the schema of "
               "the output: %s\nCall finish_task again with a summary that does.",
               buf_string(&why));
    *ret_next = answer_text(agent, index, "error", &text);
    return false;
}

static int call_finish(struct agent *agent, size_t index, struct json_object *arguments,
                       struct rondo_error *err)
{
    int next = AGENT_CONTINUE;
    const struct loop_spec *spec = loop_spec(agent->loop);
    enum run_finish finish = FINISH_NONE;
    agent_read_finish(arguments, &finish); /* The arguments fit the schema. */
    if (agent->memory.reflections < (int64_t)agent->strategy.rounds) {
        return ask_reflection(agent, index, json_get_string(arguments, "summary", ""),
                              run_finish_name(finish));
    }
    if (finish == FINISH_COMPLETED && !is_fitting(agent, index, arguments, &next)) {
        return next;
    }
    if (finish != FINISH_COMPLETED || spec->condition_count == 0) {
        return accept_finish(agent, index, run_finish_name(finish), arguments);
    }
    agent_begin_call(agent, index); /* What is recorded after the round would devalue it. */
    int r = loop_verify_in_body(agent->loop, err);
    if (r < 0) {
        return r;
    }
    const struct run_state *state = loop_state(agent->loop);
    if (run_conditions_met(state) == spec->condition_count) {
        return accept_finish(agent, index, run_finish_name(finish), arguments);
    }
    return cancel_is_set(agent_cancel(agent)) ? AGENT_BODY_CUT : answer_unmet(agent, index);
}

/** @return the row of an own tool, or OWN_TOOL_COUNT */
static size_t find_own_tool(const char *name)
{
    size_t row = 0;
    while (row < OWN_TOOL_COUNT && strcmp(own_tools[row].name, name) != 0) {
        row++;
    }
    return row;
}

/**
 * Read the arguments of a call. Those of finish_task fit its schema; a plan is taken as far as it
 * makes sense.
 * @param ret_faults otherwise: what is wrong, for the model
 * @return owned, or NULL
 */
static struct json_object *read_arguments(const struct model_call *call, struct buf *ret_faults)
{
    auto_json struct json_object *arguments = NULL;
    auto_json struct json_object *schema = NULL;
    auto_buf struct buf faults = {0};
    const char *text = call->arguments[0] == '\0' ? "{}" : call->arguments;
    const struct todo_tool *todo = todo_tool_find(call->name);
    const char *schema_text =
        todo != NULL ? todo->schema : own_tools[find_own_tool(call->name)].schema;
    if (strlen(text) > TOOL_ARGUMENTS_MAX_BYTES ||
        json_parse_strict(text, strlen(text), &arguments, NULL) < 0 ||
        !json_object_is_type(arguments, json_type_object)) {
        buf_append_string(ret_faults,
                          "Error: the arguments are not a JSON object that has each member once");
        return NULL;
    }
    if ((agent_is_ending_tool(call->name) || todo != NULL) &&
        (json_parse(schema_text, strlen(schema_text), &schema, NULL) < 0 ||
         !schema_check(schema, arguments, &faults))) {
        buf_printf(ret_faults, "Error: the arguments of `%s` do not fit: %s", call->name,
                   buf_string(&faults));
        return NULL;
    }
    return steal_pointer(&arguments);
}

int agent_call_own(struct agent *agent, size_t index, struct rondo_error *err)
{
    const struct model_call *call = &agent->memory.calls[index].call;
    auto_buf struct buf faults = {0};
    auto_json struct json_object *arguments = read_arguments(call, &faults);
    if (arguments == NULL) {
        return answer_text(agent, index, "error", &faults);
    }
    return todo_tool_find(call->name) != NULL
               ? call_todo(agent, index, call->name, arguments)
               : own_tools[find_own_tool(call->name)].call(agent, index, arguments, err);
}

static bool is_finish(const struct agent *agent, size_t index)
{
    const char *name = agent->memory.calls[index].call.name;
    return agent_is_own_tool(agent, name) && agent_is_ending_tool(name);
}

/** Whether every call of finish_task in the reply says the same. */
static bool agree(const struct agent *agent, size_t count, enum run_finish finish)
{
    bool is_same = true;
    for (size_t i = 0; i < count && is_same; i++) {
        auto_buf struct buf faults = {0};
        enum run_finish other = FINISH_NONE;
        auto_json struct json_object *arguments =
            is_finish(agent, i) ? read_arguments(&agent->memory.calls[i].call, &faults) : NULL;
        is_same = !is_finish(agent, i) ||
                  (arguments != NULL && agent_read_finish(arguments, &other) && other == finish);
    }
    return is_same;
}

/** A reply that says "completed" and something else: nothing is taken from it. */
static bool is_contradiction(const struct agent *agent, size_t count, size_t last)
{
    auto_buf struct buf faults = {0};
    enum run_finish finish = FINISH_NONE;
    auto_json struct json_object *arguments =
        read_arguments(&agent->memory.calls[last].call, &faults);
    return arguments != NULL && agent_read_finish(arguments, &finish) &&
           finish == FINISH_COMPLETED && !agree(agent, count, finish);
}

/** Answer all but the last: they do not count. */
static void pass_over(struct agent *agent, size_t last)
{
    for (size_t i = 0; i < last; i++) {
        if (is_finish(agent, i) && !agent->memory.calls[i].is_answered) {
            answer_error(agent, i,
                         "Error: this call does not count, because the same reply calls "
                         "finish_task again");
        }
    }
}

int agent_call_finishes(struct agent *agent, size_t count, struct rondo_error *err)
{
    size_t last = count;
    for (size_t i = 0; i < count && agent->memory.call_count > 0; i++) {
        last = is_finish(agent, i) ? i : last;
    }
    if (last == count) {
        return AGENT_CONTINUE;
    }
    bool is_contradictory = is_contradiction(agent, count, last);
    bool is_answered = agent->memory.calls[last].is_answered;
    pass_over(agent, last);
    if (is_answered) {
        return AGENT_CONTINUE;
    }
    return is_contradictory
               ? answer_error(agent, last,
                              "Error: the calls of finish_task in this reply contradict each "
                              "other. Call it once, with the status that is true")
               : agent_call_own(agent, last, err);
}
