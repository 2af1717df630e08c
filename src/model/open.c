// SPDX-License-Identifier: Apache-2.0
/*
 * Opening models and what is the same for all of them. After model_set_tools and model_set_system
 * a model only changes by what its server refuses, and serves any thread.
 */
#include "model/model.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "model/dialect.h"
#include "model/key/environment.h"
#include "model/record.h"
#include "model/settings.h"
#include "model/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_provider(struct model *model, const struct model_options *options,
                         struct rondo_error *err)
{
    const struct provider *provider = provider_find(options->provider);
    if (provider == NULL && options->base_url != NULL) {
        provider = provider_compatible();
    }
    if (provider == NULL) {
        auto_buf struct buf hint = {0};
        provider_suggest(options->provider, &hint);
        return error_set(err, RONDO_ERR_INVALID,
                         "unknown model provider `%s`%s (with base_url, any server that speaks "
                         "OpenAI's Chat Completions can be used)",
                         options->provider, buf_string(&hint));
    }
    if (provider->ops == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "model provider `%s` is not supported yet",
                         options->provider);
    }
    model->provider = provider;
    model->ops = provider->ops;
    return 0;
}

/** Names that begin with "gpt-5.1" or "gpt-5.2", and chat models, are none (specification 1.4). */
static bool is_reasoning_name(const char *name)
{
    static const char *const exceptions[] = {"gpt-5.1", "gpt-5.2", "gpt-5-chat"};
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
        if (strncmp(name, exceptions[i], strlen(exceptions[i])) == 0) {
            return false;
        }
    }
    return name[0] == 'o' || strncmp(name, "gpt-5", 5) == 0;
}

/** Bytes of the word at `text`, up to the next "-". */
static size_t word_len(const char *text)
{
    return strcspn(text, "-");
}

/**
 * Whether a Claude model is of those that refuse a temperature: all since Opus 4.7. Those before
 * have names like claude-3-5-haiku, claude-sonnet-4-20250514 and claude-opus-4-6.
 */
static bool refuses_temperature(const char *name)
{
    static const char *const old[] = {"claude-instant", "claude-2", "claude-3"};
    if (strncmp(name, "claude-", 7) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        if (strncmp(name, old[i], strlen(old[i])) == 0) {
            return false;
        }
    }
    const char *version = name + 7 + word_len(name + 7);
    if (strncmp(version, "-4", 2) != 0 || word_len(version + 1) != 1) {
        return true;
    }
    const char *minor = version[2] == '-' ? version + 3 : "0";
    return word_len(minor) == 1 && *minor >= '7' && *minor <= '9';
}

/** The base URL without "/" at its end, and without a "/v1" that the dialect adds by itself. */
static char *make_url(const struct model *model, const char *base_url)
{
    struct buf url = {0};
    const char *path = model->ops->wire->path;
    size_t len = strlen(base_url);
    while (len > 0 && base_url[len - 1] == '/') {
        len--;
    }
    bool has_version = len > 3 && memcmp(base_url + len - 3, "/v1", 3) == 0;
    if (has_version && strncmp(path, "/v1/", 4) == 0) {
        len -= 3;
    }
    buf_append(&url, base_url, len);
    buf_append_string(&url, path);
    return buf_steal(&url);
}

static int set_key(struct model *model, const char *variable, const char *value,
                   struct rondo_error *err)
{
    secret_set(&model->key, "", value);
    for (size_t i = 0; i < model->key.len; i++) {
        if (model->key.bytes[i] != ' ' && !ascii_is_graphic(model->key.bytes[i])) {
            return error_set(
                err, RONDO_ERR_INVALID,
                "the key in %s contains a byte that cannot be sent (a line break, or a "
                "letter that is not ASCII)",
                variable);
        }
    }
    secret_set(&model->authorization, model->ops->wire->key_prefix, model->key.bytes);
    return 0;
}

static int no_key(const struct model *model, const char *variable, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID,
                     "no key for model provider `%s`: set %s in the environment, in a file .env "
                     "next to the role file, or in ~/.initrunner/.env",
                     model->provider_name, variable);
}

/** The variable that holds the key; NULL = none is asked for. */
static const char *key_variable(const struct model *model, const struct model_options *options)
{
    if (options->api_key_env != NULL && *options->api_key_env != '\0') {
        return options->api_key_env;
    }
    /* The usual key goes to the provider itself only, not to wherever base_url points. */
    return options->base_url != NULL ? NULL : model->provider->key_env;
}

