// SPDX-License-Identifier: Apache-2.0
/* From error replies to failures. Servers agree on little more than the status. */
#include "model/failure.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "model/dialect.h"

#include <json-c/json.h>
#include <string.h>
#include <strings.h>

/** Longest piece of a body that is shown. */
#define MAX_SHOWN 300

/** Words by which servers say that a conversation is too long, in lower case. */
static const char *const context_words[] = {
    "context_length_exceeded", "context length",          "context window",
    "prompt is too long",      "input is too long",       "input length and `max_tokens` exceed",
    "maximum prompt length",   "reduce the length",       "exceeds the maximum number of tokens",
    "too large for model",     "string_above_max_length", "request_too_large",
};

/** Words for an account that has no money left: waiting does not help. */
static const char *const quota_words[] = {
    "insufficient_quota",
    "insufficient balance",
    "credit balance is too low",
    "billing_hard_limit_reached",
};

static bool has_word(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasestr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

#define HAS_ONE_OF(text, words) has_word(text, words, sizeof(words) / sizeof((words)[0]))

/** @param words everything that the error says, for the cases that share a status */
static enum model_failure failure_of_status(long status, const char *words)
{
    bool is_request = status == 400 || status == 413 || status == 422;
    if (status == 413 || (is_request && HAS_ONE_OF(words, context_words))) {
        return MODEL_CONTEXT_FULL;
    }
    if (status == 401 || status == 402 || status == 403 ||
        ((status == 429 || status == 400) && HAS_ONE_OF(words, quota_words))) {
        return MODEL_REFUSED_KEY;
    }
    if (status == 429) {
        return MODEL_RATE_LIMITED;
    }
    if (status == 408 || status == 409 || status == 425 || status >= 500) {
        return MODEL_OVERLOADED;
    }
    return status >= 400 ? MODEL_BAD_REQUEST : MODEL_BAD_REPLY;
}

static const char *text_of(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value)
                                                        : json_object_to_json_string(value);
}

/** What an error says for itself: {"error":{"message":...}}, {"error":...}, {"message":...},
 * {"detail":...}; NULL = nothing. */
static const char *message_of(struct json_object *reply)
{
    struct json_object *error = json_member(reply, "error");
    struct json_object *places[] = {
        json_member(error, "message"),
        error,
        json_member(reply, "message"),
        json_member(reply, "detail"),
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (places[i] != NULL) {
            return text_of(places[i]);
        }
    }
    return NULL;
}

/** One line, blanks joined, cut at a whole character. */
static void write_line(const char *text, size_t len, struct buf *ret_line)
{
    bool is_blank = true;
    for (size_t i = 0; i < len && text[i] != '\0'; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_space = c <= ' ' || c == 0x7f;
        if (ret_line->len >= MAX_SHOWN && (is_space || c < 0x80 || c >= 0xc0)) {
            buf_append_string(ret_line, " ...");
            return;
        }
        if (!is_space || !is_blank) {
            buf_append(ret_line, is_space ? " " : &text[i], 1);
        }
        is_blank = is_space;
    }
}

static const char *meaning_of(enum model_failure failure)
{
    switch (failure) {
    case MODEL_RATE_LIMITED:
        return "the provider limits the rate of requests";
    case MODEL_OVERLOADED:
        return "the provider cannot answer now";
    case MODEL_REFUSED_KEY:
        return "the provider refuses the key or the account";
    case MODEL_CONTEXT_FULL:
        return "the conversation is too long for the model";
    case MODEL_OK:
    case MODEL_BAD_REQUEST:
    case MODEL_UNREACHABLE:
    case MODEL_TIMED_OUT:
    case MODEL_BAD_REPLY:
    case MODEL_SCRIPT_OVER:
    case MODEL_CANCELLED:
        break;
    }
    return "the provider refuses the request";
}

