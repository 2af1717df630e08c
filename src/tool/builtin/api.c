// SPDX-License-Identifier: Apache-2.0
/*
 * The tool type `api`: one function for each endpoint that a role describes. The model gives
 * parameters only; method, path, headers and the form of the body are the role's.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/api_extract.h"
#include "tool/builtin/api_template.h"
#include "tool/builtin/http_call.h"
#include "tool/builtin/url.h"
#include "tool/canonical.h"
#include "tool/toolbox.h"
#include "tool/types.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* Of a reply that goes to the model as it is. */
#define TEXT_MAX_BYTES ((size_t)100 * 1024)
/* Of a reply out of which a part is taken. */
#define JSON_MAX_BYTES ((size_t)8 * 1024 * 1024)
/* Of what a server says when it refuses, characters. */
#define REFUSAL_MAX_CHARACTERS 500
#define TIMEOUT_S              30
#define MAX_REDIRECTS          5

struct endpoint {
    const struct tool_surroundings *around;
    struct json_object *config; /* of the endpoint; borrowed */
    const char *method;         /* borrowed */
    char *base_url;             /* without a slash at its end */
    struct tool_headers headers;
    const char *extract_text; /* borrowed; NULL = the whole reply */
    struct extract *extract;
};

static void free_endpoint(void *owned)
{
    struct endpoint *self = owned;
    tool_headers_fini(&self->headers);
    extract_free(self->extract);
    free(self->base_url);
    free(self);
}

/* --- running --- */

static bool make_url(const struct endpoint *self, const struct template_values *values,
                     struct buf *ret_url, struct tool_result *result)
{
    auto_buf struct buf path = {0};
    if (!template_path(values, json_get_string(self->config, "path", ""), &path)) {
        tool_fail(result, "Error: path '%s' leaves the base URL", buf_string(&path));
        return false;
    }
    const char *text = buf_string(&path);
    buf_printf(ret_url, "%s%s", self->base_url, text[0] == '/' || text[0] == '\0' ? "" : "/");
    /* What the role wrote may hold characters that have no place in a URL; "%" is escaped once. */
    tool_url_escape(text, TOOL_URL_RESERVED, ret_url);
    template_query(values, json_member(self->config, "query_params"),
                   strchr(buf_string(ret_url), '?') != NULL, ret_url);
    return true;
}

/** Bytes that the first so many characters take. */
static size_t characters_len(const char *text, size_t len, size_t count)
{
    size_t at = 0;
    while (at < len && (count > 0 || ((unsigned char)text[at] & 0xC0) == 0x80)) {
        count -= ((unsigned char)text[at] & 0xC0) != 0x80 ? 1 : 0;
        at++;
    }
    return at;
}

static void say_refusal(const struct http_response *response, struct tool_result *result)
{
    const char *body = buf_string(&response->body);
    tool_fail(result, "HTTP %ld: ", response->status);
    buf_append(&result->text, body,
               characters_len(body, response->body.len, REFUSAL_MAX_CHARACTERS));
}

