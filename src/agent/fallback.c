// SPDX-License-Identifier: Apache-2.0
/* A conversation continues with another model as after a resume: from its journal. */
#include "agent/fallback.h"

#include "agent/internal.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static int open_one(struct agent *agent, const char *text, struct agent_fallback *fallback,
                    struct rondo_error *err)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0') {
        return error_set(err, RONDO_ERR_INVALID,
                         "fallback: '%.100s' is not a model; write provider:name", text);
    }
    fallback->provider = memory_dup_bytes(text, (size_t)(colon - text));
    fallback->name = memory_dup_string(colon + 1);
    struct agent_config other = agent->config;
    other.provider = fallback->provider;
    other.model = fallback->name;
    other.prices.is_known = false;
    int r = agent_open_model(agent, &other, &fallback->model, err);
    if (r < 0) {
        error_prefix(err, "fallback %.100s", text);
    }
    return r;
}

#define BIT(failure) (1U << (failure))

/** Failures by the names of `fallback_on`, which are those of InitRunner's exceptions. */
static const struct {
    const char *name;
    unsigned failures;
} conditions[] = {
    {"ModelHTTPError", BIT(MODEL_RATE_LIMITED) | BIT(MODEL_OVERLOADED) | BIT(MODEL_REFUSED_KEY) |
                           BIT(MODEL_BAD_REQUEST) | BIT(MODEL_CONTEXT_FULL)},
    {"ModelAPIError", BIT(MODEL_RATE_LIMITED) | BIT(MODEL_OVERLOADED) | BIT(MODEL_REFUSED_KEY) |
                          BIT(MODEL_BAD_REQUEST) | BIT(MODEL_CONTEXT_FULL) |
                          BIT(MODEL_UNREACHABLE) | BIT(MODEL_TIMED_OUT)},
    {"UnexpectedModelBehavior", BIT(MODEL_BAD_REPLY)},
};

/** After which failures another model may do better: what the role lists, or those of the API. */
static unsigned read_failures(struct json_object *list)
{
    const char *const usual = "ModelAPIError";
    size_t count = json_length(list);
    unsigned failures = 0;
    for (size_t i = 0; i < (count == 0 ? 1 : count); i++) {
        const char *name =
            count == 0 ? usual : json_object_get_string(json_object_array_get_idx(list, i));
        for (size_t j = 0; j < sizeof(conditions) / sizeof(conditions[0]); j++) {
            bool is_it = name != NULL && strcmp(name, conditions[j].name) == 0;
            failures |= is_it ? conditions[j].failures : 0;
        }
    }
    return failures;
}

int fallback_open(struct agent *agent, struct rondo_error *err)
{
    struct agent_fallbacks *fallbacks = &agent->fallbacks;
    struct json_object *spec = json_member(agent->config.role->normal, "spec");
    struct json_object *model = json_member(spec, "model");
    struct json_object *list = json_member(model, "fallback");
    fallbacks->failures = read_failures(json_member(model, "fallback_on"));
    size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    if (agent->config.is_dry_run) {
        return 0;
    }
    if (count > LIMIT_MODEL_FALLBACKS) {
        return error_set(err, RONDO_ERR_INVALID, "fallback: %zu models are more than %d", count,
                         LIMIT_MODEL_FALLBACKS);
    }
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(list, i));
        r = open_one(agent, text == NULL ? "" : text, &fallbacks->items[fallbacks->count++], err);
    }
    return r;
}

void fallback_fini(struct agent_fallbacks *fallbacks)
{
    for (size_t i = 0; i < fallbacks->count; i++) {
        free(fallbacks->items[i].provider);
        free(fallbacks->items[i].name);
        model_free(fallbacks->items[i].model);
    }
    *fallbacks = (struct agent_fallbacks){0};
}

static int note(struct agent *agent, const struct agent_fallback *fallback,
                const struct model_reply *reply, struct rondo_error *err)
{
    auto_buf struct buf attributes = {0};
    auto_buf struct buf model = {0};
    struct json_writer writer = json_writer(&attributes);
    buf_printf(&model, "%s:%s", fallback->provider, fallback->name);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "from", agent->model_id);
    json_write_string(&writer, "to", buf_string(&model));
    json_write_string(&writer, "outcome", model_failure_name(reply->failure));
    json_end_object(&writer);
    return loop_note(agent->loop, "model_fallback", buf_string(&attributes), err);
}

static void use(struct agent *agent, struct agent_fallback *fallback)
{
    struct agent_config *config = &agent->config;
    struct model *failed = agent->model;
    struct buf id = {0};
    buf_printf(&id, "%s:%s", fallback->provider, fallback->name);
    agent->model = fallback->model;
    fallback->model = NULL;
    model_set_system(agent->model, agent->config.system);
    agent_offer_memories(agent);
    agent_offer_tools(agent);
    model_free(failed);
    free(config->provider);
    free(config->model);
    free(agent->model_id);
    config->provider = memory_dup_string(fallback->provider);
    config->model = memory_dup_string(fallback->name);
    config->prices.is_known = false;
    agent->model_id = buf_steal(&id);
}

int fallback_take_over(struct agent *agent, const struct model_reply *reply,
                       struct rondo_error *err)
{
    struct agent_fallbacks *fallbacks = &agent->fallbacks;
    if ((fallbacks->failures & BIT(reply->failure)) == 0 || fallbacks->next == fallbacks->count) {
        return 0;
    }
    struct agent_fallback *fallback = &fallbacks->items[fallbacks->next++];
    int r = note(agent, fallback, reply, err);
    r = r < 0 ? r : loop_commit(agent->loop, err);
    if (r == 0) {
        use(agent, fallback);
        r = agent_reload(agent, err);
    }
    return r < 0 ? r : 1;
}
