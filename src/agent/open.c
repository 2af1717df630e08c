// SPDX-License-Identifier: Apache-2.0
/* Opening an agent: its keys, its model, its tools, and what it knows already. */
#include "agent/internal.h"
#include "agent/output.h"
#include "agent/spec/delegates.h"

#include "agent/documents.h"
#include "agent/memory/memories.h"
#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/hidden_paths.h"
#include "loop/limits_ahead.h"
#include "tool/data/skills.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int agent_open_model(const struct agent *agent, const struct agent_config *config,
                     struct model **ret_model, struct rondo_error *err)
{
    struct model_options options = agent_config_model(config);
    options.prices_file = agent->parts.prices_file;
    options.record_file = agent->parts.record_file;
    options.agent_folders = agent->agent_folders;
    options.http = agent->parts.http;
    options.clock = runtime_clock(agent->runtime);
    options.random = runtime_random(agent->runtime);
    return model_open(&options, ret_model, err);
}

static int open_model(struct agent *agent, struct rondo_error *err)
{
    const struct agent_config *config = &agent->config;
    int r = agent_open_model(agent, config, &agent->model, err);
    if (r < 0) {
        return r;
    }
    struct buf id = {0};
    buf_printf(&id, "%s:%s", config->provider, config->model);
    agent->model_id = buf_steal(&id);
    return 0;
}

/**
 * A limit of cost holds only where it is known what the model costs: an option of the run, or a
 * limit that its policies set. The gate sees to what is changed later.
 */
static int check_cost_limit(const struct agent *agent, const struct loop_spec *spec,
                            struct rondo_error *err)
{
    struct run_state state = {0};
    struct limits_ahead ahead = {0};
    if (model_has_price(agent->model)) {
        return 0;
    }
    bool is_limited = spec->max_cost_micro > 0 ||
                      (limits_ahead_find(agent->runtime, spec, "", &state, &ahead, NULL) == 0 &&
                       ahead.limits[RUN_LIMIT_COST].is_known);
    if (!is_limited) {
        return 0;
    }
    auto_buf struct buf why = {0};
    loop_explain_unpriced(agent->model_id, &why);
    return error_set(err, RONDO_ERR_INVALID, "%s", buf_string(&why));
}

/** Whether the agent has tools that start programs. */
static bool starts_programs(const struct role *role)
{
    static const char *const types[] = {"shell", "script", "python", "git", "mcp"};
    size_t count = json_length(role->tools);
    for (size_t i = 0; i < count; i++) {
        const char *type = json_get_string(json_object_array_get_idx(role->tools, i), "type", "");
        for (size_t j = 0; j < sizeof(types) / sizeof(types[0]); j++) {
            if (strcmp(types[j], type) == 0) {
                return true;
            }
        }
    }
    return false;
}

/** The role's settings for programs; they are long, and kept only where they are needed. */
static struct json_object *security_tools(const struct role *role)
{
    if (!starts_programs(role)) {
        return NULL;
    }
    struct json_object *spec = NULL;
    struct json_object *security = NULL;
    struct json_object *tools = NULL;
    json_object_object_get_ex(role->normal, "spec", &spec);
    json_object_object_get_ex(spec, "security", &security);
    json_object_object_get_ex(security, "tools", &tools);
    return tools;
}

static void describe_surroundings(struct agent *agent, const struct loop_spec *spec)
{
    const struct role *role = agent->config.role;
    agent->security = json_object_get(security_tools(role));
    agent->guard = (struct net_guard){
        .allow_hosts = (const char *const *)agent->config.allow_hosts,
    };
    agent->hide_paths = hidden_paths_of_run(runtime_hide_paths(agent->runtime), spec->policy);
    agent->protect_paths = protected_paths_of_run(agent->workspace, role->path);
    agent->surroundings = (struct tool_surroundings){
        .workspace = agent->workspace,
        .role_folder = role->folder,
        .starts_in_workspace = spec->work != NULL, /* a task of a PRD has a tree of its own */
        .model_provider = agent->config.provider,
        .model_name = agent->config.model,
        .dotenv = agent->dotenv,
        .http = agent->parts.http,
        .guard = &agent->guard,
        .clock = runtime_clock(agent->runtime),
        .supervisor = runtime_supervisor(agent->runtime),
        .hide_paths = (const char *const *)agent->hide_paths,
        .protect_paths = (const char *const *)agent->protect_paths,
        .sandbox = role->sandbox == NULL ? "namespace" : role->sandbox,
        .allow_network = role->allows_network,
        .is_offline = role->is_offline,
        .security_tools = agent->security,
        .ask_form = agent->parts.ask_form,
        .ask_context = agent->parts.ask_context,
        .cancel = agent->parts.cancel,
    };
}

