// SPDX-License-Identifier: Apache-2.0
/*
 * What a run of a role starts outside of itself, recorded when the run is made: the servers of
 * rondo.yaml that it uses. Agents can write that file when it is in the workspace, so there it must
 * be confirmed, and a resume never reads it again.
 */
#include "agent/spec/pin.h"

#include "agent/spec/delegates.h"
#include "agent/spec/options.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "mcp/mcp.h"
#include "model/key/dotenv.h"
#include "os/file_untrusted.h"
#include "os/state_folder.h"
#include "os/trust.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Name of the file that registers servers. */
#define CONFIG_NAME "rondo.yaml"

char *agent_config_path(const char *workspace, const char *config_folder)
{
    struct buf path = {0};
    buf_printf(&path, "%s/" CONFIG_NAME, workspace);
    /* opens: only chooses a place; what is there is read as hostile */
    if (access(buf_string(&path), F_OK) != 0 && config_folder != NULL) {
        buf_clear(&path);
        buf_printf(&path, "%s/" CONFIG_NAME, config_folder);
    }
    return buf_steal(&path);
}

/* ---- The file ------------------------------------------------------------------------------- */

bool agent_can_reach(const struct loop_spec *spec, const char *path)
{
    const char *const workspace[] = {spec->workspace, NULL};
    return trust_is_in_reach(path, workspace) ||
           trust_is_in_reach(path, (const char *const *)spec->write_paths) ||
           state_is_in_project(path);
}

static bool is_unsandboxed(struct json_object *config)
{
    return strcmp(json_get_string(config, "sandbox", ""), "none") == 0;
}

/** Whether one of the servers has no sandbox because the file says so. */
static bool has_unsandboxed(const struct mcp_shared *shared)
{
    for (size_t i = 0; i < mcp_shared_count(shared); i++) {
        if (is_unsandboxed(mcp_shared_config(shared, i))) {
            return true;
        }
    }
    return false;
}

int agent_read_config(const struct loop_spec *spec, const char *path,
                      const struct tool_surroundings *surroundings, struct mcp_shared **ret_shared,
                      struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    struct rondo_error problem = {0};
    struct mcp_shared *shared = NULL;
    const char *const agent_folders[] = {spec->workspace, NULL};
    int r = file_read_named(agent_folders, path, LIMIT_CONFIG_FILE_BYTES, &text, &problem);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        return error_set(err, r, "%s", problem.message);
    }
    bool is_there = r == 0;
    r = mcp_shared_parse(path, text.data, text.len, surroundings, &shared, err);
    if (r == 0 && is_there && (agent_can_reach(spec, path) || has_unsandboxed(shared))) {
        r = trust_require(TRUST_CONFIG, path, text.data, text.len, "the file", err);
    }
    if (r < 0) {
        mcp_shared_free(shared);
        return r;
    }
    *ret_shared = shared;
    return 0;
}

/* ---- Pinning -------------------------------------------------------------------------------- */

static struct json_object *tools_of(struct json_object *root)
{
    return json_member(json_member(json_member(root, "role"), "spec"), "tools");
}

