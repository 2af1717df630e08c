// SPDX-License-Identifier: Apache-2.0
/*
 * From a start request to a spec. A message begins with the path of what it is about
 * ("conditions[0].name: ..."), so that a caller can point at it.
 */
#include "server/api/start_request.h"

#include "agent/spec/options.h"
#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/labels.h"
#include "loop/detect.h"
#include "os/sandbox/named.h"
#include "role/role.h"
#include "server/api/start_members.h"
#include "worker/body.h"
#include "worker/coding_spec.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/** What building a spec works with. */
struct building {
    const struct start_options *options;
    struct start_members members;
    char *workspace;
    struct buf *findings;
};

/** A path of a request, from the server's workspace on where it is relative. Owned. */
static char *resolve(const struct building *building, const char *path)
{
    if (path[0] == '/') {
        return memory_dup_string(path);
    }
    struct buf full = {0};
    buf_printf(&full, "%s/%s", building->options->workspace, path);
    return buf_steal(&full);
}

/** The real path of something that must be there. @param member "PATH" of the message */
static int find_real(const struct building *building, const char *path, const char *member,
                     char **ret_path, struct rondo_error *err)
{
    char reason[256];
    auto_free char *full = resolve(building, path);
    if (!named_path_is_straight(full, reason)) {
        return error_set(err, RONDO_ERR_INVALID, "%s: %s", member, reason);
    }
    /* opens: only a name; server/start_rights decides */
    char *real = realpath(full, NULL);
    if (real == NULL) {
        return error_set_errno(err, RONDO_ERR_INVALID, errno, "%s: %s cannot be used", member,
                               full);
    }
    *ret_path = real;
    return 0;
}

static int find_workspace(struct building *building, struct rondo_error *err)
{
    const char *given = building->members.workspace;
    int r = find_real(building, given == NULL ? building->options->workspace : given, "workspace",
                      &building->workspace, err);
    struct stat status;
    /* opens: the workspace itself, by its real path */
    if (r == 0 && (stat(building->workspace, &status) < 0 || !S_ISDIR(status.st_mode))) {
        r = error_set(err, RONDO_ERR_INVALID, "workspace: is not a folder");
    }
    return r;
}

static int find_paths(const struct building *building, char **given, const char *member,
                      char ***ret_paths, struct rondo_error *err)
{
    size_t count = memory_count_list((const char *const *)given);
    if (count == 0) {
        return 0;
    }
    char **paths = memory_new_zero(count + 1, sizeof(*paths));
    *ret_paths = paths;
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        auto_buf struct buf name = {0};
        buf_printf(&name, "%s[%zu]", member, i);
        auto_free char *full = resolve(building, given[i]);
        char reason[256];
        if (!named_path_resolve(building->workspace, full, &paths[i], reason)) {
            r = error_set(err, RONDO_ERR_INVALID, "%s: %s", buf_string(&name), reason);
        }
    }
    return r;
}

/** A list without anything in it is as good as none. */
static char **dup_given(char *const *list)
{
    return list == NULL || list[0] == NULL ? NULL : memory_dup_list((const char *const *)list);
}

static int add_condition(const struct start_condition *given, struct loop_spec *spec,
                         struct rondo_error *err)
{
    const char *command = given->command;
    const char *origin = "given";
    struct detect_result found;
    if (command == NULL && !detect_is_standard(given->name)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a condition of your own needs a command; one is found for "
                         "all_tests_pass, build_succeeds, linting_clean and security_scan_clean");
    }
    if (command == NULL) {
        int r = detect_command(spec->workspace, given->name, &found, err);
        if (r < 0) {
            return r;
        }
        command = found.command;
        origin = found.origin;
    }
    return loop_spec_add_condition(spec, given->name, command, origin, given->timeout_ns, err);
}

static int add_conditions(const struct building *building, struct loop_spec *spec,
                          struct rondo_error *err)
{
    struct json_object *conditions = building->members.conditions;
    size_t count = json_length(conditions);
    for (size_t i = 0; i < count; i++) {
        struct start_condition condition;
        int r = start_condition_read(conditions, i, &condition, err);
        if (r < 0) {
            return r;
        }
        r = add_condition(&condition, spec, err);
        if (r < 0) {
            error_prefix(err, "conditions[%zu]", i);
            return r;
        }
    }
    return 0;
}

static void replace_number(int64_t *number, int64_t given, int64_t absent)
{
    *number = given != absent ? given : *number;
}