/** The run keeps its servers; one of Rondo 0.1 does not, and needs the file as it is now. */
static int open_shared(struct agent *agent, const struct loop_spec *spec, struct rondo_error *err)
{
    if (agent->config.servers != NULL) {
        agent->shared = mcp_shared_pinned(agent->config.servers, &agent->surroundings);
        return 0;
    }
    if (!agent_needs_servers(agent->config.role->tools, spec)) {
        return 0;
    }
    auto_free char *path = agent_config_path(agent->workspace, agent->parts.config_folder);
    return agent_read_config(spec, path, &agent->surroundings, &agent->shared, err);
}

/** Open one entry of the role. */
static int open_entry(struct agent *agent, struct json_object *entry, struct rondo_error *err)
{
    int r = toolbox_open(agent->toolbox, entry, err);
    if (r == RONDO_ERR_UNSUPPORTED || (r < 0 && agent->config.is_dry_run)) {
        /* The start of the run reported which tools are missing; a dry run calls none. */
        return 0;
    }
    return r;
}

/** The tool of `spec.auto_skills`, where skills were found. */
static int open_skills(struct agent *agent, struct rondo_error *err)
{
    struct json_object *skills =
        json_member(json_member(agent->config.role->normal, "spec"), "offered_skills");
    return skills == NULL ? 0 : skills_open(agent->toolbox, skills, err);
}

static int open_tools(struct agent *agent, const struct loop_spec *spec, struct rondo_error *err)
{
    describe_surroundings(agent, spec);
    int r = open_shared(agent, spec, err);
    if (r < 0) {
        return r;
    }
    agent->surroundings.mcp = agent->shared;
    agent_prepare_documents(agent, spec->agent_id);
    agent->toolbox = toolbox_new(&agent->surroundings);
    struct json_object *entries = agent->config.role->tools;
    size_t count = json_length(entries);
    for (size_t i = 0; i < count && r == 0; i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        bool is_server = strcmp(json_get_string(entry, "type", ""), "mcp") == 0;
        if (is_server && agent->config.is_dry_run) {
            continue; /* Nothing is started for a model that calls nothing. */
        }
        r = open_entry(agent, entry, err);
        if (r < 0) {
            error_prefix(err, "spec.tools[%zu]", i);
        }
    }
    r = r < 0 ? r : agent_open_documents(agent, err);
    r = r < 0 ? r : open_skills(agent, err);
    r = r < 0 ? r : agent_open_clarify(agent, err);
    r = r < 0 ? r : agent_open_delegates(agent, err);
    return r < 0 ? r : agent_open_follow_ups(agent, err);
}

/** A condition that names a tool or server which is not there could never be met. */
static int check_conditions(const struct agent *agent, const struct loop_spec *spec,
                            struct rondo_error *err)
{
    for (size_t i = 0; i < spec->condition_count; i++) {
        const struct loop_condition *condition = &spec->conditions[i];
        struct mcp_client *client = NULL;
        if (condition->server != NULL &&
            mcp_shared_client(agent->shared, condition->server, &client, err) < 0) {
            error_prefix(err, "exit condition %s", condition->name);
            return RONDO_ERR_NOT_FOUND;
        }
        if (condition->tool != NULL && condition->server == NULL &&
            toolbox_find(agent->toolbox, condition->tool) == NULL) {
            return error_set(err, RONDO_ERR_NOT_FOUND,
                             "exit condition %s: the agent has no tool '%s'", condition->name,
                             condition->tool);
        }
    }
    return 0;
}

/** A run of an earlier version may never have been asked about protections that are missing. */
static int check_protected(const struct agent_config *config, struct rondo_error *err)
{
    struct role_findings findings = {0};
    if (!config->accepts_unprotected) {
        role_find_unprotected(config->role, &findings);
    }
    int r = agent_check_protected(&findings, err);
    role_findings_fini(&findings);
    return r;
}