static void say_part(const struct endpoint *self, const struct http_response *response,
                     struct tool_result *result)
{
    auto_json struct json_object *whole = NULL;
    if (response->failure == HTTP_TOO_LARGE) {
        tool_fail(result, "Error: the response is larger than %zu bytes", JSON_MAX_BYTES);
        return;
    }
    if (json_parse(buf_string(&response->body), response->body.len, &whole, NULL) < 0) {
        tool_fail(result, "Error: the response is not JSON");
        return;
    }
    auto_json struct json_object *part = extract_apply(self->extract, whole);
    if (part == NULL) {
        tool_fail(result, "JSONPath '%s' not found in response", self->extract_text);
    } else if (json_object_is_type(part, json_type_string)) {
        buf_append_string(&result->text, json_object_get_string(part));
    } else {
        buf_append_string(&result->text,
                          json_object_to_json_string_ext(part, JSON_C_TO_STRING_PLAIN |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    tool_result_truncate(result, TEXT_MAX_BYTES);
}

static void say_reply(const struct endpoint *self, const struct http_response *response,
                      struct tool_result *result)
{
    if (response->status < 200 || response->status > 299) {
        say_refusal(response, result);
    } else if (self->extract_text != NULL) {
        say_part(self, response, result);
    } else {
        buf_append(&result->text, buf_string(&response->body), response->body.len);
        tool_result_truncate(result, TEXT_MAX_BYTES);
    }
}

static int64_t timeout_of(const struct endpoint *self)
{
    return json_get_int(self->config, "timeout",
                        json_get_int(self->config, "timeout_seconds", TIMEOUT_S));
}

static void run_endpoint(const struct tool *tool, const struct tool_call *call,
                         struct tool_result *ret_result)
{
    const struct endpoint *self = tool->context;
    const struct template_values values = {json_member(self->config, "parameters"),
                                           call->arguments};
    struct json_object *template = json_member(self->config, "body_template");
    auto_buf struct buf url = {0};
    auto_buf struct buf body = {0};
    struct http_response response;
    if (self->headers.missing != NULL) {
        tool_fail_missing(ret_result, self->headers.missing);
        return;
    }
    if (!make_url(self, &values, &url, ret_result)) {
        return;
    }
    if (template != NULL) {
        template_body(&values, template, &body);
    }
    const struct tool_http_request request = {
        .method = self->method,
        .url = buf_string(&url),
        .headers = &self->headers,
        .body = template == NULL ? NULL : buf_string(&body),
        .timeout_s = timeout_of(self),
        .max_body_bytes = self->extract_text != NULL ? JSON_MAX_BYTES : TEXT_MAX_BYTES + 1,
        .max_redirects = strcmp(self->method, "GET") == 0 ? MAX_REDIRECTS : 0,
        .failure_text = "HTTP error: ",
    };
    if (tool_http_call(self->around, call, &request, &response, ret_result)) {
        say_reply(self, &response, ret_result);
    }
    http_response_fini(&response);
}

/* --- opening --- */

static void write_parameter(struct json_writer *writer, struct json_object *parameter)
{
    const char *description = json_get_string(parameter, "description", "");
    struct json_object *by_default = json_member(parameter, "default");
    json_begin_object(writer, json_get_string(parameter, "name", ""));
    json_write_string(writer, "type", json_get_string(parameter, "type", "string"));
    if (description[0] != '\0') {
        json_write_string(writer, "description", description);
    }
    if (by_default != NULL) {
        json_write_raw(writer, "default",
                       json_object_to_json_string_ext(by_default, JSON_C_TO_STRING_PLAIN));
    }
    json_end_object(writer);
}

static char *describe(const struct endpoint *self)
{
    const char *given = json_get_string(self->config, "description", "");
    struct buf text = {0};
    if (given[0] != '\0') {
        buf_append_string(&text, given);
    } else {
        buf_printf(&text, "%s %s", self->method, json_get_string(self->config, "path", ""));
    }
    return buf_steal(&text);
}

static void set_headers(struct endpoint *self, struct json_object *api)
{
    const struct dotenv *dotenv = self->around->dotenv;
    tool_headers_add_map(&self->headers, dotenv, json_member(api, "headers"));
    tool_headers_add_map(&self->headers, dotenv, json_member(api, "auth"));
    tool_headers_add_map(&self->headers, dotenv, json_member(self->config, "headers"));
    if (json_member(self->config, "body_template") != NULL &&
        !tool_headers_have(&self->headers, "Content-Type")) {
        tool_headers_set(&self->headers, "Content-Type", "application/json");
    }
}

static void set_base_url(struct endpoint *self, struct json_object *api)
{
    self->base_url = tool_expand(self->around->dotenv, json_get_string(api, "base_url", ""),
                                 &self->headers.missing);
    size_t len = strlen(self->base_url);
    while (len > 0 && self->base_url[len - 1] == '/') {
        self->base_url[--len] = '\0';
    }
}

static int set_extract(struct endpoint *self, struct rondo_error *err)
{
    self->extract_text = json_get_string(self->config, "response_extract", NULL);
    if (self->extract_text == NULL || self->extract_text[0] == '\0') {
        self->extract_text = NULL;
        return 0;
    }
    int r = extract_parse(self->extract_text, &self->extract, err);
    if (r < 0) {
        error_prefix(err, "while reading response_extract \"%s\" of the endpoint \"%s\"",
                     self->extract_text, json_get_string(self->config, "name", ""));
    }
    return r;
}

static int open_endpoint(struct toolbox *toolbox, struct json_object *api,
                         struct json_object *config, struct rondo_error *err)
{
    struct endpoint *self = memory_new_zero(1, sizeof(*self));
    toolbox_own(toolbox, self, free_endpoint);
    self->around = toolbox_surroundings(toolbox);
    self->config = config;
    self->method = json_get_string(config, "method", "GET");
    set_base_url(self, api);
    set_headers(self, api);
    int r = set_extract(self, err);
    if (r < 0) {
        return r;
    }
    struct buf schema = {0};
    toolbox_write_schema(json_member(config, "parameters"), write_parameter, &schema);
    const struct tool tool = {
        .name = memory_dup_string(json_get_string(config, "name", "")),
        .description = describe(self),
        .schema = buf_steal(&schema),
        .type = api_tool_type.name,
        .is_idempotent = tool_method_is_idempotent(self->method),
        .is_read_only = strcmp(self->method, "GET") == 0,
        .is_concurrent = true,
        .arguments = canonical_none,
        .run = run_endpoint,
        .context = self,
    };
    return toolbox_add(toolbox, &tool, err);
}

static int open_api(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct json_object *endpoints = json_member(config, "endpoints");
    int r = 0;
    for (size_t i = 0; i < json_length(endpoints) && r == 0; i++) {
        r = open_endpoint(toolbox, config, json_object_array_get_idx(endpoints, i), err);
    }
    return r;
}

const struct tool_type api_tool_type = {.name = "api", .open = open_api};
