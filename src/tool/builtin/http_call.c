// SPDX-License-Identifier: Apache-2.0
/* Calls of tools over HTTP. Everything a thread needs is on its stack; the headers are read only.
 */
#include "tool/builtin/http_call.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"
#include "model/key/environment.h"
#include "model/key/secret.h"
#include "net/client/guard.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_HEADER "Idempotency-Key"

/* --- headers --- */

static void free_header(const struct http_header *header)
{
    free((void *)(uintptr_t)header->name);
    secret_free_string((char *)(uintptr_t)header->value);
}

void tool_headers_fini(struct tool_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++) {
        free_header(&headers->items[i]);
    }
    free(headers->items);
    free(headers->missing);
    *headers = (struct tool_headers){0};
}

static struct http_header *find_header(const struct tool_headers *headers, const char *name)
{
    for (size_t i = 0; i < headers->count; i++) {
        if (strcasecmp(headers->items[i].name, name) == 0) {
            return &headers->items[i];
        }
    }
    return NULL;
}

bool tool_headers_have(const struct tool_headers *headers, const char *name)
{
    return find_header(headers, name) != NULL;
}

void tool_headers_set(struct tool_headers *headers, const char *name, const char *value)
{
    struct http_header *slot = find_header(headers, name);
    if (slot != NULL) {
        free_header(slot);
    } else {
        headers->items = memory_resize(headers->items, headers->count + 1, sizeof(*headers->items));
        slot = &headers->items[headers->count++];
    }
    *slot = (struct http_header){memory_dup_string(name), memory_dup_string(value)};
}

void tool_headers_add_map(struct tool_headers *headers, const struct dotenv *dotenv,
                          struct json_object *map)
{
    if (!json_object_is_type(map, json_type_object)) {
        return;
    }
    struct json_object_iterator end = json_object_iter_end(map);
    for (struct json_object_iterator at = json_object_iter_begin(map);
         !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *value = json_object_iter_peek_value(&at);
        char *text = tool_expand(dotenv, value == NULL ? "" : json_object_get_string(value),
                                 &headers->missing);
        tool_headers_set(headers, json_object_iter_peek_name(&at), text);
        secret_free_string(text);
    }
}

/* --- variables --- */

/** Length of the name in "${NAME}", whose "${" is at the beginning; 0 = it is none. */
static size_t braced_len(const char *text)
{
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    if (strncmp(text, "${", 2) != 0) {
        return 0;
    }
    size_t len = strspn(text + 2, word);
    return text[2 + len] == '}' ? len : 0;
}

/** The first "${NAME}" whose variable is not set; owned, or NULL. */
static char *find_missing(const struct dotenv *dotenv, const char *text)
{
    for (const char *at = strstr(text, "${"); at != NULL; at = strstr(at + 2, "${")) {
        size_t len = braced_len(at);
        auto_free char *name = memory_dup_bytes(at + 2, len);
        if (len > 0 && (dotenv == NULL || dotenv_get(dotenv, name) == NULL)) {
            return steal_pointer(&name);
        }
    }
    return NULL;
}

char *tool_expand(const struct dotenv *dotenv, const char *text, char **ret_missing)
{
    struct buf expanded = {0};
    if (*ret_missing == NULL) {
        *ret_missing = find_missing(dotenv, text);
    }
    if (dotenv == NULL) {
        return memory_dup_string(text);
    }
    dotenv_expand(dotenv, text, &expanded);
    return buf_steal(&expanded);
}

void tool_fail_missing(struct tool_result *result, const char *variable)
{
    tool_fail(result, "Error: the environment variable %s is not set", variable);
}

/* --- calls --- */

bool tool_method_is_idempotent(const char *method)
{
    static const char *const idempotent[] = {"GET",    "HEAD",  "OPTIONS", "PUT",
                                             "DELETE", "TRACE", NULL};
    for (size_t i = 0; idempotent[i] != NULL; i++) {
        if (strcmp(idempotent[i], method) == 0) {
            return true;
        }
    }
    return false;
}

static void write_failure(const struct tool_http_request *request,
                          const struct http_response *response, struct tool_result *result)
{
    if (response->failure == HTTP_BLOCKED) {
        tool_fail(result, "Error: SSRF blocked: %s", response->message);
    } else {
        tool_fail(result, "%s%s", request->failure_text, response->message);
    }
}

/** What is left of the call's time, at most the timeout; at least 1 ns. */
static int64_t time_left(const struct tool_surroundings *around, const struct tool_call *call,
                         int64_t timeout_s)
{
    int64_t left = call->deadline_ns - clock_monotonic(around->clock);
    int64_t most = timeout_s > 0 && timeout_s < INT64_MAX / NS_PER_S ? timeout_s * NS_PER_S : left;
    left = left < most ? left : most;
    return left > 0 ? left : 1;
}

/** The role's headers followed by the key of the call, where one is sent; free() it. */
static struct http_header *with_key(const struct tool_http_request *request,
                                    const struct tool_call *call, size_t *ret_count)
{
    const struct tool_headers *from = request->headers;
    struct http_header *headers = memory_new_zero(from->count + 1, sizeof(*headers));
    if (from->count > 0) {
        memcpy(headers, from->items, from->count * sizeof(*headers));
    }
    *ret_count = from->count;
    if (call->idempotency_key != NULL && !tool_method_is_idempotent(request->method) &&
        !tool_headers_have(from, KEY_HEADER)) {
        headers[(*ret_count)++] = (struct http_header){KEY_HEADER, call->idempotency_key};
    }
    return headers;
}

bool tool_http_call(const struct tool_surroundings *around, const struct tool_call *call,
                    const struct tool_http_request *request, struct http_response *ret_response,
                    struct tool_result *ret_result)
{
    static const struct net_guard public_only = {0};
    size_t body_len = request->body == NULL   ? 0
                      : request->body_len > 0 ? request->body_len
                                              : strlen(request->body);
    struct http_part part = {request->body, body_len};
    struct rondo_error err = {0};
    struct http_request made = {
        .method = request->method,
        .url = request->url,
        .parts = &part,
        .part_count = part.len > 0 ? 1 : 0,
        .total_ns = time_left(around, call, request->timeout_s),
        .max_body_bytes = request->max_body_bytes,
        .max_redirects = request->max_redirects,
        .guard = around->guard != NULL ? around->guard : &public_only,
        .cancel = call->cancel,
    };
    auto_free struct http_header *headers = with_key(request, call, &made.header_count);
    made.headers = headers;
    *ret_response = (struct http_response){0};
    if (around->http == NULL) {
        tool_fail(ret_result, "Error: this agent has no network");
        return false;
    }
    if (http_call(around->http, &made, ret_response, &err) < 0) {
        tool_fail(ret_result, "Error: %s", err.message);
        return false;
    }
    /* A body that is too large is cut; a head that is too large is no reply. */
    bool is_cut = ret_response->failure == HTTP_TOO_LARGE && ret_response->body.len > 0;
    if (ret_response->failure != HTTP_OK && !is_cut) {
        write_failure(request, ret_response, ret_result);
        return false;
    }
    return true;
}
