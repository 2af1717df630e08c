// SPDX-License-Identifier: Apache-2.0
#include "agent/memory/embedding.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "loop/runtime.h"
#include "model/embed.h"
#include "model/model.h"
#include "role/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A text of a section that may be absent. @return owned */
static char *dup_text(struct json_object *section, const char *name)
{
    const char *text = json_get_string(section, name, NULL);
    return memory_dup_string(text == NULL ? "" : text);
}

void embedding_settings_read(const struct role *role, struct json_object *section,
                             struct embedding_settings *ret_settings)
{
    *ret_settings = (struct embedding_settings){
        .provider = dup_text(section, "provider"),
        .model = dup_text(section, "model"),
        .base_url = dup_text(section, "base_url"),
        .api_key_env = dup_text(section, "api_key_env"),
    };
    ret_settings->is_given = ret_settings->provider[0] != '\0' || ret_settings->model[0] != '\0' ||
                             ret_settings->base_url[0] != '\0';
    const char *of_role = role->model.provider == NULL ? "" : role->model.provider;
    if (ret_settings->provider[0] == '\0') {
        free(ret_settings->provider);
        bool has_own = of_role[0] != '\0' && strcmp(of_role, "anthropic") != 0;
        ret_settings->provider = memory_dup_string(has_own ? of_role : "openai");
    }
}

void embedding_settings_fini(struct embedding_settings *settings)
{
    free(settings->provider);
    free(settings->model);
    free(settings->base_url);
    free(settings->api_key_env);
    *settings = (struct embedding_settings){0};
}

static const char *unless_empty(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

struct model *embedding_open(const struct embedding_parts *parts,
                             const struct embedding_settings *given, const char *section,
                             struct buf *ret_name, char ret_problem[RONDO_ERROR_MESSAGE_SIZE])
{
    struct rondo_error err = {0};
    struct model *model = NULL;
    const char *usual = model_embed_default(given->provider);
    const struct model_options options = {
        .provider = given->provider,
        .name = given->model[0] != '\0' ? given->model : usual,
        .base_url = unless_empty(given->base_url),
        .api_key_env = unless_empty(given->api_key_env),
        .folder = parts->role->folder,
        .price_input_micro = -1,
        .price_output_micro = -1,
        .prices_file = parts->prices_file,
        .http = parts->http,
        .clock = runtime_clock(parts->runtime),
        .random = runtime_random(parts->runtime),
    };
    ret_problem[0] = '\0';
    if (!given->is_given || parts->is_dry_run) {
        return NULL;
    }
    if (options.name == NULL) {
        snprintf(ret_problem, RONDO_ERROR_MESSAGE_SIZE,
                 "%s.embeddings: name the model of provider `%.64s`", section, given->provider);
        return NULL;
    }
    if (model_open(&options, &model, &err) < 0) {
        snprintf(ret_problem, RONDO_ERROR_MESSAGE_SIZE, "%s", err.message);
        return NULL;
    }
    if (parts->needs_price && !model_has_price(model)) {
        snprintf(ret_problem, RONDO_ERROR_MESSAGE_SIZE,
                 "no price is known for %s:%s, and the role has a budget of cost",
                 model_provider(model), model_name(model));
        model_free(model);
        return NULL;
    }
    buf_printf(ret_name, "%s:%s%s%s", model_provider(model), model_name(model),
               given->base_url[0] == '\0' ? "" : "@", given->base_url);
    if (ret_name->len > LIMIT_MEMORY_MODEL_LEN) {
        snprintf(ret_problem, RONDO_ERROR_MESSAGE_SIZE, "the address is too long");
        model_free(model);
        return NULL;
    }
    return model;
}

int embedding_make(struct model *model, const char *const *texts, size_t count, int64_t timeout_ns,
                   struct cancel *cancel, struct buf *ret_vectors, struct embedding_usage *usage,
                   struct rondo_error *err)
{
    struct model_embed_usage used = {0};
    int r = model_embed(model, texts, count, timeout_ns, cancel, ret_vectors, &used, err);
    if (r == 0 || used.tokens > 0) {
        usage->requests++;
        usage->texts += (int64_t)count;
        usage->tokens += used.tokens;
        usage->cost_micro += used.cost_micro;
        usage->is_cost_unknown = usage->is_cost_unknown || !used.has_cost;
        usage->duration_ns += used.duration_ns;
    }
    return r;
}
