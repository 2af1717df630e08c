// SPDX-License-Identifier: Apache-2.0
#include "forge/request.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "forge/limits.h"
#include "forge/pace.h"
#include "forge/shape.h"
#include "net/client/http.h"
#include "net/client/retry.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Time for one request. */
#define CALL_NS (60 * NS_PER_S)
/** A limit that ends within this is waited for; of a longer one the caller hears. */
#define SHORT_WAIT_NS (5 * NS_PER_S)
/** Short limits in a row that are waited for. */
#define SHORT_WAITS 4
/** Attempts at one read. */
#define READ_ATTEMPTS 4
/** Pages of one list: those of the longest list, with pages of 20 entries. */
#define MOST_PAGES 500
/** A longer refusal is not read for its reason. */
#define REFUSAL_BYTES ((size_t)(256 * LIMIT_KIB))
/** What is shown of a text of the forge. */
#define SHOWN_BYTES 160

void forge_reply_fini(struct forge_reply *reply)
{
    json_object_put(reply->json);
    free(reply->next);
    *reply = (struct forge_reply){0};
}

/* ---- Outcomes -------------------------------------------------------------------------------- */

enum forge_end forge_end_with(struct forge *forge, enum forge_end end, const char *format, ...)
{
    va_list arguments;
    forge->outcome.end = end;
    va_start(arguments, format);
    vsnprintf(forge->outcome.message, sizeof(forge->outcome.message), format, arguments);
    va_end(arguments);
    return end;
}

enum forge_end forge_bad_answer(struct forge *forge, bool is_write, const char *expected)
{
    return forge_end_with(forge, is_write ? FORGE_UNCERTAIN : FORGE_UNAVAILABLE,
                          "%s: the answer is not %s", forge->place.host, expected);
}

/** A text of the forge for people: one line, without our token. Appended. */
static void add_shown(const struct forge *forge, const char *text, struct buf *ret_text)
{
    auto_buf struct buf safe = {0};
    auto_buf struct buf line = {0};
    size_t len = strnlen(text, 4 * (size_t)SHOWN_BYTES);
    auto_free char *start = memory_dup_bytes(text, len);
    secret_redact(&forge->token, start, &safe);
    text_clean(buf_string(&safe), safe.len, &line);
    buf_printf(ret_text, "%.*s", SHOWN_BYTES, buf_string(&line));
}

/** The text in a refusal: `message` of GitHub and Gitea with the first error, `message` or `error`
 *  of GitLab, which may be a list. */
static void add_reason(const struct forge *forge, struct json_object *json, struct buf *ret_text)
{
    struct json_object *message = json_member(json, "message");
    struct json_object *errors = json_member(json, "errors");
    struct json_object *first =
        json_length(errors) > 0 ? json_object_array_get_idx(errors, 0) : NULL;
    const char *detail = json_get_string(first, "message", json_get_string(first, "code", ""));
    if (message == NULL) {
        message = json_member(json, "error");
    }
    if (message != NULL) {
        buf_append_string(ret_text, ": ");
        add_shown(forge, json_object_get_string(message), ret_text);
    }
    if (detail[0] != '\0') {
        buf_append_string(ret_text, ": ");
        add_shown(forge, detail, ret_text);
    }
}

/** Whether an address without a host, as Gitea has them, is one of the API: the path of the latter
 *  and a slash. Two slashes at its beginning would name a host. */
static bool is_below_api(const struct forge *forge, const char *location)
{
    const char *authority = strstr(forge->place.api, "://");
    const char *path = authority != NULL ? strchr(authority + 3, '/') : NULL;
    size_t len = path != NULL ? strlen(path) : 0;
    return location[0] == '/' && location[1] != '/' && location[1] != '\\' &&
           strncmp(location, path != NULL ? path : "", len) == 0 && location[len] == '/';
}

/** Whether a redirect leads to another place of the same API: what was asked for has moved. */
static bool has_moved(const struct forge *forge, const struct http_response *response,
                      char *ret_location, size_t size)
{
    return response->status != 303 &&
           http_response_header(response, "location", ret_location, size) &&
           (is_below_api(forge, ret_location) ||
            (link_has_origin(ret_location, forge->place.api) &&
             strncmp(ret_location, forge->place.api, strlen(forge->place.api)) == 0));
}

static enum forge_end end_of_redirect(struct forge *forge, const struct http_response *response)
{
    char location[1024] = "";
    auto_buf struct buf shown = {0};
    if (!has_moved(forge, response, location, sizeof(location))) {
        return forge_end_with(forge, FORGE_UNAVAILABLE,
                              "%s: redirects to another place (status %ld), which is not followed",
                              forge->place.host, response->status);
    }
    add_shown(forge, location, &shown);
    return forge_end_with(forge, FORGE_MOVED, "%s: it is now %s", forge->place.host,
                          buf_string(&shown));
}

