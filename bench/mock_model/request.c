// SPDX-License-Identifier: Apache-2.0
/* Requests to the mock model server: HTTP/1.1 messages, and which turn a body requests. */
#include "internal.h"

#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MARK "_mock_"

bool mock_text_is(struct mock_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.bytes, word, text.len) == 0;
}

static bool is_name(const char *line, size_t len, const char *name, struct mock_text *ret_value)
{
    size_t name_len = strlen(name);
    if (len <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0) {
        return false;
    }
    const char *at = line + name_len + 1;
    const char *end = line + len;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    *ret_value = (struct mock_text){at, (size_t)(end - at)};
    return true;
}

static bool has_word(struct mock_text text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++) {
        if (strncasecmp(text.bytes + i, word, len) == 0) {
            return true;
        }
    }
    return false;
}

/** Take in a header line. @param length the body's; -1 = chunked, -2 = wrong */
static void read_header(const char *line, size_t len, struct mock_request *request, int64_t *length)
{
    struct mock_text value;
    if (is_name(line, len, "content-length", &value)) {
        char *end = NULL;
        unsigned long long bytes = strtoull(value.bytes, &end, 10);
        bool is_right = end == value.bytes + value.len && bytes <= MOCK_MAX_BODY;
        *length = is_right ? (int64_t)bytes : -2;
    } else if (is_name(line, len, "transfer-encoding", &value)) {
        *length = has_word(value, "chunked") ? -1 : -2;
    } else if (is_name(line, len, "expect", &value)) {
        request->expects_continue = has_word(value, "100-continue");
    } else if (is_name(line, len, "connection", &value)) {
        request->is_kept_alive = request->is_kept_alive && !has_word(value, "close");
    } else {
        bool is_known = is_name(line, len, "authorization", &request->authorization) ||
                        is_name(line, len, "x-api-key", &request->api_key) ||
                        is_name(line, len, "anthropic-version", &request->version) ||
                        is_name(line, len, "idempotency-key", &request->idempotency_key);
        (void)is_known;
    }
}

static bool read_first_line(const char *line, size_t len, struct mock_request *request)
{
    const char *space = memchr(line, ' ', len);
    const char *second =
        space == NULL ? NULL : memchr(space + 1, ' ', len - (size_t)(space + 1 - line));
    if (second == NULL || (size_t)(line + len - second) < 9 || second[1] != 'H') {
        return false;
    }
    request->method = (struct mock_text){line, (size_t)(space - line)};
    request->path = (struct mock_text){space + 1, (size_t)(second - space - 1)};
    request->is_kept_alive = memcmp(second, " HTTP/1.1", 9) == 0;
    const char *query = memchr(request->path.bytes, '?', request->path.len);
    if (query != NULL) {
        request->path.len = (size_t)(query - request->path.bytes);
    }
    return true;
}

/** Put a chunked body together in place. */
static enum mock_reading read_chunks(char *bytes, size_t len, struct mock_request *request)
{
    size_t at = 0;
    for (request->body_len = 0;;) {
        const char *end = memmem(bytes + at, len - at, "\r\n", 2);
        if (end == NULL) {
            return MOCK_READ_MORE;
        }
        char *digits_end = NULL;
        unsigned long long size = strtoull(bytes + at, &digits_end, 16);
        if (digits_end == bytes + at || size > MOCK_MAX_BODY) {
            return MOCK_READ_BAD;
        }
        at = (size_t)(end - bytes) + 2;
        if (len - at < size + 2) {
            return MOCK_READ_MORE;
        }
        if (size == 0) {
            request->total += at + 2;
            return MOCK_READ_WHOLE;
        }
        memmove(bytes + request->body_len, bytes + at, size);
        request->body_len += size;
        at += size + 2;
    }
}

/** Whether the last chunk seems to be there, so that putting together is worth while. */
static bool is_end_there(const char *bytes, size_t len)
{
    return len >= 5 && memcmp(bytes + len - 5, "0\r\n\r\n", 5) == 0;
}

static enum mock_reading read_body(char *bytes, size_t len, int64_t length,
                                   struct mock_request *request)
{
    request->body = bytes;
    if (length == -2) {
        return MOCK_READ_BAD;
    }
    if (length == -1) {
        if (is_end_there(bytes, len)) {
            return read_chunks(bytes, len, request);
        }
        return request->expects_continue && len == 0 ? MOCK_READ_CONTINUE : MOCK_READ_MORE;
    }
    if (len < (size_t)length) {
        return request->expects_continue && len == 0 ? MOCK_READ_CONTINUE : MOCK_READ_MORE;
    }
    request->body_len = (size_t)length;
    request->total += (size_t)length;
    return MOCK_READ_WHOLE;
}