static int find_key(struct model *model, const struct model_options *options,
                    struct rondo_error *err)
{
    const char *variable = key_variable(model, options);
    if (variable == NULL) {
        const char *fixed = model->provider->fixed_key;
        return fixed == NULL ? 0 : set_key(model, "", fixed, err);
    }
    struct dotenv *dotenv = NULL;
    int r = dotenv_read(options->folder, &dotenv, err);
    if (r < 0) {
        return r;
    }
    const char *value = dotenv_get(dotenv, variable);
    bool is_missing = value == NULL || dialect_is_blank(value);
    r = is_missing ? no_key(model, variable, err) : set_key(model, variable, value, err);
    dotenv_free(dotenv);
    return r;
}

/**
 * An address in the environment, by the name that the providers' own libraries use:
 * OPENAI_BASE_URL, ANTHROPIC_BASE_URL. Not from a file `.env`: somebody who can write one next to a
 * role must not be able to send the user's key elsewhere.
 */
static const char *environment_url(const struct model *model)
{
    auto_buf struct buf name = {0};
    for (const char *at = model->provider_name; *at != '\0'; at++) {
        char letter = ascii_upper(*at);
        buf_append(&name, &letter, 1);
    }
    buf_append_string(&name, "_BASE_URL");
    const char *value = getenv(buf_string(&name));
    return value != NULL && *value != '\0' ? value : NULL;
}

static const char *find_base_url(const struct model *model, const struct model_options *options)
{
    const char *given = options->base_url != NULL ? options->base_url : environment_url(model);
    return given != NULL ? given : model->provider->base_url;
}

static int find_server(struct model *model, const struct model_options *options,
                       struct rondo_error *err)
{
    const char *base_url = find_base_url(model, options);
    if (strncasecmp(base_url, "http://", 7) != 0 && strncasecmp(base_url, "https://", 8) != 0) {
        return error_set(err, RONDO_ERR_INVALID,
                         "base_url: an address like \"http://localhost:8000/v1\" is expected");
    }
    model->url = make_url(model, base_url);
    bool is_openai = (model->provider->traits & PROVIDER_IS_OPENAI) != 0;
    model->is_reasoning = is_openai && is_reasoning_name(model->name);
    if (is_openai && options->base_url != NULL) {
        atomic_store(&model->adaptations, ADAPT_LIMIT_TOKENS);
    }
    if (model->ops == &anthropic_ops && refuses_temperature(model->name)) {
        atomic_store(&model->adaptations, ADAPT_NO_TEMPERATURE);
    }
    return find_key(model, options, err);
}

/** A path of the options, relative to the folder. */
char *model_path(const struct model_options *options, const char *path)
{
    struct buf whole = {0};
    if (*path != '/' && options->folder != NULL) {
        buf_printf(&whole, "%s/", options->folder);
    }
    buf_append_string(&whole, path);
    return buf_steal(&whole);
}

static void lay_over(const struct model_options *options, struct prices *prices)
{
    if (options->price_input_micro >= 0) {
        prices->input = options->price_input_micro;
        prices->cached = options->price_input_micro;
        prices->cache_written = options->price_input_micro;
    }
    if (options->price_output_micro >= 0) {
        prices->output = options->price_output_micro;
    }
    prices->is_known =
        prices->is_known || (options->price_input_micro >= 0 && options->price_output_micro >= 0);
}

int model_find_prices(const struct model_options *options, struct prices *ret_prices,
                      struct rondo_error *err)
{
    if (options->prices != NULL && options->prices_file == NULL) {
        *ret_prices = *options->prices;
        return 0;
    }
    const struct provider *provider = provider_find(options->provider);
    struct prices prices = prices_find(options->provider, options->name);
    prices.is_known =
        prices.is_known || (provider != NULL && (provider->traits & PROVIDER_IS_LOCAL) != 0);
    if (options->prices_file != NULL) {
        auto_free char *path = model_path(options, options->prices_file);
        int r = prices_read_file(path, options->provider, options->name, &prices, err);
        if (r < 0) {
            return r;
        }
    }
    lay_over(options, &prices);
    *ret_prices = prices;
    return 0;
}

