// SPDX-License-Identifier: Apache-2.0
/* Anthropic Messages: what comes back, whole or as events. */
#include "model/anthropic.h"

#include "base/json/json.h"
#include "model/failure.h"
#include "model/reading.h"
#include "model/stop.h"

#include <json-c/json.h>
#include <string.h>

#define PLAIN (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/** Usage of message_start, then that of message_delta over it: what is absent stays. */
static void read_usage(struct model_reading *reading, struct json_object *usage)
{
    struct model_usage *sum = &reading->usage;
    int64_t input = dialect_tokens(usage, "input_tokens");
    int64_t read = dialect_tokens(usage, "cache_read_input_tokens");
    int64_t written = dialect_tokens(usage, "cache_creation_input_tokens");
    int64_t output = dialect_tokens(usage, "output_tokens");
    if (input + read + written > 0) {
        sum->input = input + read + written;
        sum->cached = read;
        sum->cache_written = written;
    }
    sum->output = output > sum->output ? output : sum->output;
}

static void read_stop(struct model_reading *reading, struct json_object *object)
{
    const char *word = json_get_string(object, "stop_reason", NULL);
    if (word != NULL) {
        reading_stop(reading, stop_from_word(anthropic_ops.dialect, word));
    }
}

/** An error object, in a stream or with status 200: its type stands for the status. */
static void read_error(struct model_reading *reading, struct json_object *event)
{
    static const struct {
        const char *type;
        long status;
    } types[] = {
        {"invalid_request_error", 400}, {"authentication_error", 401},
        {"billing_error", 402},         {"permission_error", 403},
        {"not_found_error", 404},       {"request_too_large", 413},
        {"rate_limit_error", 429},      {"api_error", 500},
        {"timeout_error", 504},         {"overloaded_error", 529},
    };
    const char *type = json_get_string(json_member(event, "error"), "type", "");
    long status = 500;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].type, type) == 0) {
            status = types[i].status;
        }
    }
    failure_read(reading, status, event);
}

static void begin_text(struct model_reading *reading, int64_t index, struct json_object *block)
{
    size_t before = reading->text.len;
    struct reading_part *part = reading_begin_part(reading, PART_TEXT, index);
    if (part != NULL) {
        reading_add_text_of(reading, json_member(block, "text"));
        part->len = reading->text.len - before;
    }
}

static void append_string(struct buf *buf, struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        buf_append_string(buf, json_object_get_string(value));
    }
}

static void begin_thinking(struct model_reading *reading, int64_t index, struct json_object *block)
{
    struct reading_part *part = reading_begin_part(reading, PART_THINKING, index);
    if (part != NULL) {
        append_string(&part->first, json_member(block, "thinking"));
        append_string(&part->second, json_member(block, "signature"));
        reading_add_thinking_of(reading, json_member(block, "thinking"));
    }
}

static void begin_call(struct model_reading *reading, int64_t index, struct json_object *block)
{
    struct json_object *input = json_member(block, "input");
    struct reading_part *part = reading_begin_part(reading, PART_CALL, index);
    if (part == NULL) {
        return;
    }
    part->len = reading->call_count;
    struct reading_call *call = reading_begin_call(reading, index);
    if (call == NULL) {
        return;
    }
    append_string(&call->id, json_member(block, "id"));
    append_string(&call->name, json_member(block, "name"));
    bool is_empty =
        json_object_is_type(input, json_type_object) && json_object_object_length(input) == 0;
    if (input != NULL && !is_empty) {
        buf_append_string(&call->arguments, json_object_to_json_string_ext(input, PLAIN));
        /* Should pieces follow, they are the input, and not this. */
        buf_append_string(&part->first, "whole");
    }
}

static void keep_block(struct model_reading *reading, int64_t index, struct json_object *block)
{
    struct reading_part *part = reading_begin_part(reading, PART_VERBATIM, index);
    if (part != NULL) {
        buf_append_string(&part->first, json_object_to_json_string_ext(block, PLAIN));
    }
}

static void begin_block(struct model_reading *reading, int64_t index, struct json_object *block)
{
    const char *type = json_get_string(block, "type", "");
    if (strcmp(type, "text") == 0) {
        begin_text(reading, index, block);
    } else if (strcmp(type, "thinking") == 0) {
        begin_thinking(reading, index, block);
    } else if (strcmp(type, "tool_use") == 0) {
        begin_call(reading, index, block);
    } else if (strcmp(type, "redacted_thinking") == 0) {
        keep_block(reading, index, block);
    }
}

static struct reading_part *find_part(struct model_reading *reading, int64_t index)
{
    for (size_t i = reading->part_count; i > 0; i--) {
        if (reading->parts[i - 1].index == index) {
            return &reading->parts[i - 1];
        }
    }
    return NULL;
}

static void add_to_text(struct model_reading *reading, struct reading_part *part,
                        struct json_object *delta)
{
    size_t before = reading->text.len;
    reading_add_text_of(reading, json_member(delta, "text"));
    part->len += reading->text.len - before;
}

