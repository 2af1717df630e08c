// SPDX-License-Identifier: Apache-2.0
/*
 * `schedule_followup` and `schedule_followup_at`: tools of agents with `spec.autonomy` whose run a
 * daemon has started. The follow-up is durable before the call has its result. A call in doubt is
 * repeated, and finds the follow-up that it made.
 */
#include "agent/follow_up.h"
#include "agent/internal.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/datetime/calendar.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEPTH 100

/* What the tools know; `agent` is the context of their run. */
struct follow_up_tools {
    struct agent *agent;
    char *name; /* of the agent */
    struct follow_up_limits limits;
    int64_t max_delay_seconds;
    int64_t max_depth;
    int64_t depth; /* of this run: 0 = it is no follow-up */
};

static void free_tools(void *owned)
{
    struct follow_up_tools *tools = owned;
    free(tools->name);
    free(tools);
}

static int64_t now_ns(const struct follow_up_tools *tools)
{
    return clock_now(runtime_clock(tools->agent->runtime));
}

/** Add what was checked. @return whether it is there; else the result says why not */
static bool add(const struct follow_up_tools *tools, const struct tool_call *call, int64_t due_ns,
                char ret_id[FOLLOW_UP_ID_SIZE], struct tool_result *ret_result)
{
    struct rondo_error err = {0};
    enum follow_up_outcome outcome = FOLLOW_UP_ADDED;
    struct follow_up follow_up = {
        .created_ns = now_ns(tools),
        .due_ns = due_ns,
        .depth = tools->depth + 1,
        .prompt = memory_dup_string(json_get_string(call->arguments, "prompt", "")),
    };
    follow_up_id(call->idempotency_key, follow_up.id);
    snprintf(follow_up.agent, sizeof(follow_up.agent), "%s", tools->name);
    snprintf(follow_up.asked_by, sizeof(follow_up.asked_by), "%s", loop_run_id(tools->agent->loop));
    int r = follow_up_add(runtime_store(tools->agent->runtime), &follow_up, &tools->limits,
                          &outcome, &err);
    memcpy(ret_id, follow_up.id, FOLLOW_UP_ID_SIZE);
    follow_up_fini(&follow_up);
    if (r < 0) {
        tool_fail(ret_result, "Error: the follow-up could not be stored: %s", err.message);
        return false;
    }
    if (outcome == FOLLOW_UP_RUN_LIMIT) {
        tool_fail(ret_result, "Cannot schedule: per-run limit (%" PRId64 ") reached.",
                  tools->limits.per_run);
    } else if (outcome == FOLLOW_UP_TOTAL_LIMIT) {
        tool_fail(ret_result,
                  "Maximum scheduled tasks (%" PRId64 ") reached. Cannot schedule more.",
                  tools->limits.total);
    }
    runtime_notify(tools->agent->runtime);
    return outcome == FOLLOW_UP_ADDED;
}

/** Checks that both tools make. */
static bool check(const struct follow_up_tools *tools, const struct tool_call *call,
                  int64_t delay_seconds, struct tool_result *ret_result)
{
    size_t len = strlen(json_get_string(call->arguments, "prompt", ""));
    if (len == 0 || len > LIMIT_FOLLOW_UP_PROMPT_BYTES) {
        tool_fail(ret_result, "Cannot schedule: a prompt has 1 to %ld bytes.",
                  LIMIT_FOLLOW_UP_PROMPT_BYTES);
    } else if (delay_seconds > tools->max_delay_seconds) {
        tool_fail(ret_result, "Cannot schedule: delay exceeds maximum (%" PRId64 "s).",
                  tools->max_delay_seconds);
    } else if (tools->depth >= tools->max_depth) {
        tool_fail(ret_result,
                  "Cannot schedule: this run is follow-up %" PRId64
                  " in a row, and there may be no more than %" PRId64 ".",
                  tools->depth, tools->max_depth);
    } else {
        return true;
    }
    return false;
}