enum mock_reading mock_request_read(char *bytes, size_t len, struct mock_request *ret_request)
{
    *ret_request = (struct mock_request){0};
    char *end = memmem(bytes, len, "\r\n\r\n", 4);
    if (end == NULL) {
        return len > MOCK_MAX_HEAD ? MOCK_READ_BAD : MOCK_READ_MORE;
    }
    char *line_end = memmem(bytes, len, "\r\n", 2);
    if (!read_first_line(bytes, (size_t)(line_end - bytes), ret_request)) {
        return MOCK_READ_BAD;
    }
    int64_t length = 0;
    ret_request->head = (struct mock_text){bytes, (size_t)(end - bytes) + 2};
    for (char *line = line_end + 2; line < end; line = line_end + 2) {
        line_end = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
        read_header(line, (size_t)(line_end - line), ret_request, &length);
    }
    ret_request->total = (size_t)(end - bytes) + 4;
    return read_body(end + 4, len - ret_request->total, length, ret_request);
}

/** Turn of the last mark in some text; 0 = none. */
static uint64_t last_mark(const char *text, size_t len)
{
    size_t mark_len = strlen(MARK);
    for (const char *at = len == 0 ? NULL : memrchr(text, '_', len); at != NULL;
         at = memrchr(text, '_', (size_t)(at - text))) {
        size_t left = (size_t)(text + len - at);
        if (left > mark_len && memcmp(at, MARK, mark_len) == 0) {
            uint64_t turn = strtoull(at + mark_len, NULL, 10);
            if (turn > 0 && turn < MOCK_MAX_TURNS) {
                return turn;
            }
        }
    }
    return 0;
}

static uint64_t count_of(const char *body, size_t len, const char *words)
{
    uint64_t count = 0;
    const char *end = body + len;
    for (const char *at = body; (at = memmem(at, (size_t)(end - at), words, strlen(words))) != NULL;
         at++) {
        count++;
    }
    return count;
}

static bool has(const char *body, size_t len, const char *words)
{
    return memmem(body, len, words, strlen(words)) != NULL;
}

void mock_question_scan(const char *body, size_t len, struct mock_question *ret_question)
{
    ret_question->turn = last_mark(body, len) + 1;
    if (ret_question->turn == 1) {
        ret_question->turn += count_of(body, len, "\"role\":\"assistant\"");
    }
    ret_question->is_streaming = has(body, len, "\"stream\":true");
    ret_question->wants_usage = has(body, len, "\"include_usage\":true");
    ret_question->is_cached = has(body, len, "\"cache_control\"");
    snprintf(ret_question->model, sizeof(ret_question->model), "mock-model");
}

/** The last mark in any text of a value. */
static uint64_t mark_in(struct json_object *value)
{
    uint64_t turn = 0;
    switch (json_object_get_type(value)) {
    case json_type_string:
        return last_mark(json_object_get_string(value), (size_t)json_object_get_string_len(value));
    case json_type_array:
        for (size_t i = json_object_array_length(value); turn == 0 && i > 0; i--) {
            turn = mark_in(json_object_array_get_idx(value, i - 1));
        }
        return turn;
    case json_type_object: {
        struct json_object_iterator at = json_object_iter_begin(value);
        struct json_object_iterator end = json_object_iter_end(value);
        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
            uint64_t found = mark_in(json_object_iter_peek_value(&at));
            turn = found > turn ? found : turn;
        }
        return turn;
    }
    case json_type_null:
    case json_type_boolean:
    case json_type_double:
    case json_type_int:
        return 0;
    }
    return 0;
}

static uint64_t turn_in(struct json_object *messages)
{
    uint64_t replies = 0;
    for (size_t i = json_object_array_length(messages); i > 0; i--) {
        struct json_object *message = json_object_array_get_idx(messages, i - 1);
        uint64_t mark = mark_in(message);
        if (mark > 0) {
            return mark + replies + 1;
        }
        replies += strcmp(json_get_string(message, "role", ""), "assistant") == 0 ? 1 : 0;
    }
    return replies + 1;
}

bool mock_question_read(const char *body, size_t len, struct mock_question *ret_question,
                        char *ret_message)
{
    struct rondo_error err = {0};
    auto_json struct json_object *request = NULL;
    if (json_parse(body, len, &request, &err) < 0) {
        snprintf(ret_message, 256, "We could not parse the JSON body of your request.");
        return false;
    }
    bool is_right = ret_question->dialect == MOCK_OPENAI
                        ? mock_check_openai(request, ret_message)
                        : mock_check_anthropic(request, ret_message);
    if (!is_right) {
        return false;
    }
    struct json_object *member = NULL;
    json_object_object_get_ex(request, "messages", &member);
    ret_question->turn = turn_in(member);
    ret_question->is_streaming = json_get_bool(request, "stream", false);
    ret_question->is_cached = has(body, len, "\"cache_control\"");
    if (json_object_object_get_ex(request, "stream_options", &member)) {
        ret_question->wants_usage = json_get_bool(member, "include_usage", false);
    }
    snprintf(ret_question->model, sizeof(ret_question->model), "%s",
             json_get_string(request, "model", ""));
    return true;
}
