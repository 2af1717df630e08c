// SPDX-License-Identifier: Apache-2.0
/* Role files on the command line. */
#include "cli/commands/run/run_role.h"

#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands/role_findings.h"
#include "cli/commands/trust_subject.h"
#include "cli/terminal/style.h"
#include "role/role.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum agent_mode mode_of(const struct role_values *values)
{
    if (values->is_autonomous) {
        return AGENT_AUTONOMOUS;
    }
    bool is_chat = values->is_interactive || values->run.spec.prompt == NULL;
    return is_chat ? AGENT_CHAT : AGENT_SINGLE;
}

/** Options given here replace the role's. */
static int apply_options(struct role_values *values, struct loop_spec *spec,
                         struct rondo_error *err)
{
    const struct loop_spec *given = &values->run.spec;
    if (given->policy != NULL) {
        free(spec->policy);
        spec->policy = memory_dup_string(given->policy);
    }
    if (given->pool != NULL) {
        free(spec->pool);
        spec->pool = given->pool[0] == '\0' ? NULL : memory_dup_string(given->pool);
    }
    if (given->max_cost_micro > 0) {
        spec->max_cost_micro = given->max_cost_micro;
    }
    if (given->time_limit_ns > 0) {
        spec->time_limit_ns = given->time_limit_ns;
    }
    return run_values_add_conditions(&values->run, spec, err);
}

/** Say in one line which model a role without one is run with. */
static int choose_model(struct role_values *values, const struct role *role,
                        struct rondo_error *err)
{
    auto_buf struct buf source = {0};
    if (values->model != NULL || values->is_dry_run || agent_has_model(role)) {
        return 0;
    }
    int r = agent_choose_model(role, &values->model, &source, err);
    if (r == 0 && !values->run.wants_quiet) {
        fprintf(stderr, "The role names no model; using %s (%s).\n", values->model,
                buf_string(&source));
    }
    return r;
}

static int make_spec(struct role_values *values, struct role *role,
                     const struct role_findings *findings, const char *system,
                     struct loop_spec *ret_spec, struct rondo_error *err)
{
    const struct loop_spec *given = &values->run.spec;
    int chosen = choose_model(values, role, err);
    if (chosen < 0) {
        return chosen;
    }
    struct agent_options options = {
        .mode = mode_of(values),
        .prompt = given->prompt,
        .workspace = given->workspace,
        .model = values->model,
        .system = system,
        .max_iterations = given->max_iterations,
        .token_budget = values->token_budget,
        .allow_hosts = (const char *const *)values->allow_hosts,
        .prices_file = values->prices,
        .is_dry_run = values->is_dry_run != 0,
        .is_file_named = true,
        .findings = findings,
        .accepts_unprotected = values->run.accepts_unprotected != 0,
    };
    struct loop_spec spec;
    int r = agent_spec(role, &options, &spec, err);
    if (r < 0) {
        return r;
    }
    r = apply_options(values, &spec, err);
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

/** Set the variables of the role's text that the command line gives, for this process. */
static int set_variables(const struct role_values *values, const struct role *role,
                         struct rondo_error *err)
{
    for (char **item = values->variables; item != NULL && *item != NULL; item++) {
        auto_buf struct buf variable = {0};
        const char *equals = strchr(*item, '=');
        auto_free char *name =
            memory_dup_bytes(*item, equals == NULL ? strlen(*item) : (size_t)(equals - *item));
        if (equals == NULL || !role_has_variable(role, name)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "--var %.80s: write NAME=VALUE, with a name that `deps_schema` of %s "
                             "has",
                             name, role->path);
        }
        role_variable_name(name, &variable);
        setenv(buf_string(&variable), equals + 1, 1);
    }
    return 0;
}

static int use_role(struct role_values *values, struct role *role, struct role_findings *findings,
                    struct loop_spec *ret_spec, struct rondo_error *err)
{
    auto_buf struct buf system = {0};
    role_find_unsupported(role, ROLE_ALONE, findings);
    int r = set_variables(values, role, err);
    r = r < 0 ? r : role_resolve_skills(role, values->skill_dir, findings, &system, err);
    bool is_short = values->run.wants_quiet && role_findings_errors(findings) == 0;
    role_findings_report(findings, role->path, is_short ? ROLE_UNPROTECTED : ROLE_WARNING);
    if (r == 0 && role_findings_errors(findings) > 0) {
        r = error_set(err, RONDO_ERR_INVALID, "%s cannot be run", role->path);
    }
    return r < 0 ? r : make_spec(values, role, findings, buf_string(&system), ret_spec, err);
}