static void add_to_thinking(struct model_reading *reading, struct reading_part *part,
                            struct json_object *delta)
{
    append_string(&part->first, json_member(delta, "thinking"));
    append_string(&part->second, json_member(delta, "signature"));
    reading_add_thinking_of(reading, json_member(delta, "thinking"));
}

static void add_to_call(struct model_reading *reading, struct reading_part *part,
                        struct json_object *delta)
{
    struct json_object *piece = json_member(delta, "partial_json");
    struct buf *arguments = &reading->calls[part->len].arguments;
    if (json_object_is_type(piece, json_type_string) && json_object_get_string_len(piece) > 0) {
        if (part->first.len > 0) {
            buf_clear(arguments);
            buf_clear(&part->first);
        }
        append_string(arguments, piece);
    }
}

static void read_delta(struct model_reading *reading, struct json_object *event)
{
    struct reading_part *part = find_part(reading, json_get_int(event, "index", 0));
    struct json_object *delta = json_member(event, "delta");
    if (part == NULL) {
        return;
    }
    switch (part->kind) {
    case PART_TEXT:
        add_to_text(reading, part, delta);
        break;
    case PART_THINKING:
        add_to_thinking(reading, part, delta);
        break;
    case PART_CALL:
        add_to_call(reading, part, delta);
        break;
    case PART_VERBATIM:
        break;
    }
}

static void anthropic_read_event(struct model_reading *reading, struct json_object *event)
{
    const char *type = json_get_string(event, "type", "");
    if (strcmp(type, "message_start") == 0) {
        read_usage(reading, json_member(json_member(event, "message"), "usage"));
        reading_name_model(reading, json_member(json_member(event, "message"), "model"));
    } else if (strcmp(type, "content_block_start") == 0) {
        begin_block(reading, json_get_int(event, "index", 0), json_member(event, "content_block"));
    } else if (strcmp(type, "content_block_delta") == 0) {
        read_delta(reading, event);
    } else if (strcmp(type, "message_delta") == 0) {
        read_usage(reading, json_member(event, "usage"));
        read_stop(reading, json_member(event, "delta"));
        reading->is_complete = reading->is_complete || reading->has_stop;
    } else if (strcmp(type, "message_stop") == 0) {
        reading->is_complete = true;
    } else if (strcmp(type, "error") == 0) {
        read_error(reading, event);
    }
}

static void anthropic_read_reply(struct model_reading *reading, struct json_object *reply)
{
    struct json_object *content = json_member(reply, "content");
    read_usage(reading, json_member(reply, "usage"));
    reading_name_model(reading, json_member(reply, "model"));
    if (json_member(reply, "error") != NULL) {
        read_error(reading, reply);
        return;
    }
    if (!json_object_is_type(content, json_type_array)) {
        reading_fail(reading, MODEL_BAD_REPLY, 0, "the reply has no content");
        return;
    }
    for (size_t i = 0; i < json_length(content) && reading->failure == MODEL_OK; i++) {
        begin_block(reading, (int64_t)i, dialect_at(content, i));
    }
    read_stop(reading, reply);
    reading->is_complete = true;
}

static void write_part(struct json_writer *writer, const struct reading_part *part)
{
    json_begin_object(writer, NULL);
    switch (part->kind) {
    case PART_TEXT:
        json_write_int(writer, "text", (int64_t)part->len);
        break;
    case PART_CALL:
        json_write_int(writer, "call", (int64_t)part->len);
        break;
    case PART_VERBATIM:
        json_write_raw(writer, "block", buf_string(&part->first));
        break;
    case PART_THINKING:
        json_begin_object(writer, "block");
        json_write_string(writer, "type", "thinking");
        json_write_string(writer, "thinking", buf_string(&part->first));
        json_write_string(writer, "signature", buf_string(&part->second));
        json_end_object(writer);
        break;
    }
    json_end_object(writer);
}

static void anthropic_write_native(struct model_reading *reading, struct buf *ret_json)
{
    bool has_thinking = false;
    for (size_t i = 0; i < reading->part_count; i++) {
        enum reading_part_kind kind = reading->parts[i].kind;
        has_thinking = has_thinking || kind == PART_THINKING || kind == PART_VERBATIM;
    }
    if (!has_thinking) {
        return;
    }
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < reading->part_count; i++) {
        write_part(&writer, &reading->parts[i]);
    }
    json_end_array(&writer);
}

static const struct model_wire wire = {
    .path = "/v1/messages",
    .key_header = "x-api-key",
    .key_prefix = "",
    .version_header = "anthropic-version",
    .version = "2023-06-01",
    .id_header = "request-id",
    .write_prefix = anthropic_write_prefix,
    .write_suffix = anthropic_write_suffix,
    .splice = anthropic_splice,
    .read_reply = anthropic_read_reply,
    .read_event = anthropic_read_event,
    .write_native = anthropic_write_native,
};

const struct model_ops anthropic_ops = {
    .dialect = "anthropic",
    .wire = &wire,
    .write_tools = anthropic_write_tools,
    .write_user = anthropic_write_user,
    .write_assistant = anthropic_write_assistant,
    .write_answers = anthropic_write_answers,
    .ask = model_ask_over_http,
};