/** How long a limit lasts yet. */
static int64_t limit_ns(const struct forge *forge)
{
    return pace_limit_ns(forge->pace, clock_monotonic(forge->clock));
}

/** Keep the limit of an answer. */
static void note_limit(struct forge *forge, const struct http_response *response, unsigned strikes)
{
    int64_t now_ns = forge_now(forge);
    int64_t wait_ns = limits_until(response, now_ns, strikes) - now_ns;
    pace_set_limit(forge->pace, clock_monotonic(forge->clock) + wait_ns);
}

static enum forge_end end_limited(struct forge *forge)
{
    forge->outcome.until_ns = forge_now(forge) + limit_ns(forge);
    return forge_end_with(forge, FORGE_LIMITED, "%s: a limit of requests is reached",
                          forge->place.host);
}

static enum forge_end end_of_limit(struct forge *forge, const struct http_response *response)
{
    note_limit(forge, response, pace_add_strike(forge->pace));
    end_limited(forge);
    return forge_end_with(forge, FORGE_LIMITED, "%s: a limit of requests is reached (status %ld)",
                          forge->place.host, response->status);
}

/** What a status means that is neither success nor a redirect, and no limit. */
static enum forge_end end_of_status(long status, bool is_write)
{
    switch (status) {
    case 401:
        return FORGE_AUTH;
    case 403:
    case 423: /* archived, in Gitea */
    case 451:
        return FORGE_FORBIDDEN;
    case 404:
        return FORGE_ABSENT;
    case 410:
        return FORGE_GONE;
    case 400:
    case 409:
    case 412:
    case 413:
    case 422:
        return FORGE_CONFLICT;
    default:
        return is_write && (status >= 500 || status == 408) ? FORGE_UNCERTAIN : FORGE_UNAVAILABLE;
    }
}

static enum forge_end end_of_refusal(struct forge *forge, const struct http_response *response,
                                     bool is_write)
{
    auto_json struct json_object *json = NULL;
    auto_buf struct buf text = {0};
    if (response->body.len > 0 && response->body.len <= REFUSAL_BYTES &&
        shape_parse(response->body.data, response->body.len, &json)) {
        add_reason(forge, json, &text);
    }
    if (limits_are_reached(response, buf_string(&text))) {
        return end_of_limit(forge, response);
    }
    enum forge_end end = end_of_status(response->status, is_write);
    return forge_end_with(forge, end, "%s: status %ld%s", forge->place.host, response->status,
                          buf_string(&text));
}

/** Whether a failure shows that nothing was sent. */
static bool is_unsent(enum http_failure failure)
{
    switch (failure) {
    case HTTP_BAD_REQUEST:
    case HTTP_NO_HOST:
    case HTTP_NO_CONNECTION:
    case HTTP_TLS:
    case HTTP_BLOCKED:
        return true;
    case HTTP_OK:
    case HTTP_BROKEN:
    case HTTP_TIMED_OUT:
    case HTTP_TOO_LARGE:
    case HTTP_REDIRECTS:
    case HTTP_STOPPED:
    case HTTP_CANCELLED:
        return false;
    }
    return false;
}

static enum forge_end end_of_failure(struct forge *forge, const struct http_response *response,
                                     bool is_write)
{
    auto_buf struct buf shown = {0};
    enum forge_end end = FORGE_UNAVAILABLE;
    if (is_write && !is_unsent(response->failure)) {
        end = FORGE_UNCERTAIN;
    } else if (response->failure == HTTP_CANCELLED) {
        end = FORGE_CANCELLED;
    }
    add_shown(forge, response->message, &shown);
    return forge_end_with(forge, end, "%s: %s", forge->place.host, buf_string(&shown));
}