/** A path on the command line is relative to the current folder, not to the role. */
static void make_absolute(char **path, size_t prefix_len)
{
    char folder[PATH_MAX];
    if (*path == NULL || (*path)[prefix_len] == '/' || getcwd(folder, sizeof(folder)) == NULL) {
        return;
    }
    struct buf absolute = {0};
    buf_append(&absolute, *path, prefix_len);
    buf_printf(&absolute, "%s/", folder);
    buf_append_string(&absolute, *path + prefix_len);
    free(*path);
    *path = buf_steal(&absolute);
}

void run_role_resolve(struct role_values *values)
{
    static const char scripted[] = "scripted:";
    const char *model = values->model;
    make_absolute(&values->record, 0);
    make_absolute(&values->prices, 0);
    if (model != NULL && strncmp(model, scripted, sizeof(scripted) - 1) == 0 &&
        strcmp(model, "scripted:dry-run") != 0) {
        make_absolute(&values->model, sizeof(scripted) - 1);
    }
}

static int read_spec(struct role_values *values, const char *path, struct loop_spec *ret_spec,
                     struct rondo_error *err)
{
    struct role_findings findings = {0};
    struct role *role = NULL;
    int r = role_read(path, ROLE_SCHEMA_1_13, &findings, &role, err);
    if (r == 0 && role == NULL) {
        size_t count = role_findings_errors(&findings);
        role_findings_report(&findings, path, ROLE_WARNING);
        r = error_set(err, RONDO_ERR_INVALID, "%s is not valid: %zu error%s", path, count,
                      count == 1 ? "" : "s");
    } else if (r == 0) {
        r = use_role(values, role, &findings, ret_spec, err);
    }
    role_free(role);
    role_findings_fini(&findings);
    return r;
}

/** Make the options, with the servers that the run uses. */
static int make_pinned_spec(struct role_values *values, const char *path, const char *config_folder,
                            struct loop_spec *ret_spec, struct rondo_error *err)
{
    struct loop_spec spec;
    int r = read_spec(values, path, &spec, err);
    if (r < 0) {
        return r;
    }
    r = agent_pin(&spec, config_folder, err);
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

int run_role_spec(struct role_values *values, const char *path, struct loop_spec *ret_spec,
                  struct rondo_error *err)
{
    auto_free char *config_folder = session_config_folder();
    auto_free char *config = agent_config_path(values->run.spec.workspace, config_folder);
    const char *const waiting[] = {path, config, NULL};
    int r = make_pinned_spec(values, path, config_folder, ret_spec, err);
    if (r == RONDO_ERR_DENIED && trust_ask(waiting, values->skill_dir)) {
        *err = (struct rondo_error){0};
        r = make_pinned_spec(values, path, config_folder, ret_spec, err);
    }
    return r;
}

struct run_agent_options run_agent_options_of(const struct run_values *values)
{
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    return (struct run_agent_options){
        .is_watched = isatty(STDERR_FILENO) && !values->wants_quiet,
        .may_ask_person = is_terminal && !values->wants_json,
        .no_colour = values->no_colour != 0,
    };
}

struct run_agent_options run_role_agent_options(const struct role_values *values)
{
    struct run_agent_options options = run_agent_options_of(&values->run);
    options.is_required = true;
    options.record_file = values->record;
    options.prices_file = values->prices;
    options.says_yes = values->says_yes != 0;
    return options;
}

void run_role_change(struct loop_spec *spec, void *context)
{
    const struct option_set *set = context;
    const struct role_values *values = set->values;
    run_values_change(spec, set);
    if (values->token_budget > 0) {
        spec->max_tokens = values->token_budget;
    }
    if (values->model != NULL) {
        /* It was checked before, and a run that is none of a role file is refused. */
        agent_change_model(spec, values->model, NULL);
    }
}

int run_agent_reopen(struct session *session, struct loop *loop,
                     const struct run_agent_options *options, struct run_agent **ret_agent,
                     struct rondo_error *err)
{
    struct run_agent *agent = run_agent_new(options, err);
    if (agent == NULL) {
        return err->code;
    }
    int r = run_agent_open(agent, session, loop_spec(loop), err);
    if (r < 0) {
        run_agent_free(agent);
        return r;
    }
    *ret_agent = agent;
    return 0;
}