static void write_prefix(struct model *model)
{
    buf_clear(&model->prefix);
    if (model->ops->wire != NULL) {
        model->ops->wire->write_prefix(model, &model->prefix);
    }
    buf_fit(&model->prefix);
}

static int64_t micro_of(double number)
{
    return number > 0 && number < 1e6 ? (int64_t)(number * 1e6 + 0.5) : 0;
}

static int open_model(struct model *model, const struct model_options *options,
                      struct rondo_error *err)
{
    int r = find_provider(model, options, err);
    if (r == 0 && model->ops->wire != NULL) {
        r = find_server(model, options, err);
    }
    if (r == 0) {
        r = model_settings_read(model, options->settings, options->has_extras, err);
    }
    if (r == 0) {
        r = model_find_prices(options, &model->prices, err);
    }
    if (r == 0 && model->record_file != NULL) {
        r = record_check(model->agent_folders, model->record_file, err);
    }
    if (r == 0 && model->ops->open != NULL) {
        r = model->ops->open(model, options, err);
    }
    return r;
}

int model_open(const struct model_options *options, struct model **ret_model,
               struct rondo_error *err)
{
    if (options->name == NULL || *options->name == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "the name of the model is missing");
    }
    struct model *model = memory_new_zero(1, sizeof(*model));
    model->provider_name = memory_dup_string(options->provider);
    model->name = memory_dup_string(options->name);
    model->system = memory_dup_string("");
    model->temperature_micro = micro_of(options->temperature);
    model->max_tokens = options->max_tokens > 0 ? options->max_tokens : 4096;
    model->max_attempts = options->max_attempts;
    model->max_wait_ns = duration_from_seconds(options->max_wait_seconds);
    model->http = options->http;
    model->clock = options->clock;
    model->random = options->random;
    model->agent_folders = options->agent_folders;
    if (options->record_file != NULL) {
        model->record_file = model_path(options, options->record_file);
    }
    int r = open_model(model, options, err);
    if (r < 0) {
        model_free(model);
        return r;
    }
    write_prefix(model);
    *ret_model = model;
    return 0;
}

void model_free(struct model *model)
{
    if (model == NULL) {
        return;
    }
    if (model->ops != NULL && model->ops->close != NULL) {
        model->ops->close(model);
    }
    secret_fini(&model->key);
    secret_fini(&model->authorization);
    buf_fini(&model->tools);
    buf_fini(&model->tool_names);
    buf_fini(&model->prefix);
    model_settings_fini(&model->settings);
    free(model->provider_name);
    free(model->name);
    free(model->url);
    free(model->record_file);
    free(model->system);
    free(model);
}

const char *model_provider(const struct model *model)
{
    return model->provider_name;
}

const char *model_name(const struct model *model)
{
    return model->name;
}

bool model_has_price(const struct model *model)
{
    return model->prices.is_known;
}

/** Bytes of a prompt for one token: fewer than of common text, so that the estimate is high. */
#define BYTES_PER_TOKEN 3

int64_t model_estimate(const struct model *model, const struct model_message *messages,
                       size_t count, int64_t *ret_cost_micro)
{
    size_t bytes = model->prefix.len;
    for (size_t i = 0; i < count; i++) {
        bytes += messages[i].len;
    }
    struct model_usage usage = {.input = (int64_t)(bytes / BYTES_PER_TOKEN + 1),
                                .output = model->max_tokens};
    *ret_cost_micro = model->prices.is_known ? prices_cost(&model->prices, &usage) : 0;
    return usage.input + usage.output;
}

const char *model_dialect(const struct model *model)
{
    return model->ops->dialect;
}

void model_set_tools(struct model *model, const struct model_tool *tools, size_t count)
{
    buf_clear(&model->tools);
    buf_clear(&model->tool_names);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&model->tool_names, "\n%s\n", tools[i].name);
    }
    if (count > 0 && model->ops->write_tools != NULL) {
        model->ops->write_tools(tools, count, &model->tools);
    }
    buf_fit(&model->tools);
    buf_fit(&model->tool_names);
    write_prefix(model);
}

void model_set_system(struct model *model, const char *text)
{
    free(model->system);
    model->system = memory_dup_string(text == NULL ? "" : text);
    write_prefix(model);
}