bool agent_needs_servers(struct json_object *tools, const struct loop_spec *spec)
{
    for (size_t i = 0; i < json_length(tools); i++) {
        if (json_get_string(json_object_array_get_idx(tools, i), "server", NULL) != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < spec->condition_count; i++) {
        if (spec->conditions[i].server != NULL) {
            return true;
        }
    }
    return false;
}

/** What is collected, and from where. */
struct collecting {
    const struct mcp_shared *shared;
    struct json_object *servers;
    struct rondo_error *err;
};

static int collect_tools(struct json_object *tools, void *context)
{
    const struct collecting *collecting = context;
    for (size_t i = 0; i < json_length(tools); i++) {
        const char *name = json_get_string(json_object_array_get_idx(tools, i), "server", NULL);
        int r = name == NULL ? 0
                             : mcp_shared_pin(collecting->shared, name, collecting->servers,
                                              collecting->err);
        if (r < 0) {
            error_prefix(collecting->err, "spec.tools[%zu]", i);
            return r;
        }
    }
    return 0;
}

/** Record each server that a tool or a condition names. */
static int collect(struct json_object *root, const struct loop_spec *spec,
                   const struct mcp_shared *shared, struct json_object *servers,
                   struct rondo_error *err)
{
    struct collecting collecting = {.shared = shared, .servers = servers, .err = err};
    if (!json_get_bool(root, "dry_run", false)) {
        int r = collect_tools(tools_of(root), &collecting);
        r = r < 0 ? r
                  : delegates_visit(json_member(root, AGENT_DELEGATES), collect_tools, &collecting);
        if (r < 0) {
            return r;
        }
    }
    for (size_t i = 0; i < spec->condition_count; i++) {
        const char *name = spec->conditions[i].server;
        int r = name == NULL ? 0 : mcp_shared_pin(shared, name, servers, err);
        if (r < 0) {
            error_prefix(err, "exit condition %s", spec->conditions[i].name);
            return r;
        }
    }
    return 0;
}

/** The run keeps what is recorded: no secret that the file writes out. */
static int check_secrets(struct json_object *servers, const char *path, struct rondo_error *err)
{
    auto_buf struct buf where = {0};
    return !role_find_secret(servers, &where)
               ? 0
               : error_set(
                     err, RONDO_ERR_INVALID,
                     "%s: mcp_servers.%.200s contains a secret, which the run would keep; put "
                     "it into a variable, and write ${NAME} there",
                     path, buf_string(&where));
}

static int find_server(struct json_object *tools, void *context)
{
    struct loop_spec none = {0};
    *(bool *)context = *(bool *)context || agent_needs_servers(tools, &none);
    return 0;
}

/** The same for the run's own tools, and those of agents that it can give work to. */
static bool needs_servers(struct json_object *root, const struct loop_spec *spec)
{
    bool is_needed = agent_needs_servers(tools_of(root), spec);
    delegates_visit(json_member(root, AGENT_DELEGATES), find_server, &is_needed);
    return is_needed;
}

int agent_pin(struct loop_spec *spec, const char *config_folder, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct mcp_shared *shared = NULL;
    if (spec->agent == NULL) {
        return 0;
    }
    int r = json_parse(spec->agent, strlen(spec->agent), &root, err);
    if (r < 0 || !needs_servers(root, spec)) {
        return r;
    }
    auto_free char *path = agent_config_path(spec->workspace, config_folder);
    r = agent_read_config(spec, path, NULL, &shared, err);
    if (r < 0) {
        return r;
    }
    struct json_object *servers = json_object_new_object();
    json_object_object_add(root, AGENT_SERVERS, servers);
    r = collect(root, spec, shared, servers, err);
    mcp_shared_free(shared);
    r = r == 0 ? check_secrets(servers, path, err) : r;
    if (r == 0) {
        free(spec->agent);
        spec->agent = memory_dup_string(json_object_to_json_string_ext(
            root, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    return r;
}

/* ---- The role ------------------------------------------------------------------------------- */

static bool starts_unsandboxed(const struct role *role)
{
    for (size_t i = 0; i < json_length(role->tools); i++) {
        struct json_object *entry = json_object_array_get_idx(role->tools, i);
        if (strcmp(json_get_string(entry, "type", ""), "mcp") == 0 && is_unsandboxed(entry)) {
            return true;
        }
    }
    return false;
}

int agent_check_protected(const struct role_findings *findings, struct rondo_error *err)
{
    auto_buf struct buf paths = {0};
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].severity == ROLE_UNPROTECTED) {
            buf_printf(&paths, "%s%s", paths.len > 0 ? ", " : "", findings->items[i].path);
        }
    }
    return paths.len == 0 ? 0
                          : error_set(err, RONDO_ERR_INVALID,
                                      "the role requests protections that Rondo does not provide "
                                      "(%.400s); remove them from the role, or run without "
                                      "them: --accept-unprotected",
                                      buf_string(&paths));
}

/** Whether agents can write the role's file, or a skill of it or in place of one. */
static bool is_in_reach(const struct role *role, const struct loop_spec *spec)
{
    bool is_in_reach = agent_can_reach(spec, role->path);
    for (char **place = role->skill_places; place != NULL && *place != NULL; place++) {
        is_in_reach = is_in_reach || agent_can_reach(spec, *place);
    }
    return is_in_reach;
}

/** Require a confirmation. @param is_naming_enough where there was none before */
static int confirm_part(enum trust_kind kind, const struct role *role, const struct buf *bytes,
                        bool is_naming_enough, struct rondo_error *err)
{
    enum trust_verdict verdict = TRUST_UNKNOWN;
    int r = trust_look(kind, role->path, bytes->data, bytes->len, &verdict, err);
    if (r < 0 || verdict == TRUST_CONFIRMED) {
        return r;
    }
    return verdict == TRUST_UNKNOWN && is_naming_enough
               ? trust_confirm(kind, role->path, bytes->data, bytes->len, err)
               : trust_require(kind, role->path, bytes->data, bytes->len, "the role", err);
}

/** Whether results are written to a file outside the workspace. */
static bool writes_elsewhere(const struct role *role)
{
    struct json_object *sinks = json_member(json_member(role->normal, "spec"), "sinks");
    for (size_t i = 0; i < json_length(sinks); i++) {
        struct json_object *sink = json_object_array_get_idx(sinks, i);
        const char *path = json_get_string(sink, "path", "");
        if (strcmp(json_get_string(sink, "type", ""), "file") == 0 &&
            (path[0] == '/' || path[0] == '~' || strstr(path, "..") != NULL)) {
            return true;
        }
    }
    return false;
}

int agent_confirm_role(const struct role *role, const struct agent_options *options,
                       const struct loop_spec *spec, struct rondo_error *err)
{
    auto_buf struct buf decisions = {0};
    auto_buf struct buf whole = {0};
    bool is_unsafe = starts_unsandboxed(role);
    if (!options->is_file_named && writes_elsewhere(role)) {
        return error_set(err, RONDO_ERR_DENIED,
                         "a file sink outside the workspace must be in a role file");
    }
    /* Once recorded, a role is in the reach of some run's agents, if not of this one's. */
    bool is_guarded = options->is_file_named &&
                      (is_in_reach(role, spec) || trust_stamp(TRUST_ROLE, role->path) != 0);
    if (!is_unsafe && !is_guarded) {
        return 0;
    }
    if (!options->is_file_named) {
        return error_set(err, RONDO_ERR_DENIED,
                         "an MCP server with `sandbox: none` must be in a file that was confirmed "
                         "with `rondo trust`");
    }
    role_decisions_write(role, &decisions);
    int r = confirm_part(TRUST_ROLE, role, &decisions, !is_unsafe && !options->is_found, err);
    if (r == 0 && is_guarded && options->is_kept) {
        role_whole_write(role, options->system, &whole);
        r = confirm_part(TRUST_DUTY, role, &whole, !options->is_found, err);
    }
    return r;
}

/* ---- Variables ------------------------------------------------------------------------------ */

/** Whether a member "url", "base_url", ... at any depth has a variable in it. */
static bool has_variable_address(struct json_object *value, const char *name)
{
    static const char end[] = "url";
    bool has_one = false;
    if (json_object_is_type(value, json_type_string)) {
        size_t len = name == NULL ? 0 : strlen(name);
        has_one = len >= strlen(end) && strcmp(name + len - strlen(end), end) == 0 &&
                  strchr(json_object_get_string(value), '$') != NULL;
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; !has_one && i < json_object_array_length(value); i++) {
            has_one = has_variable_address(json_object_array_get_idx(value, i), NULL);
        }
    } else if (json_object_is_type(value, json_type_object)) {
        struct json_object_iterator last = json_object_iter_end(value);
        struct json_object_iterator at = json_object_iter_begin(value);
        for (; !has_one && !json_object_iter_equal(&at, &last); json_object_iter_next(&at)) {
            has_one = has_variable_address(json_object_iter_peek_value(&at),
                                           json_object_iter_peek_name(&at));
        }
    }
    return has_one;
}

