// SPDX-License-Identifier: Apache-2.0
/*
 * The tool type `delegate`: one tool for each agent that work can be given to, `delegate_to_NAME`.
 * Whatever goes wrong is an answer that begins with [DELEGATION ERROR].
 */
#include "agent/delegate/remote.h"
#include "agent/internal.h"
#include "agent/spec/delegates.h"
#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/key/dotenv.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_DEPTH   3
#define USUAL_SECONDS 120
#define USUAL_KEPT    1000
#define MOST_SECONDS  86400

enum delegate_mode { DELEGATE_INLINE, DELEGATE_CHAT, DELEGATE_A2A };

/** One agent that work can be given to. */
struct delegate {
    struct agent *agent;
    struct json_object *config; /* the entry of the role, a reference */
    enum delegate_mode mode;
    const char *name; /* of the agent, borrowed from `config` */
    char *path;       /* inline: of its role; owned */
    char *url;        /* else; owned */
    struct tool_headers headers;
    int64_t timeout_s;
    int64_t max_depth;
};

static void free_delegate(void *object)
{
    struct delegate *self = object;
    json_object_put(self->config);
    tool_headers_fini(&self->headers);
    free(self->path);
    free(self->url);
    free(self);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void run_inline(const struct delegate *self, const char *prompt,
                       const struct tool_call *call, struct tool_result *ret_result)
{
    const struct agent *agent = self->agent;
    struct json_object *shared = json_member(self->config, "shared_memory");
    int64_t depth = agent->config.depth + 1;
    if (depth > self->max_depth) {
        tool_fail(ret_result,
                  DELEGATION_ERROR "delegation depth %" PRId64 " exceeds max_depth %" PRId64
                                   "; do the work yourself",
                  depth, self->max_depth);
        return;
    }
    if (call->idempotency_key == NULL) {
        tool_fail(ret_result, DELEGATION_ERROR "an exit condition cannot give work away");
        return;
    }
    const struct agent_order order = {
        .name = self->name,
        .path = self->path,
        .prompt = prompt,
        .depth = depth,
        .timeout_ns = self->timeout_s * NS_PER_S,
        .memory_path = json_get_string(shared, "store_path", NULL),
        .max_memories = json_get_int(shared, "max_memories", USUAL_KEPT),
    };
    agent_run_order(self->agent, &order, call, ret_result);
}

static void run_remote(const struct delegate *self, const char *prompt,
                       const struct tool_call *call, struct tool_result *ret_result)
{
    const struct remote_agent remote = {
        .around = &self->agent->surroundings,
        .name = self->name,
        .url = self->url,
        .headers = &self->headers,
        .timeout_s = self->timeout_s,
    };
    if (self->headers.missing != NULL) {
        tool_fail(ret_result, DELEGATION_ERROR "the environment variable %s is not set",
                  self->headers.missing);
    } else if (self->mode == DELEGATE_CHAT) {
        remote_chat(&remote, prompt, call, ret_result);
    } else {
        remote_a2a(&remote, prompt, call, ret_result);
    }
}

static void run_delegate(const struct tool *tool, const struct tool_call *call,
                         struct tool_result *ret_result)
{
    const struct delegate *self = tool->context;
    const char *prompt = json_get_string(call->arguments, "prompt", "");
    size_t len = strlen(prompt);
    if (len == 0 || len > (size_t)LIMIT_DELEGATION_BYTES) {
        tool_fail(ret_result, DELEGATION_ERROR "a prompt has 1 to %ld bytes",
                  (long)LIMIT_DELEGATION_BYTES);
    } else if (self->mode == DELEGATE_INLINE) {
        run_inline(self, prompt, call, ret_result);
    } else {
        run_remote(self, prompt, call, ret_result);
    }
}

void agent_record_delegation(struct agent *agent)
{
    struct agent_delegation *done = &agent->delegation;
    if (!done->is_done) {
        return;
    }
    const struct journal_event event = {
        .type = JOURNAL_DELEGATION_FINISHED,
        .delegation_finished = {.iteration = (int64_t)agent->memory.iteration,
                                .agent = done->name,
                                .run = done->run_id,
                                .outcome = done->outcome,
                                .tokens = done->tokens,
                                .cost_micro = done->cost_micro,
                                .duration_ns = done->duration_ns},
    };
    agent_record(agent, &event);
    spending_add(agent,
                 (struct budget_amount){done->tokens, done->cost_micro < 0 ? 0 : done->cost_micro});
    *done = (struct agent_delegation){0};
}

/* ---- Opening --------------------------------------------------------------------------------- */

static enum delegate_mode mode_of(struct json_object *config)
{
    const char *mode = json_get_string(config, "mode", "inline");
    return strcmp(mode, "mcp") == 0   ? DELEGATE_CHAT
           : strcmp(mode, "a2a") == 0 ? DELEGATE_A2A
                                      : DELEGATE_INLINE;
}

/** "delegate_to_NAME", with what providers take in names of tools. Owned */
static char *tool_name(const char *name)
{
    struct buf text = {0};
    buf_append_string(&text, "delegate_to_");
    for (const char *at = name; *at != '\0'; at++) {
        bool is_plain = ascii_is_letter(*at) || ascii_is_digit(*at) || *at == '_' || *at == '-';
        buf_append(&text, is_plain ? at : "_", 1);
    }
    return buf_steal(&text);
}

/** Headers whose values are those of variables; one that is not set is left out, but its name. */
static void read_headers(struct delegate *self, struct json_object *names)
{
    if (self->mode != DELEGATE_INLINE) {
        tool_headers_set(&self->headers, "Content-Type", "application/json");
    }
    if (names == NULL) {
        return;
    }
    struct json_object_iterator end = json_object_iter_end(names);
    struct json_object_iterator at = json_object_iter_begin(names);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *variable = json_object_get_string(json_object_iter_peek_value(&at));
        const char *value = variable == NULL ? NULL : dotenv_get(self->agent->dotenv, variable);
        if (value != NULL && value[0] != '\0') {
            tool_headers_set(&self->headers, json_object_iter_peek_name(&at), value);
        } else if (self->headers.missing == NULL) {
            self->headers.missing = memory_dup_string(variable == NULL ? "" : variable);
        }
    }
}

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