/** @param is_known whether the request said what is known already */
static enum forge_end judge(struct forge *forge, const struct http_response *response,
                            bool is_write, bool is_known)
{
    forge->outcome.status = (int)response->status;
    if (response->failure != HTTP_OK) {
        return end_of_failure(forge, response, is_write);
    }
    if (response->status == 304 && is_known) {
        return forge_end_with(forge, FORGE_NOT_MODIFIED, "%s", "");
    }
    if (response->status >= 300 && response->status < 400) {
        return end_of_redirect(forge, response);
    }
    if (response->status >= 200 && response->status < 300) {
        return forge_end_with(forge, FORGE_OK, "%s", "");
    }
    return end_of_refusal(forge, response, is_write);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/** Wait. @return whether it was not cancelled */
static bool pass_time(struct forge *forge, int64_t duration_ns)
{
    if (duration_ns > 0 && !cancel_is_set(forge->cancel)) {
        clock_sleep(forge->clock, duration_ns, forge->cancel);
    }
    return !cancel_is_set(forge->cancel);
}

/** Wait for the end of a limit, if that is soon. Another forge may reach a further one meanwhile:
 *  that is waited for as well, so many times. */
static enum forge_end wait_limit(struct forge *forge)
{
    for (unsigned i = 0; i < SHORT_WAITS; i++) {
        int64_t wait_ns = limit_ns(forge);
        if (wait_ns > SHORT_WAIT_NS) {
            break;
        }
        if (!pass_time(forge, wait_ns)) {
            return forge_end_with(forge, FORGE_CANCELLED, "cancelled");
        }
        if (wait_ns == 0) {
            return FORGE_OK;
        }
    }
    return end_limited(forge);
}

/** Wait until a request may be sent. */
static enum forge_end wait_turn(struct forge *forge, bool is_write)
{
    enum forge_end end = wait_limit(forge);
    if (end != FORGE_OK || !is_write) {
        return end;
    }
    int64_t wait_ns =
        pace_take_turn(forge->pace, clock_monotonic(forge->clock), forge->write_gap_ns);
    if (!pass_time(forge, wait_ns)) {
        return forge_end_with(forge, FORGE_CANCELLED, "cancelled");
    }
    return wait_limit(forge);
}

/** What every answer says beside its content. */
static void note_headers(struct forge *forge, const struct http_response *response)
{
    char text[64];
    int64_t date_ns = 0;
    /* An answer from a cache has the time at which it was stored. */
    if (http_response_header(response, "date", text, sizeof(text)) &&
        retry_read_date(text, &date_ns) &&
        !http_response_header(response, "age", text, sizeof(text))) {
        forge->ahead_ns = date_ns - clock_now(forge->clock);
    }
    if (response->status >= 200 && response->status < 400) {
        pace_clear_strikes(forge->pace);
        if (limits_are_used_up(response)) {
            note_limit(forge, response, 0);
        }
    }
}

static void note_reply(struct forge *forge, const struct http_response *response, bool is_write)
{
    if (is_write) {
        pace_end_turn(forge->pace, clock_monotonic(forge->clock), forge->write_gap_ns);
    }
    if (response->failure == HTTP_OK) {
        note_headers(forge, response);
    }
}

/* ---- One request ----------------------------------------------------------------------------- */

static bool is_write(const struct forge_request *request)
{
    return request->method != NULL && strcmp(request->method, "GET") != 0;
}

/** Make the call. @return false when this process could not */
static bool call(struct forge *forge, const struct forge_request *request,
                 struct http_response *ret_response)
{
    struct rondo_error err = {0};
    struct http_header headers[5];
    size_t count = 0;
    auto_buf struct buf url = {0};
    const struct http_part part = {request->body != NULL ? buf_string(request->body) : NULL,
                                   request->body != NULL ? request->body->len : 0};
    buf_printf(&url, "%s%s", request->url != NULL ? "" : forge->place.api,
               request->url != NULL ? request->url : request->path);
    headers[count++] = (struct http_header){"Accept", forge->ops->accept};
    if (forge->authorization.len > 0) {
        headers[count++] = (struct http_header){"Authorization", forge->authorization.bytes};
    }
    if (request->body != NULL) {
        headers[count++] = (struct http_header){"Content-Type", "application/json"};
    }
    if (request->etag != NULL && request->etag[0] != '\0') {
        headers[count++] = (struct http_header){"If-None-Match", request->etag};
    }
    const struct http_request sent = {
        .method = request->method != NULL ? request->method : "GET",
        .url = buf_string(&url),
        .headers = headers,
        .header_count = count,
        .parts = &part,
        .part_count = request->body != NULL ? 1 : 0,
        .total_ns = CALL_NS,
        .max_body_bytes = (size_t)LIMIT_FORGE_ANSWER_BYTES,
        .cancel = forge->cancel,
    };
    if (http_call(forge->http, &sent, ret_response, &err) < 0) {
        forge_end_with(forge, FORGE_UNAVAILABLE, "%.200s", err.message);
        return false;
    }
    return true;
}

/** The next page, in any Link header, however long: one that is not read would end the list, and
 *  proxies add theirs. Owned; NULL = there is none */
static char *find_next(const struct http_response *response)
{
    char *next = NULL;
    for (const char *line = buf_string(&response->headers); *line != '\0' && next == NULL;) {
        size_t len = strcspn(line, "\r\n");
        if (strncasecmp(line, "link:", 5) == 0) {
            auto_free char *value = memory_dup_bytes(line + 5, len - 5);
            next = link_next(value);
        }
        line += len;
        line += strspn(line, "\r\n");
    }
    return next;
}

/** The address of the next page. @return whether it is one that may be followed, or none */
static bool take_next(struct forge *forge, const struct http_response *response,
                      struct forge_reply *reply)
{
    auto_free char *next = find_next(response);
    if (next != NULL && !link_has_origin(next, forge->place.api)) {
        forge_end_with(forge, FORGE_UNAVAILABLE,
                       "%s: the next page is at another address than %.120s, and is not read",
                       forge->place.host, forge->place.api);
        return false;
    }
    reply->next = steal_pointer(&next);
    return true;
}

static enum forge_end take_reply(struct forge *forge, const struct forge_request *request,
                                 const struct http_response *response,
                                 struct forge_reply *ret_reply)
{
    struct forge_reply reply = {0};
    if (!http_response_header(response, "etag", reply.etag, sizeof(reply.etag))) {
        reply.etag[0] = '\0';
    }
    if (response->body.len > 0 &&
        !shape_parse(response->body.data, response->body.len, &reply.json)) {
        forge_bad_answer(forge, is_write(request), "JSON");
    } else if (take_next(forge, response, &reply)) {
        *ret_reply = reply;
        return FORGE_OK;
    }
    forge_reply_fini(&reply);
    return forge->outcome.end;
}

/** Whether a read may be tried again, after a wait. */
static bool may_repeat(struct forge *forge, const struct http_response *response, unsigned attempt)
{
    static const struct retry_policy policy = {READ_ATTEMPTS, NS_PER_S, SHORT_WAIT_NS,
                                               SHORT_WAIT_NS};
    if (forge->outcome.end == FORGE_LIMITED) {
        return attempt < READ_ATTEMPTS && limit_ns(forge) <= SHORT_WAIT_NS;
    }
    if (forge->outcome.end != FORGE_UNAVAILABLE) {
        return false;
    }
    int64_t delay_ns = retry_delay_ns(&policy, attempt, response, forge_now(forge), forge->random);
    return delay_ns >= 0 && pass_time(forge, delay_ns);
}

enum forge_end forge_send(struct forge *forge, const struct forge_request *request,
                          struct forge_reply *ret_reply)
{
    bool writes = is_write(request);
    bool is_over = false;
    forge->outcome = (struct forge_outcome){0};
    if (writes && forge->authorization.len == 0) {
        return forge_end_with(forge, FORGE_AUTH, "%s: there is no token, so nothing can be written",
                              forge->place.host);
    }
    for (unsigned attempt = 1; !is_over; attempt++) {
        struct http_response response = {0};
        if (wait_turn(forge, writes) != FORGE_OK) {
            return forge->outcome.end;
        }
        is_over = true;
        if (call(forge, request, &response)) {
            note_reply(forge, &response, writes);
            enum forge_end end = judge(forge, &response, writes, request->etag != NULL);
            if (end == FORGE_OK && ret_reply != NULL) {
                take_reply(forge, request, &response, ret_reply);
            } else if (end != FORGE_OK) {
                is_over = writes || !may_repeat(forge, &response, attempt);
            }
        }
        http_response_fini(&response);
    }
    return forge->outcome.end;
}

enum forge_end forge_get(struct forge *forge, const char *path, struct forge_reply *ret_reply)
{
    return forge_send(forge, &(struct forge_request){.path = path}, ret_reply);
}

enum forge_end forge_write(struct forge *forge, const char *method, const char *path,
                           const struct buf *body, struct forge_reply *ret_reply)
{
    const struct forge_request request = {.method = method, .path = path, .body = body};
    return forge_send(forge, &request, ret_reply);
}

/* ---- Pages ----------------------------------------------------------------------------------- */

enum forge_end forge_read_list(struct forge *forge, struct forge_list *list)
{
    auto_free char *url = NULL;
    for (unsigned page = 0; page < MOST_PAGES; page++) {
        auto_reply struct forge_reply reply = {0};
        const struct forge_request request = {
            .path = list->path, .url = url, .etag = page == 0 ? list->etag : NULL};
        enum forge_end end = forge_send(forge, &request, &reply);
        if (end != FORGE_OK) {
            return end;
        }
        struct json_object *entries =
            list->member != NULL ? json_member(reply.json, list->member) : reply.json;
        if (!json_object_is_type(entries, json_type_array)) {
            return forge_bad_answer(forge, false, "a list");
        }
        if (page == 0) {
            memcpy(list->first_etag, reply.etag, FORGE_ETAG_SIZE);
            list->has_more = reply.next != NULL;
        }
        if (!list->take_page(list->context, entries) || reply.next == NULL) {
            return forge->outcome.end;
        }
        free(url);
        url = steal_pointer(&reply.next);
    }
    return forge_end_with(forge, FORGE_UNAVAILABLE, "%s: the list has no end", forge->place.host);
}
