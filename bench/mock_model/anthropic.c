// SPDX-License-Identifier: Apache-2.0
/* Replies of the mock model server as Anthropic's Messages gives them. */
#include "internal.h"

#include "base/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *stop_reason(const struct mock_turn *turn)
{
    static const char *const words[][2] = {
        {"end", "end_turn"},
        {"tools", "tool_use"},
        {"length", "max_tokens"},
        {"filtered", "refusal"},
    };
    for (size_t i = 0; turn->stop != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i][0], turn->stop) == 0) {
            return words[i][1];
        }
    }
    return turn->call_count > 0 ? "tool_use" : "end_turn";
}

static void write_usage(const struct mock_answer *answer, struct json_writer *writer,
                        int64_t output)
{
    const struct mock_usage *usage = &answer->usage;
    json_begin_object(writer, "usage");
    json_write_int(writer, "input_tokens", usage->input - usage->cached - usage->cache_written);
    json_write_int(writer, "cache_creation_input_tokens", usage->cache_written);
    json_write_int(writer, "cache_read_input_tokens", usage->cached);
    json_write_int(writer, "output_tokens", output);
    json_end_object(writer);
}

static void signature_of(const char *thinking, char ret_signature[32])
{
    snprintf(ret_signature, 32, "mock-%016" PRIx64, mock_digest(thinking, strlen(thinking)));
}

static void write_thinking_block(struct mock_answer *answer, struct json_writer *writer)
{
    auto_buf struct buf text = {0};
    char signature[32];
    const char *thinking = mock_expand(&text, answer->turn->thinking, answer->number);
    signature_of(thinking, signature);
    json_begin_object(writer, NULL);
    json_write_string(writer, "type", "thinking");
    json_write_string(writer, "thinking", thinking);
    json_write_string(writer, "signature", signature);
    json_end_object(writer);
}

static void write_call_block(struct mock_answer *answer, size_t index, struct json_writer *writer)
{
    auto_buf struct buf arguments = {0};
    const struct mock_call *call = &answer->turn->calls[index];
    char id[64];
    json_begin_object(writer, NULL);
    json_write_string(writer, "type", "tool_use");
    json_write_string(writer, "id", mock_call_id(id, answer, index, "toolu"));
    json_write_string(writer, "name", call->name);
    const char *input = mock_expand(&arguments, call->arguments, answer->number);
    if (json_parse(input, strlen(input), NULL, NULL) == 0) {
        json_write_raw(writer, "input", input);
    } else {
        json_write_string(writer, "input", input); /* The nearest to it that is a whole reply. */
    }
    json_end_object(writer);
}

static void write_content(struct mock_answer *answer, struct json_writer *writer)
{
    auto_buf struct buf text = {0};
    const struct mock_turn *turn = answer->turn;
    json_begin_array(writer, "content");
    if (turn->thinking != NULL) {
        write_thinking_block(answer, writer);
    }
    if (turn->text != NULL || answer->fill > 0) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "type", "text");
        mock_write_text(answer, writer, "text", mock_expand(&text, turn->text, answer->number));
        json_end_object(writer);
    }
    for (size_t i = 0; i < turn->call_count; i++) {
        write_call_block(answer, i, writer);
    }
    json_end_array(writer);
}

static void write_head(const struct mock_answer *answer, struct json_writer *writer)
{
    char id[MOCK_MAX_ID + 64];
    snprintf(id, sizeof(id), "msg_mock_%" PRIu64 "_%s", answer->number, answer->conversation);
    json_write_string(writer, "id", id);
    json_write_string(writer, "type", "message");
    json_write_string(writer, "role", "assistant");
    json_write_string(writer, "model", answer->question->model);
}

void mock_anthropic_whole(struct mock_answer *answer)
{
    struct json_writer writer = json_writer(answer->body);
    json_begin_object(&writer, NULL);
    write_head(answer, &writer);
    write_content(answer, &writer);
    json_write_string(&writer, "stop_reason", stop_reason(answer->turn));
    json_write_null(&writer, "stop_sequence");
    write_usage(answer, &writer, answer->usage.output);
    json_end_object(&writer);
}

/** Begin an event: its name is its type, too. */
static struct json_writer begin(struct mock_answer *answer, const char *type)
{
    struct json_writer writer = json_writer(mock_event_begin(answer, type));
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", type);
    return writer;
}

static void end(struct mock_answer *answer, struct json_writer *writer)
{
    json_end_object(writer);
    mock_event_end(answer);
}

static void stream_start(struct mock_answer *answer)
{
    struct json_writer writer = begin(answer, "message_start");
    json_begin_object(&writer, "message");
    write_head(answer, &writer);
    json_begin_array(&writer, "content");
    json_end_array(&writer);
    json_write_null(&writer, "stop_reason");
    json_write_null(&writer, "stop_sequence");
    write_usage(answer, &writer, 1);
    json_end_object(&writer);
    end(answer, &writer);
}