/** What both kinds of runs have. */
static int apply_common(const struct building *building, struct loop_spec *spec,
                        struct rondo_error *err)
{
    const struct start_members *members = &building->members;
    replace_number(&spec->max_iterations, members->max_iterations, 0);
    replace_number(&spec->max_tokens, members->max_tokens, 0);
    replace_number(&spec->max_cost_micro, members->max_cost_micro, 0);
    replace_number(&spec->time_limit_ns, members->time_limit_ns, 0);
    replace_number(&spec->checkpoint_interval, members->checkpoint_interval, 0);
    replace_number(&spec->max_failures, members->max_failures, 0);
    replace_number(&spec->delay_ns, members->delay_ns, -1);
    replace_number(&spec->durability, members->durability, -1);
    replace_number(&spec->is_exclusive, members->is_exclusive, -1);
    replace_number(&spec->allow_network, members->allow_network, -1);
    replace_number(&spec->verifier_tier, members->verifier_sandbox, -1);
    if (members->pool != NULL) {
        int r = labels_check(members->pool, "pool", err);
        if (r < 0) {
            return r;
        }
        free(spec->pool);
        spec->pool = memory_dup_string(members->pool);
    }
    if (members->policy != NULL) {
        free(spec->policy);
        spec->policy = NULL;
        int r = find_real(building, members->policy, "policy", &spec->policy, err);
        if (r < 0) {
            return r;
        }
    }
    return add_conditions(building, spec, err);
}

/** The request was checked before; what is left concerns the run as a whole. */
static int check_spec(const struct loop_spec *spec, struct rondo_error *err)
{
    int r = loop_spec_check(spec, err);
    struct body_sandbox missing;
    if (r == 0 && !body_has_sandbox(spec, &missing)) {
        r = error_set(err, RONDO_ERR_UNSUPPORTED,
                      "%s: tier '%s' is not available here: %s; \"none\" runs %s unprotected",
                      missing.is_worker ? "sandbox" : "verifier_sandbox",
                      sandbox_tier_name(missing.tier), missing.reason,
                      missing.is_worker ? "the worker" : "the exit conditions");
    }
    return r;
}

/** What runs of a program have. */
static int apply_program(const struct building *building, struct loop_spec *spec,
                         struct rondo_error *err)
{
    const struct start_members *members = &building->members;
    spec->iteration_timeout_ns = members->iteration_timeout_ns;
    spec->first_output_ns = members->first_output_ns;
    spec->silence_ns = members->silence_ns;
    replace_number(&spec->verifier_tier, members->sandbox, -1);
    replace_number(&spec->worker_tier, members->sandbox, -1);
    spec->env_names = dup_given(members->env_names);
    int r = find_paths(building, members->read_paths, "read", &spec->read_paths, err);
    return r < 0 ? r : find_paths(building, members->write_paths, "write", &spec->write_paths, err);
}

static int build_command(struct building *building, struct loop_spec *spec, struct rondo_error *err)
{
    const struct start_members *members = &building->members;
    if (members->command == NULL || members->command[0] == NULL || members->command[0][0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "command: names no program");
    }
    spec->kind = memory_dup_string("command");
    spec->command = dup_given(members->command);
    spec->agent_id = members->agent_id == NULL ? loop_spec_agent_of(members->command[0])
                                               : memory_dup_string(members->agent_id);
    spec->prompt = memory_dup_string(members->prompt);
    spec->workspace = memory_dup_string(building->workspace);
    return apply_program(building, spec, err);
}

/** A coding agent: its record is pinned when the sandbox is known, which decides its permissions.
 */
static int build_coding(struct building *building, struct loop_spec *spec, struct rondo_error *err)
{
    const struct start_members *members = &building->members;
    const struct coding_options options = {
        .name = members->coding_agent,
        .config_folder = building->options->config_folder,
        .model = members->model,
        .prices_file = building->options->prices_file,
    };
    if (members->coding_agent == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "coding_agent: is null");
    }
    if (members->prompt == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "prompt: is missing: what is the agent to do?");
    }
    spec->agent_id =
        memory_dup_string(members->agent_id == NULL ? members->coding_agent : members->agent_id);
    spec->prompt = memory_dup_string(members->prompt);
    spec->workspace = memory_dup_string(building->workspace);
    int r = apply_program(building, spec, err);
    if (r == 0) {
        struct rondo_error why = {0};
        r = coding_spec_set(&options, spec, &why);
        if (r < 0) { /* Also one that is not installed: the request is wrong here. */
            r = error_set(err, RONDO_ERR_INVALID, "coding_agent: %s", why.message);
        }
    }
    return r;
}

static int check_role_members(const struct start_members *members, struct rondo_error *err)
{
    if (members->role != NULL && members->role_file != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "role: give either role or role_file");
    }
    if (members->role == NULL && members->role_file == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "role: is null, and so is role_file");
    }
    if (members->prompt == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "prompt: is missing: what is the agent to do?");
    }
    if (members->token_budget > 0 && members->max_tokens > 0) {
        return error_set(err, RONDO_ERR_INVALID, "token_budget: is the same as max_tokens");
    }
    if (members->model != NULL && strchr(members->model, ':') == NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "model: must be provider:name, for instance openai:gpt-5-mini");
    }
    if (members->mode == AGENT_SINGLE && members->conditions != NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "conditions: a single answer is not checked against conditions");
    }
    return 0;
}