static struct delegate *make(struct agent *agent, struct json_object *config,
                             struct json_object *entry)
{
    struct delegate *self = memory_new_zero(1, sizeof(*self));
    *self = (struct delegate){
        .agent = agent,
        .config = json_object_get(config),
        .mode = mode_of(config),
        .name = json_get_string(entry, "name", ""),
        .timeout_s = json_get_int(config, "timeout_seconds", USUAL_SECONDS),
        .max_depth = clamp(json_get_int(config, "max_depth", USUAL_DEPTH), LIMIT_DELEGATION_DEPTH),
    };
    self->timeout_s = self->timeout_s < 1 ? 1 : clamp(self->timeout_s, MOST_SECONDS);
    if (self->mode == DELEGATE_INLINE) {
        self->path =
            delegates_path(agent->config.role->folder, json_get_string(entry, "role_file", ""));
    } else {
        self->url = memory_dup_string(json_get_string(entry, "url", ""));
    }
    read_headers(self, json_member(entry, "headers_env"));
    toolbox_own(agent->toolbox, self, free_delegate);
    return self;
}

/** What the model is told of an agent. Owned */
static char *describe(const struct delegate *self, struct json_object *entry)
{
    struct buf text = {0};
    const char *given = json_get_string(entry, "description", "");
    struct json_object *role = json_member(
        json_member(self->agent->config.delegates, self->path == NULL ? "" : self->path), "role");
    const char *own = json_get_string(json_member(role, "metadata"), "description", "");
    const char *what = given[0] != '\0' ? given : own;
    buf_printf(&text,
               "Give work to the agent %s, and get its answer. It knows nothing of this "
               "conversation: write into the prompt all that it needs.%s%.1000s",
               self->name, what[0] == '\0' ? "" : " What it is for: ", what);
    return buf_steal(&text);
}

static int add_tool(struct agent *agent, struct json_object *config, struct json_object *entry,
                    struct rondo_error *err)
{
    static const struct tool_function function = {
        .name = "delegate_to",
        .description = "",
        .schema = "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\","
                  "\"description\":\"The work, with all that the other agent must know\"}},"
                  "\"required\":[\"prompt\"],\"additionalProperties\":false}",
        .run = run_delegate,
    };
    struct delegate *self = make(agent, config, entry);
    if (self->mode == DELEGATE_INLINE && json_member(agent->config.delegates, self->path) == NULL) {
        return error_set(err, RONDO_ERR_STATE,
                         "the run was made by a Rondo that knew no `delegate`: it has not kept "
                         "%s; start a new one",
                         self->path);
    }
    struct tool tool = toolbox_tool("delegate", &function, self);
    free(tool.name);
    free(tool.description);
    tool.name = tool_name(self->name);
    tool.description = describe(self, entry);
    /* A run that was given away is found by the call: repeating that continues it. */
    tool.is_idempotent = self->mode == DELEGATE_INLINE;
    tool.permissions = json_member(self->config, "permissions");
    tool.needs_confirmation = strcmp(json_get_string(config, "approval", ""), "required") == 0;
    return toolbox_add(agent->toolbox, &tool, err);
}

int agent_open_delegates(struct agent *agent, struct rondo_error *err)
{
    struct json_object *entries = agent->config.role->tools;
    int r = 0;
    for (size_t i = 0; i < json_length(entries) && r == 0; i++) {
        struct json_object *config = json_object_array_get_idx(entries, i);
        bool is_one = strcmp(json_get_string(config, "type", ""), "delegate") == 0;
        struct json_object *agents = is_one ? json_member(config, "agents") : NULL;
        for (size_t j = 0; j < json_length(agents) && r == 0; j++) {
            r = add_tool(agent, config, json_object_array_get_idx(agents, j), err);
        }
        if (r < 0) {
            error_prefix(err, "spec.tools[%zu]", i);
        }
    }
    return r;
}
