// SPDX-License-Identifier: Apache-2.0
/*
 * The tool `clarify`: a question to the person who runs the agent. It is answered on the loop's
 * thread; how long that takes counts against no limit but the tool's own. A call that was cut off
 * is repeated: the person is asked again.
 */
#include "agent/internal.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_QUESTIONS 3
#define USUAL_SECONDS   300

struct clarify {
    struct agent *agent;
    struct json_object *config; /* owned reference */
    int64_t most;               /* questions of one process */
    int64_t asked;
    int64_t timeout_ns;
};

static void free_clarify(void *owned)
{
    struct clarify *self = owned;
    json_object_put(self->config);
    free(self);
}

static enum agent_answer ask(struct clarify *self, const char *question, struct buf *ret_answer)
{
    struct agent *agent = self->agent;
    const struct clock *clock = runtime_clock(agent->runtime);
    int64_t begin_ns = clock_monotonic(clock);
    enum agent_answer answer =
        agent->parts.ask_words(agent->parts.ask_context, question, self->timeout_ns, ret_answer);
    int64_t waited_ns = clock_monotonic(clock) - begin_ns;
    agent->started_ns += waited_ns;
    loop_record_wait(agent->loop, "clarify", answer == AGENT_ANSWER_GIVEN ? "yes" : "none",
                     waited_ns);
    return answer;
}

static void run_clarify(const struct tool *tool, const struct tool_call *call,
                        struct tool_result *ret_result)
{
    struct clarify *self = tool->context;
    const char *question = json_get_string(call->arguments, "question", "");
    auto_buf struct buf answer = {0};
    if (self->agent->parts.ask_words == NULL) {
        tool_fail(ret_result, "Error: no person can answer in this run. Decide by yourself, or "
                              "finish as blocked with the question as the summary.");
        return;
    }
    if (self->asked >= self->most) {
        tool_fail(ret_result,
                  "Error: no further question can be asked: max_clarifications is %" PRId64
                  ". Decide by yourself, or finish as blocked.",
                  self->most);
        return;
    }
    if (question[0] == '\0' || strlen(question) > (size_t)LIMIT_CLARIFY_BYTES) {
        tool_fail(ret_result, "Error: a question has 1 to %ld bytes", (long)LIMIT_CLARIFY_BYTES);
        return;
    }
    self->asked++;
    switch (ask(self, question, &answer)) {
    case AGENT_ANSWER_GIVEN:
        buf_append(&ret_result->text, answer.data, answer.len);
        return;
    case AGENT_ANSWER_LATE:
        tool_fail(ret_result,
                  "Error: nobody answered within %" PRId64
                  " seconds. Decide by yourself, or finish as blocked.",
                  (int64_t)(self->timeout_ns / NS_PER_S));
        return;
    case AGENT_ANSWER_NONE:
        break;
    }
    tool_fail(ret_result, "Error: the person gave no answer. Decide by yourself, or finish as "
                          "blocked.");
}

static const struct tool_function clarify_function = {
    .name = "clarify",
    .description = "Ask the person who runs you a question, and wait for the answer. Use it only "
                   "when the task cannot be done well without.",
    .schema = "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\","
              "\"description\":\"One question, in full\"}},\"required\":[\"question\"],"
              "\"additionalProperties\":false}",
    .run = run_clarify,
    .is_idempotent = true,
    .is_read_only = true,
};

static struct json_object *find_entry(const struct role *role)
{
    size_t count = json_length(role->tools);
    for (size_t i = 0; i < count; i++) {
        struct json_object *entry = json_object_array_get_idx(role->tools, i);
        if (strcmp(json_get_string(entry, "type", ""), "clarify") == 0) {
            return entry;
        }
    }
    return NULL;
}

int agent_open_clarify(struct agent *agent, struct rondo_error *err)
{
    struct json_object *config = find_entry(agent->config.role);
    if (config == NULL) {
        return 0;
    }
    struct clarify *self = memory_new_zero(1, sizeof(*self));
    *self = (struct clarify){
        .agent = agent,
        .config = json_object_get(config),
        .most = json_get_int(config, "max_clarifications", USUAL_QUESTIONS),
        .timeout_ns = json_get_int(config, "timeout_seconds", USUAL_SECONDS) * NS_PER_S,
    };
    toolbox_own(agent->toolbox, self, free_clarify);
    struct tool tool = toolbox_tool("clarify", &clarify_function, self);
    tool.permissions = json_member(self->config, "permissions");
    return toolbox_add(agent->toolbox, &tool, err);
}
