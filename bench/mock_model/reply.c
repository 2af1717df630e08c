// SPDX-License-Identifier: Apache-2.0
/* What a request to the mock model server is answered with: routes, turns and faults. */
#include "internal.h"

#include "base/error.h"
#include "base/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS_NS INT64_C(1000000)

const char *mock_expand(struct buf *ret_text, const char *text, uint64_t turn)
{
    static const char word[] = "{turn}";
    buf_clear(ret_text);
    for (const char *at = text, *found; at != NULL; at = found + strlen(word)) {
        found = strstr(at, word);
        if (found == NULL) {
            buf_append_string(ret_text, at);
            break;
        }
        buf_append(ret_text, at, (size_t)(found - at));
        buf_printf(ret_text, "%" PRIu64, turn);
    }
    return buf_string(ret_text);
}

const char *mock_call_id(char ret_id[64], const struct mock_answer *answer, size_t index,
                         const char *prefix)
{
    const char *own = answer->turn->calls[index].id;
    if (own != NULL) {
        snprintf(ret_id, 64, "%s", own);
    } else {
        snprintf(ret_id, 64, "%s_mock_%" PRIu64 "_%zu", prefix, answer->number, index);
    }
    return ret_id;
}

void mock_write_text(struct mock_answer *answer, struct json_writer *writer, const char *key,
                     const char *text)
{
    json_write_string(writer, key, answer->fill > 0 ? "" : text);
    if (answer->fill > 0) {
        answer->event_fill = writer->buf->len - 1; /* Before the closing quote. */
    }
}

struct buf *mock_event_begin(struct mock_answer *answer, const char *name)
{
    buf_clear(answer->scratch);
    answer->event_fill = 0;
    if (name != NULL) {
        buf_printf(answer->scratch, "event: %s\n", name);
    }
    buf_append_string(answer->scratch, "data: ");
    return answer->scratch;
}

/** Bytes as a chunk of HTTP, with letters somewhere in it. */
static void append_chunk(struct mock_answer *answer, const struct buf *bytes)
{
    uint64_t fill = answer->event_fill > 0 ? answer->fill : 0;
    buf_printf(answer->body, "%" PRIx64 "\r\n", (uint64_t)bytes->len + fill);
    if (fill > 0) {
        answer->fill_at = answer->body->len + answer->event_fill;
    }
    buf_append(answer->body, bytes->data, bytes->len);
    buf_append_string(answer->body, "\r\n");
}

static void append_error_event(struct mock_answer *answer)
{
    auto_buf struct buf event = {0};
    if (answer->question->dialect == MOCK_ANTHROPIC) {
        buf_append_string(&event, "event: error\n");
    }
    buf_append_string(&event, "data: ");
    mock_error_body(answer->question->dialect, 529, "Overloaded", &event);
    buf_append_string(&event, "\n\n");
    append_chunk(answer, &event);
}

void mock_event_end(struct mock_answer *answer)
{
    enum mock_fault_kind fault = answer->fault == NULL ? MOCK_FAULT_NONE : answer->fault->kind;
    size_t number = ++answer->event_count;
    if (fault == MOCK_FAULT_MALFORMED && number == 3) {
        buf_clear(answer->scratch);
        buf_append_string(answer->scratch, "data: {\"id\": \"torn");
    }
    if (fault == MOCK_FAULT_STREAM_ERROR && number >= 3) {
        if (number == 3) {
            append_error_event(answer);
        }
        return;
    }
    buf_append_string(answer->scratch, "\n\n");
    append_chunk(answer, answer->scratch);
    if (fault == MOCK_FAULT_DUPLICATE) {
        append_chunk(answer, answer->scratch);
    }
}

static const char *error_type(enum mock_dialect dialect, int status)
{
    bool is_openai = dialect == MOCK_OPENAI;
    switch (status) {
    case 400:
        return "invalid_request_error";
    case 401:
        return is_openai ? "invalid_request_error" : "authentication_error";
    case 404:
        return is_openai ? "invalid_request_error" : "not_found_error";
    case 429:
        return is_openai ? "requests" : "rate_limit_error";
    case 529:
        return is_openai ? "server_error" : "overloaded_error";
    default:
        return is_openai ? "server_error" : "api_error";
    }
}

