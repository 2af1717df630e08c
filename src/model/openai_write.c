// SPDX-License-Identifier: Apache-2.0
/*
 * OpenAI Chat Completions: what is sent. A message is written once, as one or more elements of
 * `messages`; requests only put commas between them.
 */
#include "model/openai.h"

#include "base/json/json.h"
#include "model/settings.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

void openai_write_tools(const struct model_tool *tools, size_t count, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "type", "function");
        json_begin_object(&writer, "function");
        json_write_string(&writer, "name", tools[i].name);
        json_write_string(&writer, "description", tools[i].description);
        json_write_raw(&writer, "parameters", tools[i].schema);
        json_end_object(&writer);
        json_end_object(&writer);
    }
    json_end_array(&writer);
}

void openai_write_prefix(const struct model *model, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "model", model->name);
    if (model->tools.len > 0) {
        json_write_raw(&writer, "tools", buf_string(&model->tools));
        json_write_string(&writer, "tool_choice", model->settings.has_no_tools ? "none" : "auto");
        if (model->settings.is_serial) {
            json_write_bool(&writer, "parallel_tool_calls", false);
        }
    }
    json_begin_array(&writer, "messages");
    if (*model->system != '\0') {
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "role", "system");
        json_write_string(&writer, "content", model->system);
        json_end_object(&writer);
    }
}

/** Name of the field that limits the reply. */
static const char *limit_key(const struct model *model, unsigned adaptations)
{
    bool is_completion = (model->provider->traits & PROVIDER_LIMITS_COMPLETION) != 0;
    if ((adaptations & ADAPT_LIMIT_COMPLETION) != 0) {
        is_completion = true;
    } else if ((adaptations & ADAPT_LIMIT_TOKENS) != 0) {
        is_completion = false;
    }
    return is_completion || model->is_reasoning ? ",\"max_completion_tokens\":"
                                                : ",\"max_tokens\":";
}

void openai_write_suffix(const struct model *model, const struct model_request *request,
                         struct buf *ret_json)
{
    unsigned adaptations = atomic_load(&model->adaptations);
    buf_append_string(ret_json, "]");
    if (!model->is_reasoning && (adaptations & ADAPT_NO_TEMPERATURE) == 0) {
        buf_append_string(ret_json, ",\"temperature\":");
        dialect_write_micro(model->temperature_micro, ret_json);
    }
    buf_append_string(ret_json, limit_key(model, adaptations));
    buf_printf(ret_json, "%lld", (long long)model_max_tokens(model, request));
    model_settings_write(model, ret_json);
    if (request->is_streaming) {
        buf_append_string(ret_json, ",\"stream\":true");
        bool has_options = (model->provider->traits & PROVIDER_NO_STREAM_OPTIONS) == 0 &&
                           (adaptations & ADAPT_NO_STREAM_OPTIONS) == 0;
        buf_append_string(ret_json,
                          has_options ? ",\"stream_options\":{\"include_usage\":true}" : "");
    }
    buf_append_string(ret_json, "}");
}

void openai_splice(const struct model_request *request, struct request_body *body)
{
    /* Whether the prefix ends with "[" shows whether a comma is due. */
    const struct http_part *prefix = &body->parts[body->count - 1];
    bool needs_comma = prefix->bytes[prefix->len - 1] != '[';
    for (size_t i = 0; i < request->message_count; i++) {
        const struct model_message *message = &request->messages[i];
        if (message->len > 0) {
            body_add(body, ",", needs_comma ? 1 : 0);
            body_add(body, message->bytes, message->len);
            needs_comma = true;
        }
    }
}

void openai_write_user(const char *text, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "user");
    json_write_string(&writer, "content", text);
    json_end_object(&writer);
}

/** Google's thought signatures and the like, which belong to one call. */
static void write_extra(struct json_writer *writer, struct json_object *native, size_t i)
{
    struct json_object *extras = json_member(native, "extra_content");
    struct json_object *extra = i < json_length(extras) ? dialect_at(extras, i) : NULL;
    if (extra != NULL) {
        json_write_raw(writer, "extra_content",
                       json_object_to_json_string_ext(extra, JSON_C_TO_STRING_PLAIN |
                                                                 JSON_C_TO_STRING_NOSLASHESCAPE));
    }
}

static void write_call(struct json_writer *writer, const struct model_call *call,
                       struct json_object *native, size_t i)
{
    auto_buf struct buf name = {0};
    auto_buf struct buf arguments = {0};
    dialect_write_name(call->name, &name);
    dialect_write_arguments(call->arguments, &arguments);
    json_begin_object(writer, NULL);
    json_write_string(writer, "id", call->id);
    json_write_string(writer, "type", "function");
    json_begin_object(writer, "function");
    json_write_string(writer, "name", buf_string(&name));
    json_write_string(writer, "arguments", buf_string(&arguments));
    json_end_object(writer);
    write_extra(writer, native, i);
    json_end_object(writer);
}

/** What the server must get back besides text and calls. */
static void write_native_parts(struct json_writer *writer, const struct model_reply *reply,
                               struct json_object *native)
{
    struct json_object *details = json_member(native, "reasoning_details");
    if (details != NULL) {
        json_write_raw(writer, "reasoning_details",
                       json_object_to_json_string_ext(details, JSON_C_TO_STRING_PLAIN |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE));
    }
    if (json_get_bool(native, "reasoning_content", false)) {
        json_write_string(writer, "reasoning_content", reply->thinking);
    }
}

void openai_write_assistant(const struct model_reply *reply, struct buf *ret_json)
{
    auto_json struct json_object *native = NULL;
    if (reply->native != NULL) {
        json_parse(reply->native, strlen(reply->native), &native, NULL);
    }
    bool has_text = reply->text != NULL && *reply->text != '\0';
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "assistant");
    if (has_text || reply->call_count == 0) {
        json_write_string(&writer, "content", has_text ? reply->text : "");
    } else {
        json_write_null(&writer, "content");
    }
    write_native_parts(&writer, reply, native);
    if (reply->call_count > 0) {
        json_begin_array(&writer, "tool_calls");
        for (size_t i = 0; i < reply->call_count; i++) {
            write_call(&writer, &reply->calls[i], native, i);
        }
        json_end_array(&writer);
    }
    json_end_object(&writer);
}

void openai_write_answers(const struct model_answer *answers, size_t count, struct buf *ret_json)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_string(ret_json, i == 0 ? "" : ",");
        struct json_writer writer = json_writer(ret_json);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "role", "tool");
        json_write_string(&writer, "tool_call_id", answers[i].call_id);
        json_write_string_len(&writer, "content", answers[i].text, answers[i].text_len);
        json_end_object(&writer);
    }
}
