// SPDX-License-Identifier: Apache-2.0
/* Replies of the mock model server as OpenAI's Chat Completions gives them. */
#include "internal.h"

#include "base/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CREATED INT64_C(1760000000)

static const char *finish_reason(const struct mock_turn *turn)
{
    static const char *const words[][2] = {
        {"end", "stop"},
        {"tools", "tool_calls"},
        {"length", "length"},
        {"filtered", "content_filter"},
    };
    for (size_t i = 0; turn->stop != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i][0], turn->stop) == 0) {
            return words[i][1];
        }
    }
    return turn->call_count > 0 ? "tool_calls" : "stop";
}

static void write_head(const struct mock_answer *answer, struct json_writer *writer,
                       const char *object)
{
    char id[MOCK_MAX_ID + 64];
    snprintf(id, sizeof(id), "chatcmpl-mock-%s-%" PRIu64, answer->conversation, answer->number);
    json_write_string(writer, "id", id);
    json_write_string(writer, "object", object);
    json_write_int(writer, "created", CREATED);
    json_write_string(writer, "model", answer->question->model);
}

static void write_usage(const struct mock_answer *answer, struct json_writer *writer)
{
    const struct mock_usage *usage = &answer->usage;
    json_begin_object(writer, "usage");
    json_write_int(writer, "prompt_tokens", usage->input);
    json_write_int(writer, "completion_tokens", usage->output);
    json_write_int(writer, "total_tokens", usage->input + usage->output);
    json_begin_object(writer, "prompt_tokens_details");
    json_write_int(writer, "cached_tokens", usage->cached);
    json_end_object(writer);
    json_begin_object(writer, "completion_tokens_details");
    json_write_int(writer, "reasoning_tokens", usage->reasoning);
    json_end_object(writer);
    json_end_object(writer);
}

static void write_calls(struct mock_answer *answer, struct json_writer *writer)
{
    auto_buf struct buf arguments = {0};
    json_begin_array(writer, "tool_calls");
    for (size_t i = 0; i < answer->turn->call_count; i++) {
        const struct mock_call *call = &answer->turn->calls[i];
        char id[64];
        json_begin_object(writer, NULL);
        json_write_string(writer, "id", mock_call_id(id, answer, i, "call"));
        json_write_string(writer, "type", "function");
        json_begin_object(writer, "function");
        json_write_string(writer, "name", call->name);
        json_write_string(writer, "arguments",
                          mock_expand(&arguments, call->arguments, answer->number));
        json_end_object(writer);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_message(struct mock_answer *answer, struct json_writer *writer)
{
    auto_buf struct buf text = {0};
    const struct mock_turn *turn = answer->turn;
    json_begin_object(writer, "message");
    json_write_string(writer, "role", "assistant");
    if (turn->text == NULL && answer->fill == 0) {
        json_write_null(writer, "content");
    } else {
        mock_write_text(answer, writer, "content", mock_expand(&text, turn->text, answer->number));
    }
    json_write_null(writer, "refusal");
    if (turn->thinking != NULL) {
        json_write_string(writer, "reasoning_content",
                          mock_expand(&text, turn->thinking, answer->number));
    }
    if (turn->call_count > 0) {
        write_calls(answer, writer);
    }
    json_end_object(writer);
}

void mock_openai_whole(struct mock_answer *answer)
{
    struct json_writer writer = json_writer(answer->body);
    json_begin_object(&writer, NULL);
    write_head(answer, &writer, "chat.completion");
    json_begin_array(&writer, "choices");
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "index", 0);
    write_message(answer, &writer);
    json_write_null(&writer, "logprobs");
    json_write_string(&writer, "finish_reason", finish_reason(answer->turn));
    json_end_object(&writer);
    json_end_array(&writer);
    write_usage(answer, &writer);
    json_write_string(&writer, "service_tier", "default");
    json_end_object(&writer);
}

/** Begin a chunk up to the inside of its delta. */
static struct json_writer begin_delta(struct mock_answer *answer)
{
    struct json_writer writer = json_writer(mock_event_begin(answer, NULL));
    json_begin_object(&writer, NULL);
    write_head(answer, &writer, "chat.completion.chunk");
    json_begin_array(&writer, "choices");
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "index", 0);
    json_begin_object(&writer, "delta");
    return writer;
}