void mock_error_body(enum mock_dialect dialect, int status, const char *message,
                     struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    if (dialect == MOCK_ANTHROPIC) {
        json_write_string(&writer, "type", "error");
    }
    json_begin_object(&writer, "error");
    json_write_string(&writer, "type", error_type(dialect, status));
    json_write_string(&writer, "message", message);
    if (dialect == MOCK_OPENAI) {
        json_write_null(&writer, "param");
        json_write_string(&writer, "code", status == 429 ? "rate_limit_exceeded" : NULL);
    }
    json_end_object(&writer);
    if (dialect == MOCK_ANTHROPIC) {
        json_write_string(&writer, "request_id", "req_mock");
    }
    json_end_object(&writer);
}

void mock_output_segment(struct mock_output *output, int64_t delay_ns, uint64_t fill)
{
    if (output->segment_count == output->segment_room) {
        output->segment_room = output->segment_room == 0 ? 4 : 2 * output->segment_room;
        output->segments =
            realloc(output->segments, output->segment_room * sizeof(struct mock_segment));
        if (output->segments == NULL) {
            abort();
        }
    }
    output->segments[output->segment_count++] =
        (struct mock_segment){.end = output->bytes.len, .fill = fill, .delay_ns = delay_ns};
}

static const char *status_text(int status)
{
    return status == 200 ? "OK" : status == 429 ? "Too Many Requests" : "Status";
}

static void append_head(struct mock_output *output, int status, const char *content_type,
                        const char *headers, int64_t len)
{
    buf_printf(&output->bytes, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s", status,
               status_text(status), content_type, headers);
    if (len < 0) {
        buf_append_string(&output->bytes, "Transfer-Encoding: chunked\r\n\r\n");
    } else {
        buf_printf(&output->bytes, "Content-Length: %" PRId64 "\r\n\r\n", len);
    }
}

void mock_output_plain(struct mock_output *output, int status, const char *content_type,
                       const char *headers, const char *body, size_t len)
{
    append_head(output, status, content_type, headers, (int64_t)len);
    buf_append(&output->bytes, body, len);
    mock_output_segment(output, 0, 0);
}

static void output_error(struct mock_service *service, struct mock_output *output,
                         enum mock_dialect dialect, int status, const char *message)
{
    buf_clear(&service->body);
    mock_error_body(dialect, status, message, &service->body);
    mock_output_plain(output, status, "application/json", "", service->body.data,
                      service->body.len);
}

static void estimate(struct mock_answer *answer, struct mock_conversation *conversation,
                     size_t body_len)
{
    const struct mock_turn *turn = answer->turn;
    size_t letters = turn->text == NULL ? 0 : strlen(turn->text);
    for (size_t i = 0; i < turn->call_count; i++) {
        letters += strlen(turn->calls[i].name) + strlen(turn->calls[i].arguments);
    }
    size_t thinking = turn->thinking == NULL ? 0 : strlen(turn->thinking);
    int64_t before = conversation->last_input;
    struct mock_usage usage = turn->usage;
    usage.input = usage.input >= 0 ? usage.input : (int64_t)(body_len / 4 + 1);
    usage.reasoning = usage.reasoning >= 0 ? usage.reasoning : (int64_t)(thinking / 4);
    usage.output = usage.output >= 0 ? usage.output : (int64_t)(letters / 4 + 1) + usage.reasoning;
    if (usage.cached < 0) {
        usage.cached = !answer->question->is_cached ? 0
                       : before < usage.input       ? before
                                                    : usage.input;
    }
    if (usage.cache_written < 0) {
        usage.cache_written = answer->question->is_cached ? usage.input - usage.cached : 0;
    }
    answer->usage = usage;
    conversation->last_input = usage.input;
}

/** Head and body of an answer, as one segment or, around letters, two. */
static void put_together(struct mock_answer *answer, struct mock_output *output)
{
    char headers[192];
    bool is_streaming = answer->question->is_streaming;
    snprintf(headers, sizeof(headers), "%s: req_mock_%s_%" PRIu64 "\r\n%s",
             answer->question->dialect == MOCK_OPENAI ? "x-request-id" : "request-id",
             answer->conversation, answer->number,
             is_streaming ? "Cache-Control: no-cache\r\n" : "");
    append_head(output, 200, is_streaming ? "text/event-stream; charset=utf-8" : "application/json",
                headers, is_streaming ? -1 : (int64_t)(answer->body->len + answer->fill));
    if (answer->fill > 0) {
        buf_append(&output->bytes, answer->body->data, answer->fill_at);
        mock_output_segment(output, 0, answer->fill);
        buf_append(&output->bytes, answer->body->data + answer->fill_at,
                   answer->body->len - answer->fill_at);
    } else {
        buf_append(&output->bytes, answer->body->data, answer->body->len);
    }
    mock_output_segment(output, 0, 0);
}