void model_add_usage(struct model_usage *sum, const struct model_usage *more)
{
    sum->input += more->input;
    sum->output += more->output;
    sum->cached += more->cached;
    sum->cache_written += more->cache_written;
    sum->reasoning += more->reasoning;
}

static size_t size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text);
}

/** Bytes of everything that a reply says. */
static size_t reply_size(const struct model_reply *reply)
{
    size_t size = size_of(reply->text) + size_of(reply->thinking) + size_of(reply->native);
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct model_call *call = &reply->calls[i];
        size += size_of(call->id) + size_of(call->name) + size_of(call->arguments);
    }
    return size;
}

/** A reply that no journal could hold is a failed request; what it has cost counts. */
static void refuse_reply(size_t size, struct model_reply *reply)
{
    char message[160];
    snprintf(message, sizeof(message),
             "the reply has %zu bytes; at most %ld are taken (max_tokens of the role bounds "
             "what a model writes)",
             size, LIMIT_MODEL_REPLY_BYTES);
    struct model_reply refused = {
        .failure = MODEL_BAD_REPLY,
        .message = memory_dup_string(message),
        .text = memory_dup_string(""),
        .thinking = memory_dup_string(""),
        .usage = reply->usage,
        .attempts = reply->attempts,
        .first_token_ns = reply->first_token_ns,
    };
    refused.request_id = steal_pointer(&reply->request_id);
    refused.model_name = steal_pointer(&reply->model_name);
    model_reply_fini(reply);
    *reply = refused;
}

/** What is the same for the replies of all providers. */
static void judge_reply(struct model_reply *reply)
{
    size_t size = reply_size(reply);
    if (size > (size_t)LIMIT_MODEL_REPLY_BYTES) {
        refuse_reply(size, reply);
    } else if (reply->failure == MODEL_OK) {
        reply->stop = stop_settle(reply);
    }
}

/**
 * A reply whose tokens the server does not report has an unknown cost; one that never came, and a
 * model that is free, costs nothing.
 */
static bool is_cost_known(const struct prices *prices, const struct model_reply *reply)
{
    bool is_free = prices->input == 0 && prices->output == 0;
    bool has_usage = reply->usage.input > 0 || reply->usage.output > 0;
    if (reply->failure != MODEL_OK && !has_usage) {
        return true;
    }
    return prices->is_known && (is_free || has_usage);
}

int model_ask(struct model *model, const struct model_request *request,
              struct model_reply *ret_reply, struct rondo_error *err)
{
    struct model_reply reply = {0};
    int64_t start_ns = clock_monotonic(model->clock);
    int r = model->ops->ask(model, request, &reply, err);
    if (r < 0) {
        model_reply_fini(&reply);
        return r;
    }
    judge_reply(&reply);
    reply.duration_ns = clock_monotonic(model->clock) - start_ns;
    if (reply.first_token_ns != 0) {
        reply.first_token_ns = request->is_streaming ? reply.first_token_ns - start_ns : 0;
    }
    if (is_cost_known(&model->prices, &reply)) {
        reply.cost_micro = prices_cost(&model->prices, &reply.usage);
        reply.has_cost = true;
    }
    if (model->record_file != NULL) {
        r = record_append(model->agent_folders, model->record_file, request, &reply, err);
    }
    if (r < 0) {
        model_reply_fini(&reply);
        return r;
    }
    *ret_reply = reply;
    return 0;
}

static void finish_message(struct model_message *ret_message, enum model_message_kind kind,
                           struct buf *json)
{
    size_t len = json->len;
    buf_fit(json);
    *ret_message = (struct model_message){.kind = kind, .bytes = buf_steal(json), .len = len};
}

void model_write_user(const struct model *model, const char *text,
                      struct model_message *ret_message)
{
    struct buf json = {0};
    model->ops->write_user(text, &json);
    finish_message(ret_message, MODEL_USER, &json);
}

void model_write_assistant(const struct model *model, const struct model_reply *reply,
                           struct model_message *ret_message)
{
    struct buf json = {0};
    model->ops->write_assistant(reply, &json);
    finish_message(ret_message, MODEL_ASSISTANT, &json);
}

void model_write_answers(const struct model *model, const struct model_answer *answers,
                         size_t count, struct model_message *ret_message)
{
    struct buf json = {0};
    model->ops->write_answers(answers, count, &json);
    finish_message(ret_message, MODEL_TOOL_RESULTS, &json);
}
