// SPDX-License-Identifier: Apache-2.0
/*
 * Settings of a role's model. A member of the request that limits it, or that policies decide
 * about, cannot be given by `extra_body`: it would be there twice, and which one counts would be
 * the server's choice.
 */
#include "model/settings.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** A setting and its name in each dialect; NULL = it is not sent there. */
static const struct {
    const char *name;
    const char *openai;
    const char *anthropic;
    bool is_sampling; /* not sent to reasoning models, which refuse it */
} rows[] = {
    {"top_p", "top_p", "top_p", true},
    {"top_k", NULL, "top_k", true},
    {"seed", "seed", NULL, false},
    {"stop_sequences", "stop", "stop_sequences", true},
    {"presence_penalty", "presence_penalty", NULL, true},
    {"frequency_penalty", "frequency_penalty", NULL, true},
    {"logit_bias", "logit_bias", NULL, true},
};

static void write_member(const char *name, struct json_object *value, struct buf *out)
{
    const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
    auto_json struct json_object *key = json_object_new_string(name);
    buf_printf(out, ",%s:%s", json_object_to_json_string_ext(key, flags),
               json_object_to_json_string_ext(value, flags));
}

/** The effort of a reasoning model; `false` is "none", which only models since gpt-5.1 know. */
static void read_thinking(const struct model *model, struct json_object *value, struct buf *body)
{
    bool is_text = json_object_is_type(value, json_type_string);
    bool knows_none = strncmp(model->name, "gpt-5.", 6) == 0;
    bool is_openai = (model->provider->traits & PROVIDER_IS_OPENAI) != 0;
    if (value == NULL || !is_openai) {
        return;
    }
    if (is_text && (model->is_reasoning || knows_none)) {
        write_member("reasoning_effort", value, body);
    } else if (!is_text && knows_none) {
        buf_append_string(body, ",\"reasoning_effort\":\"none\"");
    }
}

static void read_rows(const struct model *model, struct json_object *settings, struct buf *body)
{
    bool is_anthropic = model->ops == &anthropic_ops;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *name = is_anthropic ? rows[i].anthropic : rows[i].openai;
        struct json_object *value = json_member(settings, rows[i].name);
        if (value != NULL && name != NULL && !(rows[i].is_sampling && model->is_reasoning)) {
            write_member(name, value, body);
        }
    }
    read_thinking(model, json_member(settings, "thinking"), body);
}

/** Members that Rondo writes itself, or that give the model tools and instructions. */
static bool is_own_member(const char *name)
{
    static const char *const own[] = {
        "model",
        "models",
        "messages",
        "input",
        "system",
        "instructions",
        "tools",
        "tool_choice",
        "functions",
        "function_call",
        "stream",
        "stream_options",
        "max_tokens",
        "n",
        "max_completion_tokens",
        "temperature",
        "container",
        "mcp_servers",
        "web_search_options",
        "plugins",
        "prompt",
        "parallel_tool_calls",
    };
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(own[i], name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if ((rows[i].openai != NULL && strcmp(rows[i].openai, name) == 0) ||
            (rows[i].anthropic != NULL && strcmp(rows[i].anthropic, name) == 0)) {
            return true;
        }
    }
    return false;
}

static int read_body(struct json_object *members, struct buf *body, struct rondo_error *err)
{
    if (!json_object_is_type(members, json_type_object)) {
        return 0;
    }
    struct json_object_iterator at = json_object_iter_begin(members);
    struct json_object_iterator end = json_object_iter_end(members);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        if (is_own_member(name)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "model.extra_body cannot have `%.60s`: Rondo writes that member of "
                             "requests",
                             name);
        }
        write_member(name, json_object_iter_peek_value(&at), body);
    }
    if (body->len > (size_t)LIMIT_MODEL_EXTRA_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the settings of the model have more than %ld bytes",
                         LIMIT_MODEL_EXTRA_BYTES);
    }
    return 0;
}

/** Whether a header has a name and value that can be sent, and is not one of the request's own. */
static bool is_good_header(const struct model *model, const char *name, const char *value)
{
    static const char *const own[] = {"host",         "content-length", "transfer-encoding",
                                      "content-type", "connection",     "idempotency-key",
                                      "traceparent",  "authorization"};
    const struct model_wire *wire = model->ops->wire;
    bool is_good = name[0] != '\0' && strcasecmp(name, wire->key_header) != 0 &&
                   (wire->version == NULL || strcasecmp(name, wire->version_header) != 0);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        is_good = is_good && strcasecmp(name, own[i]) != 0;
    }
    for (const char *at = name; is_good && *at != '\0'; at++) {
        is_good = ascii_is_letter_or_digit(*at) || strchr("-_.", *at) != NULL;
    }
    for (const char *at = value; is_good && *at != '\0'; at++) {
        is_good = *at == ' ' || ascii_is_graphic(*at);
    }
    return is_good;
}

static int read_headers(struct model *model, struct json_object *headers, struct rondo_error *err)
{
    struct model_settings *settings = &model->settings;
    if (!json_object_is_type(headers, json_type_object)) {
        return 0;
    }
    struct json_object_iterator at = json_object_iter_begin(headers);
    struct json_object_iterator end = json_object_iter_end(headers);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        const char *value = json_object_get_string(json_object_iter_peek_value(&at));
        if (value == NULL || !is_good_header(model, name, value)) {
            return error_set(err, RONDO_ERR_INVALID, "model.extra_headers: `%.60s` cannot be sent",
                             name);
        }
        if (settings->header_count == MODEL_EXTRA_HEADERS) {
            return error_set(err, RONDO_ERR_LIMIT, "model.extra_headers: at most %d headers",
                             MODEL_EXTRA_HEADERS);
        }
        settings->headers[settings->header_count++] =
            (struct http_header){memory_dup_string(name), memory_dup_string(value)};
    }
    return 0;
}

int model_settings_read(struct model *model, struct json_object *settings, bool has_extras,
                        struct rondo_error *err)
{
    struct model_settings *own = &model->settings;
    if (settings == NULL || model->ops->wire == NULL) {
        return 0;
    }
    read_rows(model, settings, &own->body);
    own->is_serial = !json_get_bool(settings, "parallel_tool_calls", true);
    own->has_no_tools = strcmp(json_get_string(settings, "tool_choice", "auto"), "none") == 0;
    if (!has_extras) {
        return 0;
    }
    int r = read_body(json_member(settings, "extra_body"), &own->body, err);
    return r < 0 ? r : read_headers(model, json_member(settings, "extra_headers"), err);
}

void model_settings_fini(struct model_settings *settings)
{
    for (size_t i = 0; i < settings->header_count; i++) {
        free((char *)settings->headers[i].name);
        free((char *)settings->headers[i].value);
    }
    buf_fini(&settings->body);
    *settings = (struct model_settings){0};
}

void model_settings_write(const struct model *model, struct buf *ret_json)
{
    buf_append(ret_json, model->settings.body.data, model->settings.body.len);
}
