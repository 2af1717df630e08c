// SPDX-License-Identifier: Apache-2.0
/* From a role file and a caller's options to the options of a run, and back. */
#include "agent/spec/config.h"

#include "agent/spec/carry.h"
#include "agent/spec/delegates.h"
#include "agent/spec/delegates_read.h"
#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "loop/detect.h"
#include "loop/driver/body_ports.h"
#include "net/client/guard.h"
#include "role/role.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGENT_CONFIG_FORMAT 1

static const char *const mode_names[] = {
    [AGENT_AUTONOMOUS] = "autonomous",
    [AGENT_SINGLE] = "single",
    [AGENT_CHAT] = "chat",
};

static void write_prices(const struct prices *prices, struct json_writer *writer)
{
    if (prices == NULL || !prices->is_known) {
        return;
    }
    json_begin_object(writer, "price_micro");
    json_write_int(writer, "input", prices->input);
    json_write_int(writer, "output", prices->output);
    json_write_int(writer, "cached", prices->cached);
    json_write_int(writer, "cache_write", prices->cache_written);
    json_end_object(writer);
}

/** Protections that are missing with the consent of the user who starts the run. */
static void write_unprotected(const struct role_findings *findings, struct json_writer *writer)
{
    if (findings == NULL || role_findings_unprotected(findings) == 0) {
        return;
    }
    json_begin_array(writer, "unprotected");
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].severity == ROLE_UNPROTECTED) {
            json_write_string(writer, NULL, findings->items[i].path);
        }
    }
    json_end_array(writer);
}

/** Append the JSON. @param prices of the model, to be kept; or NULL */
static void agent_config_write(const struct role *role, const struct agent_options *options,
                               const struct prices *prices, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", AGENT_CONFIG_FORMAT);
    json_write_string(&writer, "mode", mode_names[options->mode]);
    if (options->is_dry_run) {
        json_write_bool(&writer, "dry_run", true);
    }
    if (options->model != NULL) {
        json_write_string(&writer, "model", options->model);
    }
    if (options->allow_hosts != NULL) {
        json_begin_array(&writer, "allow_hosts");
        for (size_t i = 0; options->allow_hosts[i] != NULL; i++) {
            json_write_string(&writer, NULL, options->allow_hosts[i]);
        }
        json_end_array(&writer);
    }
    write_prices(prices, &writer);
    write_unprotected(options->findings, &writer);
    json_write_string(&writer, "path", role->path);
    json_write_string(&writer, "system", options->system);
    json_write_raw(&writer, "role",
                   json_object_to_json_string_ext(role->normal, JSON_C_TO_STRING_PLAIN));
    json_end_object(&writer);
}

/** Whether a text names a provider and a model. */
static int check_model(const char *text, struct rondo_error *err)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0') {
        return error_set(err, RONDO_ERR_INVALID,
                         "'%s' is not a model; write provider:name, for instance "
                         "openai:gpt-5-mini",
                         text);
    }
    return 0;
}

