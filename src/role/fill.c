// SPDX-License-Identifier: Apache-2.0
/*
 * From the normal form to struct role. The normal form comes from the reader or from a journal;
 * what does not fit is refused, so a damaged one does no harm.
 */
#include "role/reader.h"

#include "role/role.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *dup_text(struct json_object *object, const char *key)
{
    return object == NULL ? NULL : memory_dup_string(json_get_string(object, key, NULL));
}

static int64_t get_int(struct json_object *object, const char *key, int64_t otherwise)
{
    return object == NULL ? otherwise : json_get_int(object, key, otherwise);
}

static double get_number(struct json_object *object, const char *key, double otherwise)
{
    struct json_object *value = json_member(object, key);
    bool is_number =
        json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);
    return is_number ? json_object_get_double(value) : otherwise;
}

static int64_t get_price(struct json_object *price, const char *key)
{
    double dollars = get_number(price, key, -1);
    return dollars < 0 || dollars > 1e6 ? -1 : (int64_t)(dollars * 1e6 + 0.5);
}

static void fill_model(struct role_model *model, struct json_object *object)
{
    model->provider = object == NULL ? memory_dup_string("") : dup_text(object, "provider");
    model->name = object == NULL ? memory_dup_string("") : dup_text(object, "name");
    model->base_url = dup_text(object, "base_url");
    model->api_key_env = dup_text(object, "api_key_env");
    model->temperature = get_number(object, "temperature", 0.1);
    model->max_tokens = get_int(object, "max_tokens", 4096);
    model->price_input_micro = get_price(json_member(object, "price"), "input");
    model->price_output_micro = get_price(json_member(object, "price"), "output");
}

static void fill_guardrails(struct role_guardrails *limits, struct json_object *object)
{
    *limits = (struct role_guardrails){
        .max_tokens_per_run = get_int(object, "max_tokens_per_run", 50000),
        .max_tool_calls = get_int(object, "max_tool_calls", 20),
        .timeout_seconds = get_int(object, "timeout_seconds", 300),
        .max_request_limit = get_int(object, "max_request_limit", -1),
        .input_tokens_limit = get_int(object, "input_tokens_limit", -1),
        .total_tokens_limit = get_int(object, "total_tokens_limit", -1),
        .per_request_input_tokens_limit = get_int(object, "per_request_input_tokens_limit", -1),
        .session_token_budget = get_int(object, "session_token_budget", -1),
        .max_iterations = get_int(object, "max_iterations", 10),
        .autonomous_token_budget = get_int(object, "autonomous_token_budget", -1),
        .autonomous_timeout_seconds = get_int(object, "autonomous_timeout_seconds", -1),
        .run_token_budget = get_int(object, "run_token_budget", -1),
        .cost_limit_micro = get_price(object, "cost_limit"),
    };
}

/** A default of spec.autonomy, from the table. */
static struct json_object *autonomy_defaults(void)
{
    struct role_findings findings = {0};
    struct role_reader reader = {.findings = &findings, .schema = ROLE_SCHEMA_1_13};
    struct json_object *defaults = NULL;
    for (const struct role_field *part = role_shape_file.fields; part->name != NULL; part++) {
        const struct role_field *field = part->shape == NULL ? NULL : part->shape->fields;
        for (; field != NULL && field->name != NULL; field++) {
            if (strcmp(field->name, "autonomy") == 0) {
                defaults = reader_read_object(&reader, field->shape, NULL);
            }
        }
    }
    buf_fini(&reader.path);
    role_findings_fini(&findings);
    return defaults;
}

static void fill_autonomy(struct role_autonomy *autonomy, struct json_object *object)
{
    auto_json struct json_object *defaults = autonomy_defaults();
    *autonomy = (struct role_autonomy){
        .is_given = object != NULL,
        .continuation_prompt = dup_text(object, "continuation_prompt"),
        .max_history_messages = get_int(object, "max_history_messages", 40),
        .max_plan_steps = get_int(object, "max_plan_steps", 20),
        .iteration_delay_seconds = get_number(object, "iteration_delay_seconds", 0),
        .max_no_tool_call_iterations = get_int(object, "max_no_tool_call_iterations",
                                               get_int(defaults, "max_no_tool_call_iterations", 2)),
        .checkpoint_interval = get_int(object, "checkpoint_interval", 1),
    };
    if (autonomy->continuation_prompt == NULL) {
        autonomy->continuation_prompt = dup_text(defaults, "continuation_prompt");
    }
}

static void fill_condition(struct role_condition *condition, struct json_object *object)
{
    struct json_object *arguments = json_member(object, "arguments");
    *condition = (struct role_condition){
        .name = dup_text(object, "name"),
        .command = dup_text(object, "command"),
        .tool = dup_text(object, "tool"),
        .server = dup_text(object, "server"),
        .arguments = memory_dup_string(
            arguments == NULL
                ? "{}"
                : json_object_to_json_string_ext(arguments, JSON_C_TO_STRING_PLAIN |
                                                                JSON_C_TO_STRING_NOSLASHESCAPE)),
        .timeout_seconds = get_int(object, "timeout_seconds", 30),
    };
}