static void end_delta(struct mock_answer *answer, struct json_writer *writer, const char *reason)
{
    json_end_object(writer);
    json_write_null(writer, "logprobs");
    json_write_string(writer, "finish_reason", reason);
    json_end_object(writer);
    json_end_array(writer);
    if (answer->question->wants_usage) {
        json_write_null(writer, "usage");
    }
    json_end_object(writer);
    mock_event_end(answer);
}

/** A text as deltas of the size that is set, cut between characters. */
static void stream_text(struct mock_answer *answer, const char *key, const char *text)
{
    for (size_t at = 0, len = strlen(text); at < len;) {
        size_t end = at + answer->piece_bytes < len ? at + answer->piece_bytes : len;
        while (end < len && ((unsigned char)text[end] & 0xc0) == 0x80) {
            end++;
        }
        struct json_writer writer = begin_delta(answer);
        json_write_string_len(&writer, key, text + at, end - at);
        end_delta(answer, &writer, NULL);
        at = end;
    }
}

/** One delta of a call: its head, or with `arguments` a piece of these. */
static void stream_call_piece(struct mock_answer *answer, size_t index, const char *arguments,
                              size_t len)
{
    const struct mock_call *call = &answer->turn->calls[index];
    struct json_writer writer = begin_delta(answer);
    json_begin_array(&writer, "tool_calls");
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "index", (int64_t)index);
    if (arguments == NULL) {
        char id[64];
        json_write_string(&writer, "id", mock_call_id(id, answer, index, "call"));
        json_write_string(&writer, "type", "function");
    }
    json_begin_object(&writer, "function");
    if (arguments == NULL) {
        json_write_string(&writer, "name", call->name);
    }
    json_write_string_len(&writer, "arguments", arguments == NULL ? "" : arguments, len);
    json_end_object(&writer);
    json_end_object(&writer);
    json_end_array(&writer);
    end_delta(answer, &writer, NULL);
}

static void stream_call(struct mock_answer *answer, size_t index)
{
    auto_buf struct buf text = {0};
    const char *arguments =
        mock_expand(&text, answer->turn->calls[index].arguments, answer->number);
    stream_call_piece(answer, index, NULL, 0);
    for (size_t at = 0, len = strlen(arguments); at < len;) {
        size_t end = at + answer->piece_bytes < len ? at + answer->piece_bytes : len;
        while (end < len && ((unsigned char)arguments[end] & 0xc0) == 0x80) {
            end++;
        }
        stream_call_piece(answer, index, arguments + at, end - at);
        at = end;
    }
}

static void stream_first(struct mock_answer *answer)
{
    struct json_writer writer = begin_delta(answer);
    json_write_string(&writer, "role", "assistant");
    if (answer->turn->text == NULL && answer->fill == 0) {
        json_write_null(&writer, "content");
    } else {
        json_write_string(&writer, "content", "");
    }
    json_write_null(&writer, "refusal");
    end_delta(answer, &writer, NULL);
}

static void stream_words(struct mock_answer *answer)
{
    auto_buf struct buf text = {0};
    if (answer->turn->thinking != NULL) {
        stream_text(answer, "reasoning_content",
                    mock_expand(&text, answer->turn->thinking, answer->number));
    }
    if (answer->fill > 0) {
        struct json_writer writer = begin_delta(answer);
        mock_write_text(answer, &writer, "content", "");
        end_delta(answer, &writer, NULL);
    } else if (answer->turn->text != NULL) {
        stream_text(answer, "content", mock_expand(&text, answer->turn->text, answer->number));
    }
}

static void stream_usage(struct mock_answer *answer)
{
    struct json_writer writer = json_writer(mock_event_begin(answer, NULL));
    json_begin_object(&writer, NULL);
    write_head(answer, &writer, "chat.completion.chunk");
    json_begin_array(&writer, "choices");
    json_end_array(&writer);
    write_usage(answer, &writer);
    json_end_object(&writer);
    mock_event_end(answer);
}

void mock_openai_stream(struct mock_answer *answer)
{
    stream_first(answer);
    stream_words(answer);
    for (size_t i = 0; i < answer->turn->call_count; i++) {
        stream_call(answer, i);
    }
    struct json_writer writer = begin_delta(answer);
    end_delta(answer, &writer, finish_reason(answer->turn));
    if (answer->question->wants_usage) {
        stream_usage(answer);
    }
    buf_append_string(mock_event_begin(answer, NULL), "[DONE]");
    mock_event_end(answer);
}
