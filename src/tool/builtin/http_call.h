// SPDX-License-Identifier: Apache-2.0
/*
 * What the tools over HTTP share: headers from a role, with variables replaced; a call under the
 * guard, the deadline and the cancel token of a tool call; how a failure is reported to the model.
 */
#pragma once

#include "net/client/http.h"
#include "tool/tool.h"

/** Headers of a role, later ones replace earlier ones of the same name. Owned. */
struct tool_headers {
    struct http_header *items;
    size_t count;
    char *missing; /**< a variable that the texts need and that is not set; NULL = none */
};

/** Forget the headers and zero their values, which may be secrets. */
void tool_headers_fini(struct tool_headers *headers);

/** Set a header. Texts are copied. */
void tool_headers_set(struct tool_headers *headers, const char *name, const char *value);

/** Whether a header of a name is there; names are compared without case. */
bool tool_headers_have(const struct tool_headers *headers, const char *name);

/** Set the headers of a map of a role (may be NULL), with variables replaced. */
void tool_headers_add_map(struct tool_headers *headers, const struct dotenv *dotenv,
                          struct json_object *map);

/**
 * Replace variables in a text.
 * @param ret_missing set to the first ${VARIABLE} that is not set, if it is NULL; free() it
 * @return owned; may hold a secret
 */
char *tool_expand(const struct dotenv *dotenv, const char *text, char **ret_missing);

/** Whether a request of the method may simply be repeated (RFC 9110, 9.2.2). */
bool tool_method_is_idempotent(const char *method);

/** What differs between the tools. Borrowed. */
struct tool_http_request {
    const char *method;
    const char *url;
    const struct tool_headers *headers;
    const char *body;      /**< NULL = none */
    size_t body_len;       /**< 0 = up to its NUL */
    int64_t timeout_s;     /**< cut to the deadline of the call */
    size_t max_body_bytes; /**< of the reply */
    unsigned max_redirects;
    const char *failure_text; /**< prefix of the reason: "HTTP error: " */
};

/**
 * Make the request of a call. A method that is not idempotent gets an `Idempotency-Key`, unless the
 * role sets one.
 * @param ret_response http_response_fini(), always
 * @return whether there is a reply, perhaps cut at max_body_bytes (`failure` is HTTP_TOO_LARGE
 *         then); otherwise the result says why not
 */
bool tool_http_call(const struct tool_surroundings *around, const struct tool_call *call,
                    const struct tool_http_request *request, struct http_response *ret_response,
                    struct tool_result *ret_result);

/** "${NAME} is not set" as a result. */
void tool_fail_missing(struct tool_result *result, const char *variable);
