// SPDX-License-Identifier: Apache-2.0
/*
 * Anthropic Messages: what is sent. Messages are written once; splicing works on their bytes, so
 * the first and last bytes of a user's message, which this file alone writes, are known here.
 *
 * What must be kept beside text and calls (`native` of a reply) is a list in the order of the
 * reply's blocks: {"text": N} is the next N bytes of the text, {"call": I} is call number I, and
 * {"block": {...}} is a block that goes back as it came.
 */
#include "model/anthropic.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "model/settings.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define CACHE      "\"cache_control\":{\"type\":\"ephemeral\"}"
#define USER_BEGIN "{\"role\":\"user\",\"content\":["
#define USER_END   "]}"
/** Blocks of nothing but white space are refused. */
#define NO_TEXT "(no text)"

void anthropic_write_tools(const struct model_tool *tools, size_t count, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "name", tools[i].name);
        json_write_string(&writer, "description", tools[i].description);
        json_write_raw(&writer, "input_schema", tools[i].schema);
        if (i + 1 == count) {
            json_write_raw(&writer, "cache_control", "{\"type\":\"ephemeral\"}");
        }
        json_end_object(&writer);
    }
    json_end_array(&writer);
}

static void write_choice(const struct model_settings *settings, struct json_writer *writer)
{
    json_begin_object(writer, "tool_choice");
    json_write_string(writer, "type", settings->has_no_tools ? "none" : "auto");
    if (settings->is_serial && !settings->has_no_tools) {
        json_write_bool(writer, "disable_parallel_tool_use", true);
    }
    json_end_object(writer);
}

void anthropic_write_prefix(const struct model *model, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "model", model->name);
    if (model->tools.len > 0) {
        json_write_raw(&writer, "tools", buf_string(&model->tools));
        write_choice(&model->settings, &writer);
    }
    if (!dialect_is_blank(model->system)) {
        json_begin_array(&writer, "system");
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "text");
        json_write_string(&writer, "text", model->system);
        json_write_raw(&writer, "cache_control", "{\"type\":\"ephemeral\"}");
        json_end_object(&writer);
        json_end_array(&writer);
    }
    json_begin_array(&writer, "messages");
}

void anthropic_write_suffix(const struct model *model, const struct model_request *request,
                            struct buf *ret_json)
{
    bool has_temperature = (atomic_load(&model->adaptations) & ADAPT_NO_TEMPERATURE) == 0;
    buf_printf(ret_json, "],\"max_tokens\":%lld", (long long)model_max_tokens(model, request));
    if (has_temperature) {
        /* Here the range ends at 1, while that of a role file ends at 2. */
        buf_append_string(ret_json, ",\"temperature\":");
        dialect_write_micro(model->temperature_micro > 1000000 ? 1000000 : model->temperature_micro,
                            ret_json);
    }
    model_settings_write(model, ret_json);
    buf_append_string(ret_json, request->is_streaming ? ",\"stream\":true}" : "}");
}

/** The blocks of a user's message without what is around them. @return whether it is one of ours */
static bool user_blocks(const struct model_message *message, const char **ret_blocks,
                        size_t *ret_len)
{
    size_t begin = strlen(USER_BEGIN);
    size_t end = strlen(USER_END);
    if (message->kind == MODEL_ASSISTANT || message->len < begin + end ||
        memcmp(message->bytes, USER_BEGIN, begin) != 0) {
        return false;
    }
    *ret_blocks = message->bytes + begin;
    *ret_len = message->len - begin - end;
    return true;
}

/** End the newest user's message: its last block, which is open, is where the cache ends. */
static void end_user(struct request_body *body, bool is_newest)
{
    if (is_newest) {
        body->parts[body->count - 1].len--;
        body_add(body, "," CACHE "}", strlen("," CACHE "}"));
    }
    body_add(body, USER_END, strlen(USER_END));
}

void anthropic_splice(const struct model_request *request, struct request_body *body)
{
    bool is_user_open = false;
    bool is_first = true;
    for (size_t i = 0; i < request->message_count; i++) {
        const struct model_message *message = &request->messages[i];
        const char *blocks = NULL;
        size_t len = 0;
        bool is_user = user_blocks(message, &blocks, &len);
        if (message->len == 0 || (is_user && len == 0)) {
            continue;
        }
        if (is_user_open && !is_user) {
            end_user(body, false);
        }
        body_add(body, ",", is_first ? 0 : 1);
        if (is_user && !is_user_open) {
            body_add(body, USER_BEGIN, strlen(USER_BEGIN));
        }
        body_add(body, is_user ? blocks : message->bytes, is_user ? len : message->len);
        is_user_open = is_user;
        is_first = false;
    }
    if (is_user_open) {
        end_user(body, true);
    }
}

