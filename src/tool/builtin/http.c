// SPDX-License-Identifier: Apache-2.0
/*
 * The tool type `http`: one function that calls one server. The model chooses the method (out of
 * those that the role allows) and what follows the role's base URL; it cannot leave it.
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/http_call.h"
#include "tool/builtin/url.h"
#include "tool/canonical.h"
#include "tool/toolbox.h"
#include "tool/types.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of a reply, for the model. */
#define BODY_MAX_BYTES ((size_t)100 * 1024)
#define TIMEOUT_S      30
#define METHOD_SIZE    33

struct http_tool {
    const struct tool_surroundings *around;
    char *base_url;                      /* without a slash at its end */
    struct json_object *allowed_methods; /* borrowed; NULL = only GET */
    struct tool_headers headers;
};

static void free_http_tool(void *owned)
{
    struct http_tool *self = owned;
    tool_headers_fini(&self->headers);
    free(self->base_url);
    free(self);
}

static size_t method_count(const struct http_tool *self)
{
    return self->allowed_methods == NULL ? 1 : json_object_array_length(self->allowed_methods);
}

static const char *method_at(const struct http_tool *self, size_t index)
{
    return self->allowed_methods == NULL
               ? "GET"
               : json_object_get_string(json_object_array_get_idx(self->allowed_methods, index));
}

static bool is_allowed(const struct http_tool *self, const char *method)
{
    for (size_t i = 0; i < method_count(self); i++) {
        if (strcasecmp(method_at(self, i), method) == 0) {
            return true;
        }
    }
    return false;
}

/** Upper case; a word that is too long is cut and then not allowed. */
static void read_method(const char *text, char *ret_method)
{
    size_t i = 0;
    for (; i < METHOD_SIZE - 1 && text[i] != '\0'; i++) {
        ret_method[i] = ascii_upper(text[i]);
    }
    ret_method[i] = '\0';
}

/** @return false with a result that says what is wrong */
static bool make_url(const struct http_tool *self, const char *path, struct buf *ret_url,
                     struct tool_result *result)
{
    if (tool_url_climbs(path)) {
        tool_fail(result, "Error: path '%s' leaves the base URL", path);
        return false;
    }
    buf_printf(ret_url, "%s/", self->base_url);
    tool_url_escape(path + (path[0] == '/' ? 1 : 0), TOOL_URL_RESERVED, ret_url);
    return true;
}

static void say_reply(const struct http_response *response, struct tool_result *result)
{
    buf_printf(&result->text, "HTTP %ld\n", response->status);
    size_t most = result->text.len + BODY_MAX_BYTES;
    buf_append(&result->text, buf_string(&response->body), response->body.len);
    tool_result_truncate(result, most);
}

static void run_http_request(const struct tool *tool, const struct tool_call *call,
                             struct tool_result *ret_result)
{
    const struct http_tool *self = tool->context;
    char method[METHOD_SIZE];
    auto_buf struct buf url = {0};
    struct http_response response;
    read_method(json_get_string(call->arguments, "method", ""), method);
    if (!is_allowed(self, method)) {
        tool_fail(ret_result, "Error: HTTP method %s is not allowed", method);
        return;
    }
    if (self->headers.missing != NULL) {
        tool_fail_missing(ret_result, self->headers.missing);
        return;
    }
    if (!make_url(self, json_get_string(call->arguments, "path", ""), &url, ret_result)) {
        return;
    }
    const struct tool_http_request request = {
        .method = method,
        .url = buf_string(&url),
        .headers = &self->headers,
        .body = json_get_string(call->arguments, "body", NULL),
        .timeout_s = TIMEOUT_S,
        .max_body_bytes = BODY_MAX_BYTES + 1,
        .failure_text = "HTTP error: ",
    };
    if (tool_http_call(self->around, call, &request, &response, ret_result)) {
        say_reply(&response, ret_result);
    }
    http_response_fini(&response);
}

/* --- opening --- */

static char *describe(const struct http_tool *self)
{
    struct buf text = {0};
    buf_printf(&text, "Make an HTTP request to %s. Allowed methods:", self->base_url);
    for (size_t i = 0; i < method_count(self); i++) {
        buf_printf(&text, "%s %s", i == 0 ? "" : ",", method_at(self, i));
    }
    buf_append_string(&text, ".");
    return buf_steal(&text);
}

static bool allows_only(const struct http_tool *self, bool (*fits)(const char *method))
{
    for (size_t i = 0; i < method_count(self); i++) {
        char method[METHOD_SIZE];
        read_method(method_at(self, i), method);
        if (!fits(method)) {
            return false;
        }
    }
    return true;
}

static bool is_read_method(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

static const struct tool_argument arguments[] = {
    {"method", ARGUMENT_METHOD}, {"path", ARGUMENT_URL_PATH}, {0}};

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"method\":{\"type\":\"string\",\"description\":\"HTTP method\"},"
    "\"path\":{\"type\":\"string\",\"description\":\"Path appended to the base URL, with the "
    "query\"},"
    "\"body\":{\"type\":\"string\",\"default\":\"\",\"description\":\"Body of the request\"}},"
    "\"required\":[\"method\",\"path\"],\"additionalProperties\":false}";

static int open_http(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct http_tool *self = memory_new_zero(1, sizeof(*self));
    struct json_object *map = NULL;
    toolbox_own(toolbox, self, free_http_tool);
    self->around = toolbox_surroundings(toolbox);
    self->base_url = tool_expand(self->around->dotenv, json_get_string(config, "base_url", ""),
                                 &self->headers.missing);
    size_t len = strlen(self->base_url);
    while (len > 0 && self->base_url[len - 1] == '/') {
        self->base_url[--len] = '\0';
    }
    json_object_object_get_ex(config, "allowed_methods", &self->allowed_methods);
    json_object_object_get_ex(config, "headers", &map);
    tool_headers_add_map(&self->headers, self->around->dotenv, map);
    const struct tool tool = {
        .name = memory_dup_string("http_request"),
        .description = describe(self),
        .schema = memory_dup_string(schema),
        .type = http_tool_type.name,
        .is_idempotent = allows_only(self, tool_method_is_idempotent),
        .is_read_only = allows_only(self, is_read_method),
        .is_concurrent = true,
        .arguments = arguments,
        .run = run_http_request,
        .context = self,
    };
    return toolbox_add(toolbox, &tool, err);
}

const struct tool_type http_tool_type = {.name = "http", .open = open_http};