/** One delta; with `fill` letters instead of the bytes. */
static void stream_delta(struct mock_answer *answer, size_t index, const char *type,
                         const char *key, struct mock_text piece)
{
    struct json_writer writer = begin(answer, "content_block_delta");
    json_write_int(&writer, "index", (int64_t)index);
    json_begin_object(&writer, "delta");
    json_write_string(&writer, "type", type);
    if (piece.bytes == NULL) {
        mock_write_text(answer, &writer, key, "");
    } else {
        json_write_string_len(&writer, key, piece.bytes, piece.len);
    }
    json_end_object(&writer);
    end(answer, &writer);
}

static void stream_pieces(struct mock_answer *answer, size_t index, const char *type,
                          const char *key, const char *text)
{
    for (size_t at = 0, len = strlen(text); at < len;) {
        size_t stop = at + answer->piece_bytes < len ? at + answer->piece_bytes : len;
        while (stop < len && ((unsigned char)text[stop] & 0xc0) == 0x80) {
            stop++;
        }
        stream_delta(answer, index, type, key, (struct mock_text){text + at, stop - at});
        at = stop;
    }
}

static void stream_stop(struct mock_answer *answer, size_t index)
{
    struct json_writer writer = begin(answer, "content_block_stop");
    json_write_int(&writer, "index", (int64_t)index);
    end(answer, &writer);
}

/** Begin a block that holds words. */
static void stream_words_start(struct mock_answer *answer, size_t index, const char *type,
                               const char *key)
{
    struct json_writer writer = begin(answer, "content_block_start");
    json_write_int(&writer, "index", (int64_t)index);
    json_begin_object(&writer, "content_block");
    json_write_string(&writer, "type", type);
    json_write_string(&writer, key, "");
    if (strcmp(type, "thinking") == 0) {
        json_write_string(&writer, "signature", "");
    }
    json_end_object(&writer);
    end(answer, &writer);
}

static void stream_thinking(struct mock_answer *answer, size_t index)
{
    auto_buf struct buf text = {0};
    char signature[32];
    const char *thinking = mock_expand(&text, answer->turn->thinking, answer->number);
    signature_of(thinking, signature);
    stream_words_start(answer, index, "thinking", "thinking");
    stream_pieces(answer, index, "thinking_delta", "thinking", thinking);
    stream_delta(answer, index, "signature_delta", "signature",
                 (struct mock_text){signature, strlen(signature)});
    stream_stop(answer, index);
}

static void stream_text(struct mock_answer *answer, size_t index)
{
    auto_buf struct buf text = {0};
    stream_words_start(answer, index, "text", "text");
    if (answer->fill > 0) {
        stream_delta(answer, index, "text_delta", "text", (struct mock_text){0});
    } else {
        stream_pieces(answer, index, "text_delta", "text",
                      mock_expand(&text, answer->turn->text, answer->number));
    }
    stream_stop(answer, index);
}

static void stream_call(struct mock_answer *answer, size_t index, size_t call)
{
    auto_buf struct buf text = {0};
    char id[64];
    struct json_writer writer = begin(answer, "content_block_start");
    json_write_int(&writer, "index", (int64_t)index);
    json_begin_object(&writer, "content_block");
    json_write_string(&writer, "type", "tool_use");
    json_write_string(&writer, "id", mock_call_id(id, answer, call, "toolu"));
    json_write_string(&writer, "name", answer->turn->calls[call].name);
    json_begin_object(&writer, "input");
    json_end_object(&writer);
    json_end_object(&writer);
    end(answer, &writer);
    stream_delta(answer, index, "input_json_delta", "partial_json", (struct mock_text){"", 0});
    stream_pieces(answer, index, "input_json_delta", "partial_json",
                  mock_expand(&text, answer->turn->calls[call].arguments, answer->number));
    stream_stop(answer, index);
}

static void stream_end(struct mock_answer *answer)
{
    struct json_writer writer = begin(answer, "message_delta");
    json_begin_object(&writer, "delta");
    json_write_string(&writer, "stop_reason", stop_reason(answer->turn));
    json_write_null(&writer, "stop_sequence");
    json_end_object(&writer);
    write_usage(answer, &writer, answer->usage.output);
    end(answer, &writer);
    writer = begin(answer, "message_stop");
    end(answer, &writer);
}

void mock_anthropic_stream(struct mock_answer *answer)
{
    size_t index = 0;
    stream_start(answer);
    struct json_writer writer = begin(answer, "ping");
    end(answer, &writer);
    if (answer->turn->thinking != NULL) {
        stream_thinking(answer, index++);
    }
    if (answer->turn->text != NULL || answer->fill > 0) {
        stream_text(answer, index++);
    }
    for (size_t i = 0; i < answer->turn->call_count; i++) {
        stream_call(answer, index++, i);
    }
    stream_end(answer);
}