static void write_text_block(struct json_writer *writer, const char *text, size_t len)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "type", "text");
    json_write_string_len(writer, "text", text, len);
    json_end_object(writer);
}

void anthropic_write_user(const char *text, struct buf *ret_json)
{
    const char *words = dialect_is_blank(text) ? NO_TEXT : text;
    buf_append_string(ret_json, USER_BEGIN);
    struct json_writer writer = json_writer(ret_json);
    write_text_block(&writer, words, strlen(words));
    buf_append_string(ret_json, USER_END);
}

void anthropic_write_answers(const struct model_answer *answers, size_t count, struct buf *ret_json)
{
    buf_append_string(ret_json, USER_BEGIN);
    struct json_writer writer = json_writer(ret_json);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "tool_result");
        json_write_string(&writer, "tool_use_id", answers[i].call_id);
        json_write_string_len(&writer, "content", answers[i].text, answers[i].text_len);
        if (answers[i].is_error) {
            json_write_bool(&writer, "is_error", true);
        }
        json_end_object(&writer);
    }
    buf_append_string(ret_json, USER_END);
}

/** Writes a reply's blocks. What `native` does not mention follows after it. */
struct blocks {
    struct json_writer writer;
    const struct model_reply *reply;
    const char *text; /**< not written yet */
    bool *is_written; /**< of each call */
    size_t count;
};

static void write_text(struct blocks *blocks, size_t len)
{
    char *piece = memory_dup_bytes(blocks->text, strnlen(blocks->text, len));
    if (!dialect_is_blank(piece)) {
        write_text_block(&blocks->writer, piece, strlen(piece));
        blocks->count++;
    }
    blocks->text += strlen(piece);
    free(piece);
}

static void write_call(struct blocks *blocks, size_t i)
{
    const struct model_call *call = &blocks->reply->calls[i];
    auto_buf struct buf name = {0};
    auto_buf struct buf input = {0};
    if (blocks->is_written[i]) {
        return;
    }
    dialect_write_name(call->name, &name);
    dialect_write_arguments(call->arguments, &input);
    json_begin_object(&blocks->writer, NULL);
    json_write_string(&blocks->writer, "type", "tool_use");
    json_write_string(&blocks->writer, "id", call->id);
    json_write_string(&blocks->writer, "name", buf_string(&name));
    json_write_raw(&blocks->writer, "input", buf_string(&input));
    json_end_object(&blocks->writer);
    blocks->is_written[i] = true;
    blocks->count++;
}

static void write_native(struct blocks *blocks, struct json_object *native)
{
    for (size_t i = 0; i < json_length(native); i++) {
        struct json_object *item = dialect_at(native, i);
        struct json_object *block = json_member(item, "block");
        int64_t call = json_get_int(item, "call", -1);
        int64_t len = json_get_int(item, "text", -1);
        if (block != NULL) {
            json_write_raw(&blocks->writer, NULL,
                           json_object_to_json_string_ext(
                               block, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
            blocks->count++;
        } else if (len >= 0) {
            write_text(blocks, (size_t)len);
        } else if (call >= 0 && (uint64_t)call < blocks->reply->call_count) {
            write_call(blocks, (size_t)call);
        }
    }
}

void anthropic_write_assistant(const struct model_reply *reply, struct buf *ret_json)
{
    auto_json struct json_object *native = NULL;
    struct blocks blocks = {
        .reply = reply,
        .text = reply->text == NULL ? "" : reply->text,
        .is_written = memory_new_zero(reply->call_count + 1, sizeof(bool)),
    };
    if (reply->native != NULL) {
        json_parse(reply->native, strlen(reply->native), &native, NULL);
    }
    buf_append_string(ret_json, "{\"role\":\"assistant\",\"content\":[");
    blocks.writer = json_writer(ret_json);
    write_native(&blocks, native);
    write_text(&blocks, strlen(blocks.text));
    for (size_t i = 0; i < reply->call_count; i++) {
        write_call(&blocks, i);
    }
    if (blocks.count == 0) {
        write_text_block(&blocks.writer, NO_TEXT, strlen(NO_TEXT));
    }
    buf_append_string(ret_json, "]}");
    free(blocks.is_written);
}