/** Whether a server that runs without a sandbox gets a variable: PATH, PYTHONPATH, ... */
static bool has_variable_outside(struct json_object *tools)
{
    size_t count = json_length(tools);
    bool has_one = false;
    for (size_t i = 0; !has_one && i < count; i++) {
        struct json_object *entry = json_object_array_get_idx(tools, i);
        struct json_object *env = json_member(entry, "env");
        has_one = strcmp(json_get_string(entry, "sandbox", ""), "none") == 0 && env != NULL &&
                  strchr(json_object_to_json_string_ext(env, JSON_C_TO_STRING_PLAIN), '$') != NULL;
    }
    return has_one;
}

/** Whether a trigger gets variables: they decide who may start runs. */
static bool has_variable_trigger(const struct role *role)
{
    struct json_object *triggers = json_member(json_member(role->normal, "spec"), "triggers");
    bool has_one = false;
    for (size_t i = 0; !has_one && i < json_length(triggers); i++) {
        struct json_object *trigger = json_object_array_get_idx(triggers, i);
        has_one =
            strcmp(json_get_string(trigger, "type", ""), "telegram") == 0 ||
            strchr(json_object_to_json_string_ext(trigger, JSON_C_TO_STRING_PLAIN), '$') != NULL;
    }
    return has_one;
}

/** The `.env` beside the role counts as it was at its first use, until a person confirms another.
 */
static int confirm_dotenv(const struct role *role, const struct dotenv *variables,
                          const struct loop_spec *spec, const char *what, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    enum trust_verdict verdict = TRUST_UNKNOWN;
    buf_printf(&path, "%s/.env", role->folder);
    if (!agent_can_reach(spec, buf_string(&path)) &&
        trust_stamp(TRUST_VARIABLES, buf_string(&path)) == 0) {
        return 0;
    }
    const char *digest = variables->digest;
    size_t len = strlen(digest);
    int r = trust_look(TRUST_VARIABLES, buf_string(&path), digest, len, &verdict, err);
    if (r < 0 || verdict == TRUST_CONFIRMED) {
        return r;
    }
    return verdict == TRUST_UNKNOWN
               ? trust_confirm(TRUST_VARIABLES, buf_string(&path), digest, len, err)
               : trust_require(TRUST_VARIABLES, buf_string(&path), digest, len, what, err);
}

int agent_confirm_variables(const struct role *role, const struct dotenv *variables,
                            const struct loop_spec *spec, struct rondo_error *err)
{
    bool is_needed = role->folder != NULL &&
                     (has_variable_address(role->tools, NULL) || has_variable_outside(role->tools));
    return is_needed ? confirm_dotenv(role, variables, spec, "the addresses of tools in", err) : 0;
}

int agent_confirm_trigger_variables(const struct role *role, const struct dotenv *variables,
                                    const struct loop_spec *spec, struct rondo_error *err)
{
    return has_variable_trigger(role)
               ? confirm_dotenv(role, variables, spec, "the secrets of triggers in", err)
               : 0;
}
