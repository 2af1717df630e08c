// SPDX-License-Identifier: Apache-2.0
/* From a role file to what a daemon needs of it. */
#include "source/duty/duty_role.h"

#include "agent/spec/options.h"
#include "agent/spec/pin.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/key/dotenv.h"
#include "model/key/environment.h"
#include "role/role.h"
#include "worker/body.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Agents that can write the `.env` beside the role must not choose who may start its runs. */
static int read_variables(const struct role *role, struct duty_plan *plan, struct rondo_error *err)
{
    struct dotenv *variables = NULL;
    int r = dotenv_read(role->folder, &variables, err);
    r = r < 0 ? r : agent_confirm_trigger_variables(role, variables, &plan->single, err);
    if (r == 0) {
        snprintf(plan->variables, sizeof(plan->variables), "%s", variables->digest);
    }
    dotenv_free(variables);
    return r;
}

/** The options of runs of one mode, without a prompt of their own. */
static int make_spec(const struct role *role, const struct duty_reading *reading,
                     const struct role_findings *findings, const char *system, enum agent_mode mode,
                     struct loop_spec *ret_spec, struct rondo_error *err)
{
    struct loop_spec spec;
    struct agent_options options = {
        .mode = mode,
        .prompt = "-", /* Each run gets its own. */
        .workspace = reading->workspace,
        .model = reading->model,
        .system = system,
        .prices_file = reading->prices_file,
        .is_file_named = true,
        .is_kept = true,
        .is_found = reading->is_found,
        .findings = findings,
        .accepts_unprotected = reading->accepts_unprotected,
    };
    struct body_sandbox missing;
    int r = agent_spec(role, &options, &spec, err);
    if (r < 0) {
        return r;
    }
    r = agent_check_cost(&spec, reading->prices_file, err);
    r = r < 0 ? r : agent_pin(&spec, reading->config_folder, err);
    if (r == 0 && !body_has_sandbox(&spec, &missing)) {
        r = error_set(err, RONDO_ERR_UNSUPPORTED, "sandbox tier '%s' is not available here: %s",
                      sandbox_tier_name(missing.tier), missing.reason);
    }
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

static void digest_spec(struct digest *digest, const struct loop_spec *spec)
{
    auto_buf struct buf json = {0};
    loop_spec_encode(spec, &json);
    digest_add_u64(digest, json.len);
    digest_add(digest, buf_string(&json), json.len);
}

static int make_specs(const struct role *role, const struct duty_reading *reading,
                      const struct role_findings *findings, const char *system,
                      struct duty_plan *plan, struct rondo_error *err)
{
    struct digest digest = digest_begin();
    int r = make_spec(role, reading, findings, system, AGENT_SINGLE, &plan->single, err);
    r = r < 0 ? r : read_variables(role, plan, err);
    if (r == 0 && role->autonomy.is_given) {
        r = make_spec(role, reading, findings, system, AGENT_AUTONOMOUS, &plan->autonomous, err);
    }
    if (r == 0) {
        digest_add(&digest, plan->variables, strlen(plan->variables));
        digest_spec(&digest, &plan->single);
    }
    if (r == 0 && plan->autonomous.kind != NULL) {
        digest_spec(&digest, &plan->autonomous);
    }
    digest_finish(&digest, plan->digest);
    return r;
}

/** The role's triggers, after the one for follow-ups of an agent that can schedule them. */
static struct json_object *make_triggers(const struct role *role)
{
    struct json_object *own = json_member(json_member(role->normal, "spec"), "triggers");
    size_t count = json_length(own);
    struct json_object *all = json_object_new_array();
    if (role->autonomy.is_given) {
        struct json_object *scheduled = json_object_new_object();
        json_object_object_add(scheduled, "type", json_object_new_string("scheduled"));
        json_object_object_add(scheduled, "autonomous", json_object_new_boolean(true));
        json_object_array_add(all, scheduled);
    }
    for (size_t i = 0; i < count; i++) {
        json_object_array_add(all, json_object_get(json_object_array_get_idx(own, i)));
    }
    return all;
}

static int use_role(struct role *role, const struct duty_reading *reading,
                    struct role_findings *findings, struct duty_plan *plan, struct rondo_error *err)
{
    auto_buf struct buf system = {0};
    role_find_unsupported(role, ROLE_ON_DUTY, findings);
    int r = role_resolve_skills(role, reading->skill_folder, findings, &system, err);
    if (r == 0 && role_findings_errors(findings) > 0) {
        r = error_set(err, RONDO_ERR_INVALID, "the role cannot be run");
    }
    r = r < 0 ? r : make_specs(role, reading, findings, buf_string(&system), plan, err);
    if (r < 0) {
        return r;
    }
    snprintf(plan->name, sizeof(plan->name), "%s", role->name);
    plan->folder = memory_dup_string(role->folder);
    plan->triggers = make_triggers(role);
    budget_rules_read(role->normal, &plan->budgets);
    plan->daemon = json_object_get(json_member(json_member(role->normal, "spec"), "daemon"));
    return 0;
}

int duty_plan_read(const char *path, const struct duty_reading *reading, struct duty_plan *ret_plan,
                   char ***ret_places, struct buf *ret_findings, struct rondo_error *err)
{
    struct role_findings findings = {0};
    struct role *role = NULL;
    struct duty_plan plan = {0};
    int r = role_read(path, ROLE_SCHEMA_1_13, &findings, &role, err);
    if (r == 0 && role == NULL) {
        size_t count = role_findings_errors(&findings);
        r = error_set(err, RONDO_ERR_INVALID, "the role is not valid: %zu error%s", count,
                      count == 1 ? "" : "s");
    } else if (r == 0) {
        r = use_role(role, reading, &findings, &plan, err);
    }
    role_findings_write(&findings, path, ROLE_WARNING, ret_findings);
    if (role != NULL) {
        *ret_places = steal_pointer(&role->skill_places);
    }
    role_free(role);
    role_findings_fini(&findings);
    if (r < 0) {
        duty_plan_fini(&plan);
        return r;
    }
    *ret_plan = plan;
    return 0;
}

void duty_plan_fini(struct duty_plan *plan)
{
    free(plan->folder);
    loop_spec_fini(&plan->single);
    loop_spec_fini(&plan->autonomous);
    json_object_put(plan->triggers);
    json_object_put(plan->daemon);
    *plan = (struct duty_plan){0};
}

/* ---- Its queue ------------------------------------------------------------------------------ */

struct queue_options duty_plan_queue(const struct duty_plan *plan,
                                     const struct queue_options *by_default)
{
    struct queue_options queue = *by_default;
    const char *rule = json_get_string(plan->daemon, "when_full", "");
    queue.max_running =
        (uint64_t)json_get_int(plan->daemon, "max_running", (int64_t)queue.max_running);
    queue.max_waiting =
        (uint64_t)json_get_int(plan->daemon, "max_waiting", (int64_t)queue.max_waiting);
    (void)queue_rule_from_name(rule, &queue.rule);
    return queue;
}

bool duty_plan_is_reloaded(const struct duty_plan *plan)
{
    return json_get_bool(plan->daemon, "hot_reload", true);
}

int64_t duty_plan_debounce_ns(const struct duty_plan *plan)
{
    double seconds = 1;
    struct json_object *value = json_member(plan->daemon, "reload_debounce_seconds");
    if (value != NULL) {
        seconds = json_object_get_double(value);
    }
    return (int64_t)(seconds * (double)NS_PER_S);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/** What the journal keeps of the event, for ever. */
static char *write_origin(const struct start_request *request)
{
    struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", request->kind);
    json_write_string(&writer, "source", request->source);
    json_write_int(&writer, "received_ns", request->received_ns);
    if (request->key != NULL) {
        json_write_string(&writer, "key", request->key);
    }
    if (request->conversation != NULL) {
        json_write_string(&writer, "conversation", request->conversation);
    }
    json_write_raw(&writer, "context", request->context);
    json_end_object(&writer);
    return buf_steal(&json);
}

/** How many follow-ups in a row led to a request. */
static int64_t depth_of(const struct start_request *request)
{
    auto_json struct json_object *context = NULL;
    if (strcmp(request->kind, "scheduled") != 0 ||
        json_parse(request->context, strlen(request->context), &context, NULL) < 0) {
        return 0;
    }
    return json_get_int(context, "depth", 1);
}

void duty_plan_spec(const struct duty_plan *plan, const struct start_request *request,
                    struct loop_spec *ret_spec)
{
    bool is_autonomous = request->mode == START_AUTONOMOUS && plan->autonomous.kind != NULL;
    struct loop_spec spec = loop_spec_dup(is_autonomous ? &plan->autonomous : &plan->single);
    free(spec.prompt);
    spec.prompt = memory_dup_string(request->prompt);
    memcpy(spec.run_id, request->id, ID_SIZE);
    spec.origin = write_origin(request);
    (void)agent_allow_follow_ups(&spec, depth_of(request), NULL);
    *ret_spec = spec;
}
