// SPDX-License-Identifier: Apache-2.0
/* Embeddings over HTTP. A reply that does not have what was asked for is an error as a whole. */
#include "model/embed.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "model/dialect.h"

#include <json-c/json.h>
#include <string.h>

/** Bytes of a reply: MODEL_EMBED_TEXTS long vectors as text. */
#define REPLY_MAX_BYTES ((size_t)16 * 1024 * 1024)

const char *model_embed_default(const char *provider)
{
    static const struct {
        const char *provider;
        const char *model;
    } rows[] = {
        {"openai", "text-embedding-3-small"},
        {"google", "text-embedding-004"},
        {"ollama", "nomic-embed-text"},
        {"mistral", "mistral-embed"},
        {"cohere", "embed-v4.0"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].provider, provider) == 0) {
            return rows[i].model;
        }
    }
    return NULL;
}

static void write_body(const struct model *model, const char *const *texts, size_t count,
                       struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "model", model->name);
    json_begin_array(&writer, "input");
    for (size_t i = 0; i < count; i++) {
        json_write_string(&writer, NULL, texts[i]);
    }
    json_end_array(&writer);
    json_write_string(&writer, "encoding_format", "float");
    json_end_object(&writer);
}

/** The address for embeddings is beside that for conversations. */
static void write_url(const struct model *model, struct buf *ret_url)
{
    size_t len = strlen(model->url) - strlen(model->ops->wire->path);
    buf_append(ret_url, model->url, len);
    buf_append_string(ret_url, "/embeddings");
}

static int call(struct model *model, const struct buf *body, int64_t timeout_ns,
                struct cancel *cancel, struct http_response *ret_response, struct rondo_error *err)
{
    auto_buf struct buf url = {0};
    struct http_header headers[2] = {{"Content-Type", "application/json"}};
    size_t header_count = 1;
    const struct http_part part = {body->data, body->len};
    write_url(model, &url);
    if (model->authorization.bytes != NULL) {
        headers[header_count++] =
            (struct http_header){model->ops->wire->key_header, model->authorization.bytes};
    }
    const struct http_request request = {
        .method = "POST",
        .url = buf_string(&url),
        .headers = headers,
        .header_count = header_count,
        .parts = &part,
        .part_count = 1,
        .total_ns = timeout_ns,
        .max_body_bytes = REPLY_MAX_BYTES,
        .may_resend = true,
        .cancel = cancel,
    };
    return http_call(model->http, &request, ret_response, err);
}

/** Append one vector. @return its length, 0 when it is none */
static size_t read_vector(struct json_object *numbers, struct buf *ret_vector)
{
    size_t count = json_length(numbers);
    if (count > MODEL_EMBED_DIMENSIONS) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *number = dialect_at(numbers, i);
        float value = (float)json_object_get_double(number);
        bool is_number = json_object_is_type(number, json_type_double) ||
                         json_object_is_type(number, json_type_int);
        if (!is_number || !(value - value == 0)) {
            return 0;
        }
        buf_append(ret_vector, &value, sizeof(value));
    }
    return count;
}

/** Read the vectors, each into its place. @return whether the reply has all of them */
static bool read_vectors(struct json_object *reply, size_t count, struct buf *ret_vectors)
{
    struct json_object *data = json_member(reply, "data");
    size_t dimensions = 0;
    bool is_good = json_length(data) == count;
    for (size_t i = 0; i < count && is_good; i++) {
        struct json_object *item = dialect_at(data, i);
        int64_t index = json_get_int(item, "index", (int64_t)i);
        is_good = index >= 0 && (size_t)index < count && ret_vectors[index].len == 0;
        size_t len = is_good ? read_vector(json_member(item, "embedding"), &ret_vectors[index]) : 0;
        dimensions = i == 0 ? len : dimensions;
        is_good = is_good && len > 0 && len == dimensions;
    }
    return is_good;
}

/** Tokens that a reply may claim: more is nonsense. */
#define TOKENS_MAX INT64_C(1000000000)

/** A reply that reports no tokens costs nothing only where the model is free. */
static void read_usage(const struct model *model, struct json_object *reply,
                       struct model_embed_usage *ret_usage)
{
    struct json_object *usage = json_member(reply, "usage");
    const struct prices *prices = &model->prices;
    int64_t tokens = json_get_int(usage, "total_tokens", json_get_int(usage, "prompt_tokens", 0));
    tokens = tokens < 0 ? 0 : tokens > TOKENS_MAX ? TOKENS_MAX : tokens;
    ret_usage->tokens = tokens;
    ret_usage->has_cost = prices->is_known && (tokens > 0 || prices->input == 0);
    if (ret_usage->has_cost) {
        ret_usage->cost_micro = prices_cost(prices, &(struct model_usage){.input = tokens});
    }
}

static int read_reply(const struct model *model, const struct http_response *response, size_t count,
                      struct buf *ret_vectors, struct model_embed_usage *ret_usage,
                      struct rondo_error *err)
{
    auto_json struct json_object *reply = NULL;
    const struct buf *body = &response->body;
    if (response->failure != HTTP_OK) {
        return error_set(err, RONDO_ERR_IO, "%s", response->message);
    }
    if (response->status < 200 || response->status > 299) {
        return error_set(err, RONDO_ERR_IO, "HTTP status %ld", response->status);
    }
    bool is_json = body->len > 0 && json_parse(body->data, body->len, &reply, NULL) == 0;
    if (is_json) {
        read_usage(model, reply, ret_usage);
    }
    if (!is_json || !read_vectors(reply, count, ret_vectors)) {
        return error_set(err, RONDO_ERR_IO, "the reply does not have the vectors");
    }
    return 0;
}

int model_embed(struct model *model, const char *const *texts, size_t count, int64_t timeout_ns,
                struct cancel *cancel, struct buf *ret_vectors, struct model_embed_usage *ret_usage,
                struct rondo_error *err)
{
    *ret_usage = (struct model_embed_usage){0};
    if (model->ops != &openai_ops) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "provider `%s` has no embeddings",
                         model->provider_name);
    }
    auto_buf struct buf body = {0};
    struct http_response response = {0};
    write_body(model, texts, count, &body);
    int64_t begun_ns = clock_monotonic(model->clock);
    int r = call(model, &body, timeout_ns, cancel, &response, err);
    if (r == 0) {
        r = read_reply(model, &response, count, ret_vectors, ret_usage, err);
    }
    ret_usage->duration_ns = clock_monotonic(model->clock) - begun_ns;
    http_response_fini(&response);
    if (r < 0) {
        error_prefix(err, "embeddings of %s:%s", model->provider_name, model->name);
    }
    return r;
}