static int open_memories(struct agent *agent, const char *agent_id, struct rondo_error *err)
{
    const struct agent_memories_parts parts = {
        .runtime = agent->runtime,
        .http = agent->parts.http,
        .role = agent->config.role,
        .agent_id = agent_id,
        .is_dry_run = agent->config.is_dry_run,
        .is_autonomous = agent->config.mode == AGENT_AUTONOMOUS,
        .prices_file = agent->parts.prices_file,
        .needs_price = budget_rules_limit_cost(&agent->spending.rules),
    };
    return agent_memories_open(&parts, agent->toolbox, &agent->memories, err);
}

/** `context_window` of the role's model: three quarters of it are for the conversation, and a token
 * is about four bytes. */
static size_t context_bytes(const struct role *role)
{
    struct json_object *model = json_member(json_member(role->normal, "spec"), "model");
    int64_t tokens = json_get_int(model, "context_window", 0);
    return tokens <= 0 ? 0 : tokens > INT32_MAX ? SIZE_MAX : (size_t)tokens * 3;
}

/** The system prompt is the run's; what it must answer with follows from its role. */
static void set_system(struct agent *agent)
{
    auto_buf struct buf text = {0};
    agent->schema = output_schema(agent->config.role);
    if (agent->schema == NULL) {
        model_set_system(agent->model, agent->config.system);
        return;
    }
    buf_append_string(&text, agent->config.system);
    output_write_system(agent->schema, agent->config.mode == AGENT_AUTONOMOUS, &text);
    free(agent->config.system);
    agent->config.system = memory_dup_string(buf_string(&text));
    model_set_system(agent->model, agent->config.system);
}

static int open_all(struct agent *agent, const struct loop_spec *spec, struct rondo_error *err)
{
    int r = agent_config_read(spec->agent, &agent->config, err);
    if (r == 0 && agent->config.depth > 0 && !agent->parts.is_inside) {
        char parent[ID_SIZE] = "";
        delegates_find_parent(spec, parent);
        r = error_set(err, RONDO_ERR_STATE,
                      "run %s has given this one away and continues it: resume that one", parent);
    }
    if (r == 0) {
        r = check_protected(&agent->config, err);
    }
    if (r == 0) {
        r = dotenv_read(agent->config.role->folder, &agent->dotenv, err);
    }
    if (r == 0) {
        r = agent_confirm_variables(agent->config.role, agent->dotenv, spec, err);
    }
    if (r == 0) {
        r = content_open(agent->config.role, &agent->content, err);
    }
    if (r == 0) {
        r = open_model(agent, err);
    }
    if (r == 0) {
        r = fallback_open(agent, err);
    }
    if (r == 0) {
        r = compaction_open(agent, err);
    }
    if (r == 0) {
        r = check_cost_limit(agent, spec, err);
    }
    if (r == 0) {
        r = spending_open(agent, spec->agent_id, err);
    }
    if (r == 0) {
        r = open_tools(agent, spec, err);
    }
    if (r == 0) {
        r = open_memories(agent, spec->agent_id, err);
    }
    if (r == 0) {
        r = check_conditions(agent, spec, err);
    }
    if (r < 0) {
        return r;
    }
    strategy_read(agent->config.role, &agent->strategy);
    agent->context_bytes = context_bytes(agent->config.role);
    r = agent_check_own_tools(agent, err);
    if (r < 0) {
        return r;
    }
    set_system(agent);
    agent_offer_tools(agent);
    role_drop_normal(agent->config.role);
    return 0;
}

int agent_open(struct runtime *runtime, const struct loop_spec *spec,
               const struct agent_parts *parts, struct agent **ret_agent, struct rondo_error *err)
{
    if (spec->agent == NULL) {
        return error_set(err, RONDO_ERR_STATE, "the run is not one of a role file");
    }
    struct agent *agent = memory_new_zero(1, sizeof(*agent));
    agent->runtime = runtime;
    agent->renew_ns = handoff_default_rules.lease_ns / 3;
    agent->parts = *parts;
    agent->workspace = memory_dup_string(spec->workspace);
    agent->agent_folders[0] = agent->workspace;
    int r = open_all(agent, spec, err);
    if (r < 0) {
        agent_free(agent);
        return r;
    }
    *ret_agent = agent;
    return 0;
}

