// SPDX-License-Identifier: Apache-2.0
/* The model of a role that names none. */
#include "agent/spec/options.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/key/environment.h"
#include "model/provider.h"
#include "role/role.h"

#include <string.h>

/** A model for `provider:name` without more. */
static const struct {
    const char *provider;
    const char *model;
} usual_models[] = {
    {"anthropic", "claude-sonnet-4-5"},
    {"openai", "gpt-5-mini"},
    {"google", "gemini-2.5-flash"},
    {"groq", "llama-3.3-70b-versatile"},
    {"mistral", "mistral-large-latest"},
    {"cohere", "command-a-03-2025"},
    {"xai", "grok-4"},
};
#define USUAL_COUNT (sizeof(usual_models) / sizeof(usual_models[0]))

static bool is_set(const char *value)
{
    return value != NULL && value[0] != '\0';
}

/** @return whether a variable names the model */
static int read_variable(const struct dotenv *dotenv, const char *variable, char **ret_model,
                         struct buf *ret_source, struct rondo_error *err)
{
    const char *value = dotenv_get(dotenv, variable);
    if (!is_set(value)) {
        return 0;
    }
    const char *colon = strchr(value, ':');
    if (colon == NULL || colon == value || colon[1] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "%s: '%.100s' is not a model; write provider:name",
                         variable, value);
    }
    *ret_model = memory_dup_string(value);
    buf_append_string(ret_source, variable);
    return 0;
}

static void find_key(const struct dotenv *dotenv, char **ret_model, struct buf *ret_source)
{
    for (size_t i = 0; i < USUAL_COUNT; i++) {
        const struct provider *provider = provider_find(usual_models[i].provider);
        if (is_set(dotenv_get(dotenv, provider->key_env))) {
            auto_buf struct buf model = {0};
            buf_printf(&model, "%s:%s", provider->name, usual_models[i].model);
            *ret_model = buf_steal(&model);
            buf_printf(ret_source, "%s is set", provider->key_env);
            return;
        }
    }
}

/**
 * The name of a model decides what an agent does (`scripted:FILE` is one), so it never comes from a
 * `.env` beside the role, which agents may write.
 */
static int read_variables(char **ret_model, struct buf *ret_source, struct rondo_error *err)
{
    static const char *const variables[] = {"RONDO_MODEL", "INITRUNNER_MODEL"};
    struct dotenv *home = NULL;
    int r = dotenv_read(NULL, &home, err);
    for (size_t i = 0; i < 2 && r == 0 && *ret_model == NULL; i++) {
        r = read_variable(home, variables[i], ret_model, ret_source, err);
    }
    dotenv_free(home);
    return r;
}

static int choose(const struct dotenv *dotenv, char **ret_model, struct buf *ret_source,
                  struct rondo_error *err)
{
    int r = read_variables(ret_model, ret_source, err);
    if (r == 0 && *ret_model == NULL) {
        find_key(dotenv, ret_model, ret_source);
    }
    return r < 0 ? r
           : *ret_model != NULL
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "the role names no model, and none can be chosen: use --model "
                           "provider:name, set RONDO_MODEL, or set a provider's key, for "
                           "instance OPENAI_API_KEY");
}

bool agent_has_model(const struct role *role)
{
    return role->model.name[0] != '\0';
}

int agent_choose_model(const struct role *role, char **ret_model, struct buf *ret_source,
                       struct rondo_error *err)
{
    struct dotenv *dotenv = NULL;
    char *model = NULL;
    int r = dotenv_read(role->folder, &dotenv, err);
    if (r == 0) {
        r = choose(dotenv, &model, ret_source, err);
        dotenv_free(dotenv);
    }
    if (r == 0) {
        *ret_model = model;
    }
    return r;
}