static void fail(struct model_reading *reading, enum model_failure failure, long status,
                 const struct buf *line)
{
    reading->is_final =
        reading->is_final || (failure != MODEL_RATE_LIMITED && failure != MODEL_OVERLOADED);
    reading_fail(reading, failure, status, "%s (HTTP %ld)%s%s", meaning_of(failure), status,
                 line->len > 0 ? ": " : "", buf_string(line));
}

void failure_read(struct model_reading *reading, long status, struct json_object *reply)
{
    auto_buf struct buf line = {0};
    const char *message = message_of(reply);
    const char *words = json_object_to_json_string(reply);
    if (message != NULL) {
        write_line(message, strlen(message), &line);
    }
    fail(reading, failure_of_status(status, words), status, &line);
}

static bool is_page(const char *body, size_t len)
{
    while (len > 0 && ascii_is_space(*body)) {
        body++;
        len--;
    }
    return len > 0 && *body == '<';
}

/** The title of a web page, or a text without one. */
static void write_page(const char *body, size_t len, struct buf *ret_line)
{
    auto_buf struct buf page = {0};
    buf_append(&page, body, len < 65536 ? len : 65536);
    const char *title = strcasestr(buf_string(&page), "<title");
    title = title == NULL ? NULL : strchr(title, '>');
    const char *end = title == NULL ? NULL : strcasestr(title, "</title");
    buf_append_string(ret_line, "a web page instead of JSON");
    if (end != NULL && end > title + 1) {
        auto_buf struct buf line = {0};
        write_line(title + 1, (size_t)(end - title - 1), &line);
        buf_printf(ret_line, " (\"%s\")", buf_string(&line));
    }
}

static void write_body(const char *body, size_t len, struct buf *ret_line)
{
    if (is_page(body, len)) {
        write_page(body, len, ret_line);
    } else {
        write_line(body, len, ret_line);
    }
}

void failure_read_body(struct model_reading *reading, long status, const char *body, size_t len)
{
    auto_json struct json_object *reply = NULL;
    auto_buf struct buf line = {0};
    if (status < 400) {
        reading->is_final = true;
        reading_fail(reading, MODEL_BAD_REPLY, status,
                     "the server answers with HTTP %ld; is the base_url right?", status);
    } else if (json_parse(body, len, &reply, NULL) == 0 && reply != NULL) {
        /* Google puts the object into a list. */
        failure_read(reading, status, json_length(reply) > 0 ? dialect_at(reply, 0) : reply);
    } else {
        write_body(body, len, &line);
        fail(reading, failure_of_status(status, buf_string(&line)), status, &line);
    }
}

void failure_not_json(struct model_reading *reading, const char *body, size_t len)
{
    auto_buf struct buf line = {0};
    write_body(body, len, &line);
    reading->is_final = is_page(body, len);
    reading_fail(reading, MODEL_BAD_REPLY, 0, "the reply is %s%s",
                 is_page(body, len) ? "" : (len == 0 ? "empty" : "not JSON: "), buf_string(&line));
}

void failure_of_call(struct model_reading *reading, const struct http_response *response)
{
    enum model_failure failure = MODEL_UNREACHABLE;
    switch (response->failure) {
    case HTTP_BAD_REQUEST:
        failure = MODEL_BAD_REQUEST;
        break;
    case HTTP_TIMED_OUT:
        failure = MODEL_TIMED_OUT;
        break;
    case HTTP_TOO_LARGE:
    case HTTP_REDIRECTS:
    case HTTP_STOPPED:
        failure = MODEL_BAD_REPLY;
        break;
    case HTTP_CANCELLED:
        failure = MODEL_CANCELLED;
        break;
    case HTTP_OK:
    case HTTP_NO_HOST:
    case HTTP_NO_CONNECTION:
    case HTTP_TLS:
    case HTTP_BROKEN:
    case HTTP_BLOCKED:
        break;
    }
    reading_fail(reading, failure, 0, "%s",
                 response->message[0] != '\0' ? response->message
                                              : http_failure_name(response->failure));
}