static void render_stream(struct mock_answer *answer)
{
    if (answer->fault == NULL || answer->fault->kind != MOCK_FAULT_EMPTY) {
        (answer->question->dialect == MOCK_OPENAI ? mock_openai_stream
                                                  : mock_anthropic_stream)(answer);
    }
    buf_append_string(answer->body, "0\r\n\r\n");
}

static void render_whole(struct mock_answer *answer)
{
    enum mock_fault_kind fault = answer->fault == NULL ? MOCK_FAULT_NONE : answer->fault->kind;
    if (fault == MOCK_FAULT_EMPTY) {
        return;
    }
    (answer->question->dialect == MOCK_OPENAI ? mock_openai_whole : mock_anthropic_whole)(answer);
    answer->fill_at = answer->event_fill;
    if (fault == MOCK_FAULT_MALFORMED) {
        answer->body->len /= 2;
    }
}

/** Bytes of the head and of so much of the body as a cut reply still has. */
static size_t cut_at(const struct mock_fault *fault, const struct mock_output *output)
{
    const char *body = memmem(output->bytes.data, output->bytes.len, "\r\n\r\n", 4);
    size_t head = (size_t)(body - output->bytes.data) + 4;
    size_t rest = output->bytes.len - head;
    size_t kept = fault->bytes >= 0 ? (size_t)fault->bytes : rest / 2;
    return head + (kept < rest ? kept : rest);
}

static int64_t ms_to_ns(int64_t ms)
{
    return ms >= MOCK_FOREVER / MS_NS ? MOCK_FOREVER : ms * MS_NS;
}

/** Cut off, stall or slow down what has been put together. */
static void disturb(const struct mock_fault *fault, struct mock_output *output)
{
    if (fault->kind == MOCK_FAULT_CUT || fault->kind == MOCK_FAULT_STALL) {
        output->bytes.len = cut_at(fault, output);
        output->segment_count = 0;
        mock_output_segment(output, 0, 0);
        if (fault->kind == MOCK_FAULT_STALL) {
            mock_output_segment(output, ms_to_ns(fault->delay_ms), 0);
        }
        output->should_close = true;
    } else if (fault->kind == MOCK_FAULT_DRIP) {
        size_t whole = output->bytes.len;
        size_t step = fault->bytes > 0 ? (size_t)fault->bytes : 1;
        output->segment_count = 0;
        for (size_t end = step; end < whole + step; end += step) {
            output->bytes.len = end < whole ? end : whole;
            mock_output_segment(output, ms_to_ns(fault->delay_ms), 0);
        }
    }
}

/** Faults that need no answer. @return whether it was one */
static bool answer_by_fault(struct mock_service *service, const struct mock_question *question,
                            const struct mock_fault *fault, struct mock_output *output)
{
    if (fault->kind == MOCK_FAULT_CLOSE || fault->kind == MOCK_FAULT_STALL_HEADERS) {
        bool stalls = fault->kind == MOCK_FAULT_STALL_HEADERS;
        mock_output_segment(output, stalls ? ms_to_ns(fault->delay_ms) : 0, 0);
        output->should_close = true;
        return true;
    }
    if (fault->kind == MOCK_FAULT_CONTENT_TYPE) {
        static const char page[] = "<html><body><h1>Sign in to this network</h1></body></html>\n";
        mock_output_plain(output, 200,
                          fault->content_type != NULL ? fault->content_type : "text/html", "", page,
                          sizeof(page) - 1);
        return true;
    }
    bool is_status = fault->kind == MOCK_FAULT_STATUS ||
                     (fault->kind == MOCK_FAULT_STREAM_ERROR && !question->is_streaming);
    if (!is_status) {
        return false;
    }
    char header[128] = "";
    if (fault->retry_after != NULL) {
        snprintf(header, sizeof(header), "Retry-After: %s\r\n", fault->retry_after);
    }
    buf_clear(&service->body);
    if (fault->body != NULL) {
        buf_append_string(&service->body, fault->body);
    } else {
        mock_error_body(question->dialect, fault->status, "This was asked for by the script.",
                        &service->body);
    }
    mock_output_plain(output, fault->status,
                      fault->content_type != NULL ? fault->content_type : "application/json",
                      header, service->body.data, service->body.len);
    return true;
}

/** Hold back the first segment. */
static void delay(struct mock_output *output, int64_t delay_ms)
{
    if (delay_ms > 0 && output->segment_count > 0 && output->segments[0].delay_ns == 0) {
        output->segments[0].delay_ns = ms_to_ns(delay_ms);
    }
}