void agent_accept_unprotected(struct loop_spec *spec)
{
    auto_json struct json_object *root = NULL;
    if (spec->agent == NULL || json_parse(spec->agent, strlen(spec->agent), &root, NULL) < 0 ||
        json_object_object_get_ex(root, "unprotected", NULL)) {
        return;
    }
    struct agent_config config;
    struct role_findings findings = {0};
    struct json_object *list = json_object_new_array();
    if (agent_config_read(spec->agent, &config, NULL) == 0) {
        role_find_unprotected(config.role, &findings);
        agent_config_fini(&config);
    }
    for (size_t i = 0; i < findings.count; i++) {
        json_object_array_add(list, json_object_new_string(findings.items[i].path));
    }
    role_findings_fini(&findings);
    json_object_object_add(root, "unprotected", list);
    free(spec->agent);
    spec->agent = memory_dup_string(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
}

int agent_change_model(struct loop_spec *spec, const char *model, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = check_model(model, err);
    if (r == 0 && spec->agent == NULL) {
        r = error_set(err, RONDO_ERR_STATE, "the run is not one of a role file");
    }
    if (r == 0) {
        r = json_parse(spec->agent, strlen(spec->agent), &root, err);
    }
    if (r < 0) {
        return r;
    }
    json_object_object_add(root, "model", json_object_new_string(model));
    json_object_object_del(root, "price_micro"); /* It is the other model's. */
    free(spec->agent);
    spec->agent = memory_dup_string(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
    return 0;
}

int agent_allow_follow_ups(struct loop_spec *spec, int64_t depth, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(spec->agent, strlen(spec->agent), &root, err);
    if (r < 0) {
        return r;
    }
    json_object_object_add(root, "follow_up_depth", json_object_new_int64(depth));
    free(spec->agent);
    spec->agent = memory_dup_string(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
    return 0;
}

bool agent_config_is_chat(const char *json)
{
    auto_json struct json_object *root = NULL;
    return json_parse(json, strlen(json), &root, NULL) == 0 &&
           strcmp(json_get_string(root, "mode", ""), mode_names[AGENT_CHAT]) == 0;
}

/** The model that is used: "provider:name" where it was asked for, else the role's. */
static int read_model(struct json_object *root, struct agent_config *config,
                      struct rondo_error *err)
{
    const char *given = json_get_string(root, "model", NULL);
    if (config->is_dry_run) {
        config->provider = memory_dup_string("scripted");
        config->model = memory_dup_string("dry-run");
        return 0;
    }
    if (given == NULL) {
        config->provider = memory_dup_string(config->role->model.provider);
        config->model = memory_dup_string(config->role->model.name);
        return 0;
    }
    int r = check_model(given, err);
    if (r < 0) {
        return r;
    }
    const char *colon = strchr(given, ':');
    config->provider = memory_dup_bytes(given, (size_t)(colon - given));
    config->model = memory_dup_string(colon + 1);
    return 0;
}

static int read_role(struct json_object *root, struct agent_config *config, struct rondo_error *err)
{
    struct json_object *normal = NULL;
    if (!json_object_object_get_ex(root, "role", &normal)) {
        return error_set(err, RONDO_ERR_CORRUPT, "the options of the run contain no role");
    }
    return role_from_object(normal, json_get_string(root, "path", ""), &config->role, err);
}

static int read_price(struct json_object *object, const char *key, int64_t *price,
                      struct rondo_error *err)
{
    *price = json_get_int(object, key, -1);
    return *price >= 0 ? 0
                       : error_set(err, RONDO_ERR_CORRUPT,
                                   "the options of the run contain no price '%s'", key);
}

/** What the model costs, where the run has kept it. */
static int read_prices(struct json_object *root, struct agent_config *config,
                       struct rondo_error *err)
{
    struct json_object *object = NULL;
    struct prices *prices = &config->prices;
    if (!json_object_object_get_ex(root, "price_micro", &object)) {
        return 0;
    }
    prices->is_known = true;
    int r = read_price(object, "input", &prices->input, err);
    r = r < 0 ? r : read_price(object, "output", &prices->output, err);
    r = r < 0 ? r : read_price(object, "cached", &prices->cached, err);
    return r < 0 ? r : read_price(object, "cache_write", &prices->cache_written, err);
}

/** The role's hosts and those that the caller has added. */
static void read_hosts(struct json_object *root, struct agent_config *config)
{
    struct json_object *given = NULL;
    json_object_object_get_ex(root, "allow_hosts", &given);
    size_t own = memory_count_list((const char *const *)config->role->allow_hosts);
    size_t more = json_length(given);
    config->allow_hosts = memory_new_zero(own + more + 1, sizeof(char *));
    for (size_t i = 0; i < own; i++) {
        config->allow_hosts[i] = memory_dup_string(config->role->allow_hosts[i]);
    }
    for (size_t i = 0; i < more; i++) {
        const char *host = json_object_get_string(json_object_array_get_idx(given, i));
        config->allow_hosts[own + i] = memory_dup_string(host == NULL ? "" : host);
    }
}

static enum agent_mode read_mode(struct json_object *root)
{
    const char *name = json_get_string(root, "mode", "");
    for (enum agent_mode i = AGENT_AUTONOMOUS; i <= AGENT_CHAT; i++) {
        if (strcmp(mode_names[i], name) == 0) {
            return i;
        }
    }
    return AGENT_AUTONOMOUS;
}

enum agent_mode agent_recorded_mode(const struct loop_spec *spec)
{
    auto_json struct json_object *root = NULL;
    if (spec->agent == NULL || json_parse(spec->agent, strlen(spec->agent), &root, NULL) < 0) {
        return AGENT_AUTONOMOUS;
    }
    return read_mode(root);
}

int agent_config_read(const char *json, struct agent_config *ret_config, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, strlen(json), &root, err);
    if (r < 0) {
        return r;
    }
    if (json_get_int(root, "format", 0) > AGENT_CONFIG_FORMAT) {
        return error_set(err, RONDO_ERR_VERSION,
                         "the run was made by a newer Rondo; use that one to resume it");
    }
    struct agent_config config = {
        .mode = read_mode(root),
        .is_dry_run = json_get_bool(root, "dry_run", false),
        .follow_up_depth = json_get_int(root, "follow_up_depth", -1),
        .accepts_unprotected = json_object_object_get_ex(root, "unprotected", NULL),
        .system = memory_dup_string(json_get_string(root, "system", "")),
    };
    r = read_role(root, &config, err);
    if (r == 0) {
        r = read_model(root, &config, err);
    }
    if (r == 0) {
        r = read_prices(root, &config, err);
    }
    if (r < 0) {
        agent_config_fini(&config);
        return r;
    }
    read_hosts(root, &config);
    json_object_object_get_ex(root, AGENT_SERVERS, &config.servers);
    json_object_get(config.servers);
    json_object_object_get_ex(root, AGENT_DELEGATES, &config.delegates);
    json_object_get(config.delegates);
    config.depth = json_get_int(json_member(root, AGENT_DELEGATED), "depth", 0);
    config.carried = json_object_get(carry_messages(root));
    const char *summary = carry_summary(root);
    config.carried_summary = summary == NULL ? NULL : memory_dup_string(summary);
    *ret_config = config;
    return 0;
}

void agent_config_fini(struct agent_config *config)
{
    role_free(config->role);
    json_object_put(config->servers);
    json_object_put(config->delegates);
    json_object_put(config->carried);
    free(config->carried_summary);
    for (size_t i = 0; config->allow_hosts != NULL && config->allow_hosts[i] != NULL; i++) {
        free(config->allow_hosts[i]);
    }
    free(config->allow_hosts);
    free(config->system);
    free(config->provider);
    free(config->model);
    *config = (struct agent_config){0};
}

struct model_options agent_config_model(const struct agent_config *config)
{
    const struct role_model *wanted = &config->role->model;
    bool is_given = strcmp(config->provider, wanted->provider) == 0;
    return (struct model_options){
        .provider = config->provider,
        .name = config->model,
        /* Where a model of another provider is asked for, the role's address is not its. */
        .base_url = is_given ? wanted->base_url : NULL,
        .api_key_env = is_given ? wanted->api_key_env : NULL,
        .folder = config->role->folder,
        .temperature = wanted->temperature,
        .max_tokens = wanted->max_tokens,
        .settings = json_member(json_member(config->role->normal, "spec"), "model"),
        .max_attempts = config->role->http_retries,
        .max_wait_seconds = config->role->http_retry_max_wait,
        .has_extras = is_given || wanted->provider[0] == '\0',
        .price_input_micro = is_given ? wanted->price_input_micro : -1,
        .price_output_micro = is_given ? wanted->price_output_micro : -1,
        .prices = config->prices.is_known ? &config->prices : NULL,
    };
}

/** What the run's model costs. */
static int find_prices(const struct loop_spec *spec, const char *prices_file,
                       struct prices *ret_prices, struct buf *ret_model, struct rondo_error *err)
{
    struct agent_config config;
    int r = agent_config_read(spec->agent, &config, err);
    if (r < 0) {
        return r;
    }
    struct model_options options = agent_config_model(&config);
    options.prices_file = prices_file;
    r = model_find_prices(&options, ret_prices, err);
    buf_printf(ret_model, "%s:%s", config.provider, config.model);
    agent_config_fini(&config);
    return r;
}

int agent_check_cost(const struct loop_spec *spec, const char *prices_file, struct rondo_error *err)
{
    struct prices prices;
    auto_buf struct buf model = {0};
    auto_buf struct buf why = {0};
    if (spec->agent == NULL || spec->max_cost_micro <= 0) {
        return 0;
    }
    int r = find_prices(spec, prices_file, &prices, &model, err);
    if (r < 0 || prices.is_known) {
        return r;
    }
    loop_explain_unpriced(buf_string(&model), &why);
    return error_set(err, RONDO_ERR_INVALID, "%s", buf_string(&why));
}

int agent_check_limits(const struct loop_spec *spec, struct rondo_error *err)
{
    return agent_check_cost(spec, NULL, err);
}

static int64_t or_zero(int64_t limit)
{
    return limit > 0 ? limit : 0;
}

static void set_limits(const struct role *role, const struct agent_options *options,
                       struct loop_spec *spec)
{
    const struct role_guardrails *limits = &role->guardrails;
    spec->max_failures = 1; /* A failed iteration ends an agent's run. */
    if (options->mode == AGENT_CHAT) {
        spec->max_failures = LIMIT_MAX_ITERATIONS;
        spec->max_iterations = LIMIT_MAX_ITERATIONS;
        spec->max_tokens = or_zero(limits->session_token_budget);
    } else if (options->mode == AGENT_SINGLE) {
        spec->max_iterations = 1;
    } else {
        spec->max_iterations = limits->max_iterations;
        spec->max_tokens = or_zero(limits->autonomous_token_budget);
        spec->time_limit_ns = or_zero(limits->autonomous_timeout_seconds) * NS_PER_S;
        spec->delay_ns = duration_from_seconds(role->autonomy.iteration_delay_seconds);
        spec->checkpoint_interval = role->autonomy.checkpoint_interval;
    }
    int64_t budget = or_zero(limits->run_token_budget);
    if (budget > 0 && (spec->max_tokens == 0 || budget < spec->max_tokens)) {
        spec->max_tokens = budget;
    }
    spec->max_cost_micro = or_zero(limits->cost_limit_micro);
    if (options->max_iterations > 0) {
        spec->max_iterations = options->max_iterations;
    }
    if (options->token_budget > 0) {
        spec->max_tokens = options->token_budget;
    }
}

static int add_condition(const struct role_condition *condition, struct loop_spec *spec,
                         struct rondo_error *err)
{
    int64_t timeout_ns = condition->timeout_seconds * NS_PER_S;
    if (condition->tool != NULL) {
        return loop_spec_add_tool_condition(spec, condition->name, condition->tool,
                                            condition->server, condition->arguments, timeout_ns,
                                            err);
    }
    if (condition->command != NULL) {
        return loop_spec_add_condition(spec, condition->name, condition->command, "given",
                                       timeout_ns, err);
    }
    struct detect_result found;
    int r = detect_command(spec->workspace, condition->name, &found, err);
    return r < 0 ? r
                 : loop_spec_add_condition(spec, condition->name, found.command, found.origin,
                                           timeout_ns, err);
}

static int add_conditions(const struct role *role, struct loop_spec *spec, struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; i < role->condition_count && r == 0; i++) {
        r = add_condition(&role->conditions[i], spec, err);
    }
    return r;
}

/** A path in a role file is relative to the file. */
static char *resolve(const struct role *role, const char *path)
{
    if (path == NULL || path[0] == '/') {
        return memory_dup_string(path);
    }
    struct buf full = {0};
    buf_append_string(&full, role->folder);
    buf_append_string(&full, "/");
    buf_append_string(&full, path);
    return buf_steal(&full);
}

static int check_hosts(const struct agent_options *options, struct rondo_error *err)
{
    for (size_t i = 0; options->allow_hosts != NULL && options->allow_hosts[i] != NULL; i++) {
        if (!net_guard_is_pattern(options->allow_hosts[i])) {
            return error_set(err, RONDO_ERR_INVALID,
                             "'%s' is not a host to allow; write a name, an address, "
                             "name:port, a.b.c.d/n or *.name",
                             options->allow_hosts[i]);
        }
    }
    return 0;
}

/** What a file says of the model's price is kept: a resume may not have the file, or another. */
static int keep_prices(const struct role *role, const struct agent_options *options,
                       struct loop_spec *spec, struct rondo_error *err)
{
    struct prices prices;
    auto_buf struct buf model = {0};
    auto_buf struct buf agent = {0};
    if (options->prices_file == NULL || options->is_dry_run) {
        return 0;
    }
    int r = find_prices(spec, options->prices_file, &prices, &model, err);
    if (r == 0) {
        agent_config_write(role, options, &prices, &agent);
        free(spec->agent);
        spec->agent = memory_dup_string(buf_string(&agent));
    }
    return r;
}

/** The roles that work can be given to are recorded with the run. */
static int add_delegates(const struct role *role, const struct agent_options *options,
                         struct loop_spec *spec, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct json_object *delegates = NULL;
    int r = delegates_read(role, options, spec, &delegates, err);
    if (r < 0 || delegates == NULL) {
        return r;
    }
    r = json_parse(spec->agent, strlen(spec->agent), &root, err);
    if (r < 0) {
        json_object_put(delegates);
        return r;
    }
    json_object_object_add(root, AGENT_DELEGATES, delegates);
    free(spec->agent);
    spec->agent = memory_dup_string(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
    return 0;
}

static int fill_spec(const struct role *role, const struct agent_options *options,
                     struct loop_spec *spec, struct rondo_error *err)
{
    auto_buf struct buf agent = {0};
    agent_config_write(role, options, NULL, &agent);
    spec->agent_id = memory_dup_string(role->name);
    spec->kind = memory_dup_string(AGENT_KIND);
    spec->workspace = memory_dup_string(options->workspace);
    spec->policy = resolve(role, role->policy);
    spec->prompt = memory_dup_string(options->prompt);
    spec->agent = memory_dup_string(buf_string(&agent));
    if (keep_prices(role, options, spec, err) < 0) {
        return err->code;
    }
    set_limits(role, options, spec);
    bool is_elsewhere = options->mode != AGENT_CHAT && !options->is_delegated;
    if (is_elsewhere && role->pool != NULL && role->pool[0] != '\0') {
        spec->pool = memory_dup_string(role->pool);
    }
    if (role->sandbox != NULL) {
        enum sandbox_tier tier = SANDBOX_NAMESPACE;
        sandbox_tier_from_name(role->sandbox, &tier);
        spec->verifier_tier = tier;
    }
    int r = options->mode == AGENT_AUTONOMOUS ? add_conditions(role, spec, err) : 0;
    if (!options->is_delegated) {
        r = r < 0 ? r : agent_confirm_role(role, options, spec, err);
        r = r < 0 ? r : add_delegates(role, options, spec, err);
    }
    return r < 0 ? r : loop_spec_check(spec, err);
}

int agent_spec(const struct role *role, const struct agent_options *given,
               struct loop_spec *ret_spec, struct rondo_error *err)
{
    struct loop_spec spec = loop_spec_default();
    struct agent_options chosen = *given;
    const struct agent_options *options = &chosen;
    auto_free char *model = NULL;
    int r = check_hosts(options, err);
    if (r == 0 && given->model == NULL && !given->is_dry_run && !agent_has_model(role)) {
        auto_buf struct buf source = {0};
        r = agent_choose_model(role, &model, &source, err);
        chosen.model = model;
    }
    if (r == 0 && !options->accepts_unprotected && options->findings != NULL) {
        r = agent_check_protected(options->findings, err);
    }
    if (r == 0) {
        r = role_check_secrets(role, err);
    }
    if (r == 0) {
        r = fill_spec(role, options, &spec, err);
    }
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}