static void run_after(const struct tool *tool, const struct tool_call *call,
                      struct tool_result *ret_result)
{
    const struct follow_up_tools *tools = tool->context;
    char id[FOLLOW_UP_ID_SIZE];
    int64_t delay = json_get_int(call->arguments, "delay_seconds", 0);
    if (delay < 1) {
        tool_fail(ret_result, "Cannot schedule: delay must be at least 1 second.");
        return;
    }
    if (check(tools, call, delay, ret_result) &&
        add(tools, call, now_ns(tools) + delay * NS_PER_S, id, ret_result)) {
        buf_printf(&ret_result->text, "Scheduled follow-up in %" PRId64 "s (task_id=%s).", delay,
                   id);
    }
}

static void run_at(const struct tool *tool, const struct tool_call *call,
                   struct tool_result *ret_result)
{
    const struct follow_up_tools *tools = tool->context;
    char id[FOLLOW_UP_ID_SIZE];
    char iso[CALENDAR_ISO_SIZE];
    struct calendar_time time;
    const char *text = json_get_string(call->arguments, "iso_datetime", "");
    int64_t now = now_ns(tools) / NS_PER_S;
    if (!calendar_parse_iso(text, &time)) {
        tool_fail(ret_result, "Invalid ISO datetime: %.100s", text);
        return;
    }
    int64_t due = calendar_days(time.year, time.month, time.day) * 86400 + time.hour * 3600 +
                  time.minute * 60 + time.second - time.offset_seconds;
    if (due <= now) {
        tool_fail(ret_result, "Cannot schedule: target time is in the past.");
        return;
    }
    if (check(tools, call, due - now, ret_result) &&
        add(tools, call, due * NS_PER_S, id, ret_result)) {
        time.has_offset = true;
        calendar_format_iso(&time, iso);
        buf_printf(&ret_result->text, "Scheduled follow-up at %s (task_id=%s).", iso, id);
    }
}

static const struct tool_function functions[] = {
    {
        .name = "schedule_followup",
        .description = "Schedule a run of yourself after a delay. It begins a new conversation: "
                       "the prompt is all that it knows of this one.",
        .schema = "{\"type\":\"object\",\"properties\":{"
                  "\"prompt\":{\"type\":\"string\",\"description\":\"Prompt of that run\"},"
                  "\"delay_seconds\":{\"type\":\"integer\",\"description\":\"Seconds from now\"}},"
                  "\"required\":[\"prompt\",\"delay_seconds\"],\"additionalProperties\":false}",
        .run = run_after,
        .is_idempotent = true,
    },
    {
        .name = "schedule_followup_at",
        .description = "Schedule a run of yourself at a time. It begins a new conversation: the "
                       "prompt is all that it knows of this one.",
        .schema = "{\"type\":\"object\",\"properties\":{"
                  "\"prompt\":{\"type\":\"string\",\"description\":\"Prompt of that run\"},"
                  "\"iso_datetime\":{\"type\":\"string\",\"description\":\"ISO 8601, such as "
                  "2026-01-15T14:30:00Z; UTC unless it has an offset\"}},"
                  "\"required\":[\"prompt\",\"iso_datetime\"],\"additionalProperties\":false}",
        .run = run_at,
        .is_idempotent = true,
    },
};

int agent_open_follow_ups(struct agent *agent, struct rondo_error *err)
{
    const struct role *role = agent->config.role;
    struct json_object *autonomy = json_member(json_member(role->normal, "spec"), "autonomy");
    if (agent->config.follow_up_depth < 0 || autonomy == NULL) {
        return 0;
    }
    struct follow_up_tools *tools = memory_new_zero(1, sizeof(*tools));
    *tools = (struct follow_up_tools){
        .agent = agent,
        .name = memory_dup_string(role->name),
        .limits = {.per_run = json_get_int(autonomy, "max_scheduled_per_run", 3),
                   .total = json_get_int(autonomy, "max_scheduled_total", 50)},
        .max_delay_seconds = json_get_int(autonomy, "max_schedule_delay_seconds", 86400),
        .max_depth = json_get_int(autonomy, "max_schedule_depth", DEFAULT_DEPTH),
        .depth = agent->config.follow_up_depth,
    };
    if (tools->max_delay_seconds > LIMIT_CATCH_UP_S) {
        tools->max_delay_seconds = LIMIT_CATCH_UP_S;
    }
    toolbox_own(agent->toolbox, tools, free_tools);
    int r = 0;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && r == 0; i++) {
        r = toolbox_add_function(agent->toolbox, "schedule", &functions[i], tools, err);
    }
    return r;
}