static void answer_turn(struct mock_service *service, struct mock_conversation *conversation,
                        const struct mock_script *script, const struct mock_question *question,
                        size_t body_len, const struct mock_fault *fault, struct mock_output *output)
{
    struct mock_answer answer = {
        .question = question,
        .turn = mock_script_turn(script, question->turn),
        .fault = fault,
        .conversation = conversation->id,
        .number = question->turn,
        .piece_bytes = script->piece_bytes == 0 ? 16 : script->piece_bytes,
        .fill = fault != NULL && fault->kind == MOCK_FAULT_HUGE ? (uint64_t)fault->bytes : 0,
        .body = &service->body,
        .scratch = &service->scratch,
    };
    if (answer.turn == NULL) {
        output_error(service, output, question->dialect, 500, "the script is over");
        return;
    }
    estimate(&answer, conversation, body_len);
    buf_clear(&service->body);
    (question->is_streaming ? render_stream : render_whole)(&answer);
    put_together(&answer, output);
    if (fault != NULL) {
        disturb(fault, output);
    }
    delay(output, answer.turn->delay_ms > 0 ? answer.turn->delay_ms : script->delay_ms);
}

/** Faults that leave the reply whole count as completed, too: they can be used and are paid for. */
static bool is_harmless(const struct mock_fault *fault)
{
    return fault == NULL || fault->kind == MOCK_FAULT_DRIP || fault->kind == MOCK_FAULT_DUPLICATE ||
           fault->kind == MOCK_FAULT_HUGE;
}

static void answer_question(struct mock_service *service, struct mock_conversation *conversation,
                            const struct mock_request *request, struct mock_question *question,
                            struct mock_output *output, struct mock_ticket *ret_ticket)
{
    const struct mock_script *script =
        conversation->script != NULL ? conversation->script : service->script;
    uint64_t digest = mock_digest(request->body, request->body_len);
    uint64_t key = request->idempotency_key.len == 0
                       ? 0
                       : mock_digest(request->idempotency_key.bytes, request->idempotency_key.len);
    if (script->is_counted) {
        question->turn = mock_conversation_counted_turn(conversation, digest);
    }
    uint64_t attempt = mock_conversation_request(conversation, question->turn, digest, key);
    const struct mock_fault *fault = mock_script_fault(script, question->turn, attempt);
    if (!is_harmless(fault)) {
        conversation->faults++;
        conversation->turns[question->turn - 1].faults++;
    }
    *ret_ticket = (struct mock_ticket){conversation, question->turn};
    output->is_complete = is_harmless(fault);
    if (fault != NULL && answer_by_fault(service, question, fault, output)) {
        delay(output, fault->delay_ms);
        return;
    }
    answer_turn(service, conversation, script, question, request->body_len, fault, output);
}

static void write_file(const char *folder, const char *name, const char *bytes, size_t len)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (fd >= 0 && len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n <= 0) {
            break;
        }
        bytes += n;
        len -= (size_t)n;
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void keep(const struct mock_service *service, const struct mock_conversation *conversation,
                 const struct mock_request *request)
{
    char name[MOCK_MAX_ID + 64];
    const char *id = conversation->id[0] == '\0' ? "main" : conversation->id;
    if (service->options->keep_folder == NULL) {
        return;
    }
    snprintf(name, sizeof(name), "%s-%04" PRIu64 ".headers", id, conversation->requests);
    write_file(service->options->keep_folder, name, request->head.bytes, request->head.len);
    snprintf(name, sizeof(name), "%s-%04" PRIu64 ".json", id, conversation->requests);
    write_file(service->options->keep_folder, name, request->body, request->body_len);
}

static bool is_key_right(const struct mock_service *service, const struct mock_request *request)
{
    const char *key = service->options->key;
    const struct mock_text *sent = &request->authorization;
    if (key == NULL || mock_text_is(request->api_key, key)) {
        return true;
    }
    return sent->len == strlen(key) + 7 && strncasecmp(sent->bytes, "Bearer ", 7) == 0 &&
           memcmp(sent->bytes + 7, key, strlen(key)) == 0;
}