/** @param ret_role NULL when there are findings that are errors */
static int read_role(const struct building *building, struct role_findings *findings,
                     struct role **ret_role, struct rondo_error *err)
{
    const struct start_members *members = &building->members;
    auto_free char *path = NULL;
    if (members->role != NULL) {
        struct buf name = {0};
        buf_printf(&name, "%s/role.yaml", building->workspace);
        path = buf_steal(&name);
        int r = role_parse(members->role, strlen(members->role), path, ROLE_SCHEMA_1_13, findings,
                           ret_role, err);
        if (r < 0) {
            error_prefix(err, "role");
        }
        return r;
    }
    int r = find_real(building, members->role_file, "role_file", &path, err);
    if (r == 0) {
        r = role_read(path, ROLE_SCHEMA_1_13, findings, ret_role, err);
        if (r < 0) {
            error_prefix(err, "role_file");
        }
    }
    return r;
}

static const char *role_member(const struct building *building)
{
    return building->members.role != NULL ? "role" : "role_file";
}

/** Complete the role and make the options of its run. */
static int use_role(struct building *building, struct role *role, struct role_findings *findings,
                    struct loop_spec *ret_spec, struct rondo_error *err)
{
    const struct start_members *members = &building->members;
    auto_buf struct buf system = {0};
    role_find_unsupported(role, ROLE_SERVED, findings);
    int r = role_resolve_skills(role, building->options->skill_folder, findings, &system, err);
    if (r == 0 && role_findings_errors(findings) > 0) {
        r = error_set(err, RONDO_ERR_INVALID, "the role cannot be run");
    }
    struct agent_options options = {
        .mode = (enum agent_mode)members->mode,
        .prompt = members->prompt,
        .workspace = building->workspace,
        .model = members->model,
        .system = buf_string(&system),
        .max_iterations = members->max_iterations,
        .token_budget = members->token_budget,
        .allow_hosts = (const char *const *)members->allow_hosts,
        .prices_file = building->options->prices_file,
        .is_dry_run = members->is_dry_run != 0,
        .is_file_named = members->role == NULL,
        .findings = findings,
        .accepts_unprotected = members->accepts_unprotected != 0,
    };
    if (r == 0) {
        r = agent_spec(role, &options, ret_spec, err);
    }
    if (r < 0) {
        error_prefix(err, "%s", role_member(building));
    }
    return r;
}

static int build_role(struct building *building, struct loop_spec *spec, struct rondo_error *err)
{
    struct role_findings findings = {0};
    struct role *role = NULL;
    int r = check_role_members(&building->members, err);
    if (r == 0) {
        r = read_role(building, &findings, &role, err);
    }
    if (r == 0 && role == NULL) {
        size_t count = role_findings_errors(&findings);
        r = error_set(err, RONDO_ERR_INVALID, "%s: the role is not valid: %zu error%s",
                      role_member(building), count, count == 1 ? "" : "s");
    } else if (r == 0) {
        struct loop_spec built;
        r = use_role(building, role, &findings, &built, err);
        if (r == 0) {
            loop_spec_fini(spec);
            *spec = built;
        }
    }
    const char *file = building->members.role_file;
    role_findings_write(&findings, file == NULL ? "role" : file, ROLE_WARNING, building->findings);
    role_free(role);
    role_findings_fini(&findings);
    return r;
}

static int build(struct building *building, unsigned kind, struct loop_spec *spec,
                 struct rondo_error *err)
{
    int r = find_workspace(building, err);
    if (r == 0) {
        r = kind == START_ROLE     ? build_role(building, spec, err)
            : kind == START_CODING ? build_coding(building, spec, err)
                                   : build_command(building, spec, err);
    }
    if (r == 0) {
        r = apply_common(building, spec, err);
    }
    if (r == 0) {
        r = agent_check_cost(spec, building->options->prices_file, err);
    }
    if (r == 0) {
        r = agent_pin(spec, building->options->config_folder, err);
    }
    return r < 0 ? r : check_spec(spec, err);
}

/** Which kind of run is asked for. */
static int find_kind(struct json_object *request, unsigned *ret_kind, struct rondo_error *err)
{
    if (!json_object_is_type(request, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "a request must be a JSON object");
    }
    bool has_command = json_object_object_get_ex(request, "command", NULL);
    bool has_coding = json_object_object_get_ex(request, "coding_agent", NULL);
    bool has_role = json_object_object_get_ex(request, "role", NULL) ||
                    json_object_object_get_ex(request, "role_file", NULL);
    if (has_command + has_coding + has_role != 1) {
        return error_set(err, RONDO_ERR_INVALID,
                         has_command || has_coding || has_role
                             ? "command: a run has a command, a coding agent or a role, and only "
                               "one of them"
                             : "command: give command, coding_agent, role or role_file");
    }
    *ret_kind = has_role ? START_ROLE : has_coding ? START_CODING : START_COMMAND;
    return 0;
}

int start_request_read(struct json_object *request, const struct start_options *options,
                       struct loop_spec *ret_spec, struct buf *ret_findings,
                       struct rondo_error *err)
{
    struct building building = {.options = options, .findings = ret_findings};
    struct loop_spec spec = loop_spec_default();
    unsigned kind = 0;
    int r = find_kind(request, &kind, err);
    if (r == 0) {
        r = start_members_read(request, kind, &building.members, err);
    }
    if (r == 0) {
        r = build(&building, kind, &spec, err);
    }
    start_members_fini(&building.members);
    free(building.workspace);
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}