void agent_tell_policies(const struct agent *agent)
{
    size_t count = toolbox_count(agent->toolbox);
    struct policy_resource *resources = memory_new_zero(count + 4, sizeof(*resources));
    for (size_t i = 0; i < count; i++) {
        const struct tool *tool = toolbox_at(agent->toolbox, i);
        resources[i] = (struct policy_resource){
            .action = ACTION_CALL_TOOL,
            .id = tool->name,
            .origin = tool->server == NULL ? "" : tool->server,
            .is_read_only = tool->is_read_only || tool->is_pure,
            .needs_confirmation = tool->needs_confirmation,
        };
    }
    resources[count] = (struct policy_resource){
        .action = ACTION_CALL_MODEL,
        .id = agent->config.model,
        .origin = agent->config.provider,
    };
    size_t end = count + 1;
    end += agent_memories_model(agent->memories, &resources[end]);
    end += agent_document_model(agent, &resources[end]);
    end += compaction_model(agent, &resources[end]);
    loop_set_resources(agent->loop, resources, end);
    free(resources);
}

/** What is left of turns before those. */
static void add_carried_summary(struct agent *agent)
{
    struct model_message message;
    if (agent->config.carried_summary != NULL) {
        model_write_user(agent->model, agent->config.carried_summary, &message);
        history_add(&agent->memory.history, &message, 0);
        agent->carried++;
    }
}

/** Words and answer of an earlier turn. Words that the filter has refused stay out. */
static void add_turn(struct agent *agent, const char *words, const char *answer)
{
    auto_buf struct buf why = {0};
    struct model_message message;
    if (!content_accepts(agent->content, words, &why)) {
        return;
    }
    model_write_user(agent->model, words, &message);
    history_add(&agent->memory.history, &message, 0);
    const struct model_reply reply = {.text = (char *)answer, .thinking = (char *)""};
    model_write_assistant(agent->model, &reply, &message);
    history_add(&agent->memory.history, &message, 0);
    agent->carried += 2;
}

/** A turn of a conversation begins with what was said before. */
static void add_carried(struct agent *agent)
{
    struct json_object *texts = agent->config.carried;
    size_t count = json_length(texts);
    add_carried_summary(agent);
    for (size_t i = 0; i + 1 < count; i += 2) {
        add_turn(agent, json_object_get_string(json_object_array_get_idx(texts, i)),
                 json_object_get_string(json_object_array_get_idx(texts, i + 1)));
    }
}

/** What the run's policies and limits are told of the model in use. */
static void tell_model(struct agent *agent)
{
    agent_tell_policies(agent);
    loop_set_unpriced(agent->loop, model_has_price(agent->model) ? NULL : agent->model_id);
}

int agent_reload(struct agent *agent, struct rondo_error *err)
{
    tell_model(agent);
    agent_memory_fini(&agent->memory);
    agent->memory = (struct agent_memory){0};
    agent->carried = 0;
    add_carried(agent);
    return agent_load(agent, err);
}

int agent_attach(struct agent *agent, struct loop *loop, struct rondo_error *err)
{
    agent->loop = loop;
    agent_memories_attach(agent->memories, loop);
    tell_model(agent);
    loop_set_tool_verifier(loop, agent_verifier(agent));
    add_carried(agent);
    int r = agent_load(agent, err);
    agent->is_resumed = r == 0 && agent->memory.history.count > agent->carried;
    return r;
}

void agent_free(struct agent *agent)
{
    if (agent == NULL) {
        return;
    }
    agent_memory_fini(&agent->memory);
    toolbox_free(agent->toolbox);
    agent_free_documents(agent);
    agent_memories_free(agent->memories);
    mcp_shared_free(agent->shared);
    spending_fini(&agent->spending);
    model_free(agent->model);
    fallback_fini(&agent->fallbacks);
    compaction_fini(&agent->compaction);
    dotenv_free(agent->dotenv);
    json_object_put(agent->security);
    agent_config_fini(&agent->config);
    strategy_fini(&agent->strategy);
    content_free(agent->content);
    json_object_put(agent->schema);
    free(agent->workspace);
    free(agent->model_id);
    hidden_paths_free(agent->hide_paths);
    hidden_paths_free(agent->protect_paths);
    free(agent);
}