static void answer_post(struct mock_service *service, struct mock_conversation *conversation,
                        const struct mock_request *request, enum mock_dialect dialect,
                        struct mock_output *output, struct mock_ticket *ret_ticket)
{
    const struct mock_script *script =
        conversation->script != NULL ? conversation->script : service->script;
    struct mock_question question = {.dialect = dialect};
    char message[256] = "";
    int status = 0;
    if (conversation->requests++ == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        conversation->first_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    }
    keep(service, conversation, request);
    if (!is_key_right(service, request)) {
        status = 401;
        snprintf(message, sizeof(message), "Incorrect API key provided.");
    } else if (dialect == MOCK_ANTHROPIC && request->version.len == 0) {
        status = 400;
        snprintf(message, sizeof(message), "anthropic-version: header is required");
    } else if (!script->is_checked) {
        mock_question_scan(request->body, request->body_len, &question);
    } else if (!mock_question_read(request->body, request->body_len, &question, message)) {
        status = 400;
    }
    if (status != 0) {
        conversation->refused++;
        output_error(service, output, dialect, status, message);
        return;
    }
    answer_question(service, conversation, request, &question, output, ret_ticket);
}

static void answer_models(const struct mock_request *request, struct mock_output *output)
{
    static const char openai[] = "{\"object\":\"list\",\"data\":[{\"id\":\"mock-model\",\"object\":"
                                 "\"model\",\"created\":1760000000,\"owned_by\":\"mock\"}]}";
    static const char anthropic[] =
        "{\"data\":[{\"type\":\"model\",\"id\":\"mock-model\",\"display_name\":\"Mock\","
        "\"created_at\":\"2026-01-01T00:00:00Z\"}],\"has_more\":false,\"first_id\":\"mock-model\","
        "\"last_id\":\"mock-model\"}";
    const char *body = request->version.len > 0 ? anthropic : openai;
    mock_output_plain(output, 200, "application/json", "", body, strlen(body));
}

static void take_script(struct mock_service *service, struct mock_conversation *conversation,
                        const struct mock_request *request, struct mock_output *output)
{
    struct rondo_error err = {0};
    struct mock_script *script = NULL;
    if (mock_script_parse(request->body, request->body_len, &script, &err) < 0) {
        output_error(service, output, MOCK_OPENAI, 400, err.message);
        return;
    }
    mock_conversation_begin(conversation, script);
    mock_output_plain(output, 200, "application/json", "", "{}", 2);
}

static void output_stats(struct mock_service *service, const struct mock_conversation *conversation,
                         struct mock_output *output)
{
    buf_clear(&service->body);
    if (conversation == NULL) {
        mock_conversations_json(&service->conversations, &service->body);
    } else {
        mock_conversation_json(conversation, &service->body);
    }
    mock_output_plain(output, 200, "application/json", "", service->body.data, service->body.len);
}

/** Take "/c/ID" off a path. @return false when the id is too long */
static bool split(struct mock_text *path, struct mock_text *ret_id)
{
    *ret_id = (struct mock_text){"", 0};
    if (path->len < 3 || memcmp(path->bytes, "/c/", 3) != 0) {
        return true;
    }
    const char *slash = memchr(path->bytes + 3, '/', path->len - 3);
    size_t len = slash == NULL ? path->len - 3 : (size_t)(slash - path->bytes) - 3;
    *ret_id = (struct mock_text){path->bytes + 3, len};
    *path = (struct mock_text){path->bytes + 3 + len, path->len - 3 - len};
    return len <= MOCK_MAX_ID;
}

void mock_answer_request(struct mock_service *service, const struct mock_request *request,
                         struct mock_output *output, struct mock_ticket *ret_ticket)
{
    struct mock_text path = request->path;
    struct mock_text id;
    bool is_post = mock_text_is(request->method, "POST");
    bool is_get = mock_text_is(request->method, "GET");
    *ret_ticket = (struct mock_ticket){0};
    if (!split(&path, &id)) {
        output_error(service, output, MOCK_OPENAI, 404, "an id that is too long");
        return;
    }
    if (is_get && id.len == 0 && mock_text_is(path, "/stats")) {
        output_stats(service, NULL, output);
        return;
    }
    struct mock_conversation *conversation =
        mock_conversation_of(&service->conversations, id.bytes, id.len);
    if (is_post && mock_text_is(path, "/v1/chat/completions")) {
        answer_post(service, conversation, request, MOCK_OPENAI, output, ret_ticket);
    } else if (is_post && mock_text_is(path, "/v1/messages")) {
        answer_post(service, conversation, request, MOCK_ANTHROPIC, output, ret_ticket);
    } else if (is_get && mock_text_is(path, "/v1/models")) {
        answer_models(request, output);
    } else if (is_get && mock_text_is(path, "/stats")) {
        output_stats(service, conversation, output);
    } else if (mock_text_is(request->method, "PUT") && mock_text_is(path, "/script")) {
        take_script(service, conversation, request, output);
    } else {
        output_error(service, output, MOCK_OPENAI, 404, "no such address");
    }
}