static int fill_conditions(struct role *role, struct json_object *list, struct rondo_error *err)
{
    size_t count = json_length(list);
    role->conditions = memory_new_zero(count + 1, sizeof(*role->conditions));
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_object)) {
            return error_set(err, RONDO_ERR_INVALID, "exit condition %zu is not an object", i + 1);
        }
        fill_condition(&role->conditions[role->condition_count++], item);
        if (role->conditions[i].name == NULL) {
            return error_set(err, RONDO_ERR_INVALID, "exit condition %zu has no name", i + 1);
        }
    }
    return 0;
}

/** Texts of a list. @return owned, NULL-terminated */
static char **dup_list(struct json_object *list)
{
    size_t count = json_length(list);
    char **texts = memory_new_zero(count + 1, sizeof(*texts));
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (json_object_is_type(item, json_type_string)) {
            texts[taken++] = memory_dup_string(json_object_get_string(item));
        }
    }
    return texts;
}

static void fill_execution(struct role *role, struct json_object *object)
{
    role->sandbox = dup_text(object, "sandbox");
    role->pool = dup_text(object, "pool");
    role->allows_network = object == NULL || json_get_bool(object, "network", true);
    role->allow_hosts = dup_list(json_member(object, "allow_hosts"));
    role->tool_timeout_seconds = get_number(object, "tool_timeout_seconds", 0);
    role->http_retries = get_int(object, "http_retries", 0);
    role->http_retry_max_wait = get_number(object, "http_retry_max_wait", 0);
}

/** A sandbox that InitRunner would use; it takes precedence over a weaker one. */
static void fill_sandbox(struct role *role, struct json_object *sandbox)
{
    const char *backend = sandbox == NULL ? "none" : json_get_string(sandbox, "backend", "none");
    if (strcmp(backend, "none") == 0) {
        return;
    }
    free(role->sandbox);
    role->sandbox = memory_dup_string("namespace");
    role->is_offline = strcmp(json_get_string(sandbox, "network", "none"), "none") == 0;
}

/** The path from the root, and the folder of it. */
static void fill_path(struct role *role, const char *path)
{
    /* opens: only a name */
    char *real = realpath(path, NULL);
    if (real == NULL && path[0] != '/') {
        char *here = getcwd(NULL, 0);
        if (here == NULL || asprintf(&real, "%s/%s", here, path) < 0) {
            real = NULL;
        }
        free(here);
    }
    role->path = real != NULL ? real : memory_dup_string(path);
    const char *slash = strrchr(role->path, '/');
    size_t len = slash == NULL ? 0 : slash == role->path ? 1 : (size_t)(slash - role->path);
    role->folder = memory_dup_bytes(role->path, len);
}

static int check_filled(const struct role *role, struct rondo_error *err)
{
    bool is_whole = role->name != NULL && role->text != NULL && role->model.provider != NULL &&
                    role->model.name != NULL && json_object_is_type(role->tools, json_type_array);
    return is_whole ? 0
                    : error_set(err, RONDO_ERR_INVALID,
                                "this is not the normal form of a role: it lacks a name, a role, a "
                                "model or tools");
}

int role_fill(struct json_object *normal, const char *path, struct role **ret_role,
              struct rondo_error *err)
{
    struct role *role = memory_new_zero(1, sizeof(*role));
    struct json_object *spec = json_member(normal, "spec");
    struct json_object *autonomy = json_member(spec, "autonomy");
    role->normal = normal;
    fill_path(role, path);
    role->name = dup_text(json_member(normal, "metadata"), "name");
    role->description = dup_text(json_member(normal, "metadata"), "description");
    role->text = dup_text(spec, "role");
    role->tools = json_member(spec, "tools");
    role->policy = dup_text(spec, "policy");
    fill_model(&role->model, json_member(spec, "model"));
    fill_guardrails(&role->guardrails, json_member(spec, "guardrails"));
    fill_autonomy(&role->autonomy, autonomy);
    fill_execution(role, json_member(spec, "execution"));
    fill_sandbox(role, json_member(json_member(spec, "security"), "sandbox"));
    int r = fill_conditions(role, json_member(autonomy, "exit_conditions"), err);
    if (r == 0) {
        r = check_filled(role, err);
    }
    if (r < 0) {
        role_free(role);
        return r;
    }
    if (role->description == NULL) {
        role->description = memory_dup_string("");
    }
    *ret_role = role;
    return 0;
}

int role_from_object(struct json_object *normal, const char *path, struct role **ret_role,
                     struct rondo_error *err)
{
    return role_fill(json_object_get(normal), path, ret_role, err);
}

void role_drop_normal(struct role *role)
{
    json_object_put(role->normal);
    role->normal = NULL;
    role->tools = NULL;
}

static void free_condition(struct role_condition *condition)
{
    free(condition->name);
    free(condition->command);
    free(condition->tool);
    free(condition->server);
    free(condition->arguments);
}

void role_free(struct role *role)
{
    if (role == NULL) {
        return;
    }
    for (size_t i = 0; i < role->condition_count; i++) {
        free_condition(&role->conditions[i]);
    }
    memory_free_list(role->allow_hosts);
    memory_free_list(role->skill_places);
    char *texts[] = {
        role->path,
        role->folder,
        role->name,
        role->description,
        role->text,
        role->policy,
        role->sandbox,
        role->pool,
        role->model.provider,
        role->model.name,
        role->model.base_url,
        role->model.api_key_env,
        role->autonomy.continuation_prompt,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        free(texts[i]);
    }
    free(role->conditions);
    json_object_put(role->normal);
    json_object_put(role->places);
    free(role);
}
