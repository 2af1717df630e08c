// SPDX-License-Identifier: Apache-2.0
/* OpenAI Chat Completions: what comes back, whole or in pieces. */
#include "model/openai.h"

#include "base/json/json.h"
#include "model/failure.h"
#include "model/reading.h"
#include "model/stop.h"

#include <json-c/json.h>
#include <string.h>

static void read_usage(struct model_reading *reading, struct json_object *usage)
{
    if (!json_object_is_type(usage, json_type_object)) {
        return;
    }
    struct json_object *input = json_member(usage, "prompt_tokens_details");
    struct json_object *output = json_member(usage, "completion_tokens_details");
    int64_t total = dialect_tokens(usage, "total_tokens");
    struct model_usage found = {
        .input = dialect_tokens(usage, "prompt_tokens"),
        .output = dialect_tokens(usage, "completion_tokens"),
        .cached = dialect_tokens(input, "cached_tokens"),
        .reasoning = dialect_tokens(output, "reasoning_tokens"),
    };
    if (found.cached == 0) {
        found.cached = dialect_tokens(usage, "prompt_cache_hit_tokens");
    }
    /* Some leave the reasoning out of completion_tokens and bill it all the same. */
    if (total - found.input > found.output) {
        found.output = total - found.input;
    }
    reading->usage = found;
}

/** Words by which a server reports that it stopped in the middle. */
static bool is_broken(const char *word)
{
    return strcmp(word, "error") == 0 || strcmp(word, "insufficient_system_resource") == 0;
}

static void read_stop(struct model_reading *reading, struct json_object *choice)
{
    const char *word = json_get_string(choice, "finish_reason", NULL);
    if (word == NULL || *word == '\0') {
        return;
    }
    if (is_broken(word)) {
        reading_fail(reading, MODEL_OVERLOADED, 503, "the server aborted the reply (%s)", word);
        return;
    }
    /* A refusal that was read before counts more than "stop". */
    if (reading->stop != MODEL_STOP_REFUSED) {
        reading_stop(reading, stop_from_word(openai_ops.dialect, word));
    }
    reading->has_stop = true;
}

static void read_refusal(struct model_reading *reading, struct json_object *refusal)
{
    if (json_object_is_type(refusal, json_type_string) && json_object_get_string_len(refusal) > 0) {
        reading_add_text_of(reading, refusal);
        reading_stop(reading, MODEL_STOP_REFUSED);
    }
}

/** A part of content that is a list: {"type":"text"}, Mistral's {"type":"thinking"}, refusals. */
static void read_part(struct model_reading *reading, struct json_object *part)
{
    struct json_object *thinking = json_member(part, "thinking");
    reading_add_text_of(reading, json_member(part, "text"));
    read_refusal(reading, json_member(part, "refusal"));
    reading_add_thinking_of(reading, thinking);
    for (size_t i = 0; i < json_length(thinking); i++) {
        reading_add_thinking_of(reading, json_member(dialect_at(thinking, i), "text"));
    }
}

static void read_content(struct model_reading *reading, struct json_object *content)
{
    reading_add_text_of(reading, content);
    for (size_t i = 0; i < json_length(content); i++) {
        read_part(reading, dialect_at(content, i));
    }
}

/** Arguments are a text; some servers send the object itself. */
static void add_arguments(struct reading_call *call, struct json_object *arguments)
{
    if (json_object_is_type(arguments, json_type_string)) {
        buf_append_string(&call->arguments, json_object_get_string(arguments));
    } else if (json_object_is_type(arguments, json_type_object)) {
        buf_append_string(&call->arguments,
                          json_object_to_json_string_ext(
                              arguments, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    }
}

/** The call that a piece continues, or NULL: it begins one. */
static struct reading_call *find_call(struct model_reading *reading, struct json_object *piece,
                                      const char *id, const char *name)
{
    struct json_object *index = json_member(piece, "index");
    struct reading_call *found = NULL;
    for (size_t i = 0; i < reading->call_count; i++) {
        struct reading_call *call = &reading->calls[i];
        if (json_object_is_type(index, json_type_int)) {
            found = call->index == json_object_get_int64(index) ? call : found;
        } else if (*id == '\0' || strcmp(buf_string(&call->id), id) == 0) {
            found = call;
        }
    }
    /* All calls under one index, told apart by id only: seen with Gemini's compatible API. */
    bool is_other = found != NULL && *id != '\0' && *name != '\0' && found->id.len > 0 &&
                    strcmp(buf_string(&found->id), id) != 0;
    return is_other ? NULL : found;
}

/** @param is_piece it may continue a call of a stream; otherwise it is one of its own */
static void read_call(struct model_reading *reading, struct json_object *piece, bool is_piece)
{
    struct json_object *function = json_member(piece, "function");
    struct json_object *extra = json_member(piece, "extra_content");
    const char *id = json_get_string(piece, "id", "");
    const char *name = json_get_string(function, "name", "");
    struct reading_call *call = is_piece ? find_call(reading, piece, id, name) : NULL;
    if (!json_object_is_type(piece, json_type_object)) {
        return;
    }
    if (call == NULL) {
        call =
            reading_begin_call(reading, json_get_int(piece, "index", (int64_t)reading->call_count));
    }
    if (call == NULL) {
        return;
    }
    if (call->id.len == 0) {
        buf_append_string(&call->id, id);
    }
    if (call->name.len == 0) {
        buf_append_string(&call->name, name);
    }
    add_arguments(call, json_member(function, "arguments"));
    if (extra != NULL) {
        json_object_put(call->extra);
        call->extra = json_object_get(extra);
    }
}

static void read_details(struct model_reading *reading, struct json_object *details)
{
    if (json_length(details) > 0 && reading->details == NULL) {
        reading->details = json_object_new_array();
    }
    for (size_t i = 0; i < json_length(details); i++) {
        json_object_array_add(reading->details, json_object_get(dialect_at(details, i)));
    }
}

/** A message of a whole reply or the delta of a piece: they have the same members. */
static void read_message(struct model_reading *reading, struct json_object *message, bool is_piece)
{
    struct json_object *calls = json_member(message, "tool_calls");
    struct json_object *refusal = json_member(message, "refusal");
    struct json_object *reasoning = json_member(message, "reasoning_content");
    if (json_object_is_type(reasoning, json_type_string)) {
        reading->keeps_reasoning =
            (reading->model->provider->traits & PROVIDER_REPEATS_REASONING) != 0;
        reading_add_thinking_of(reading, reasoning);
    } else {
        reading_add_thinking_of(reading, json_member(message, "reasoning"));
    }
    read_details(reading, json_member(message, "reasoning_details"));
    read_content(reading, json_member(message, "content"));
    read_refusal(reading, refusal);
    for (size_t i = 0; i < json_length(calls) && reading->failure == MODEL_OK; i++) {
        read_call(reading, dialect_at(calls, i), is_piece);
    }
}

/** @return whether it was an error instead of a reply */
static bool read_error(struct model_reading *reading, struct json_object *reply)
{
    struct json_object *error = json_member(reply, "error");
    if (error == NULL) {
        return false;
    }
    long status = (long)json_get_int(error, "code", json_get_int(error, "status_code", 0));
    failure_read(reading, status >= 400 && status < 600 ? status : 500, reply);
    return true;
}

static void openai_read_reply(struct model_reading *reading, struct json_object *reply)
{
    struct json_object *choices = json_member(reply, "choices");
    read_usage(reading, json_member(reply, "usage"));
    reading_name_model(reading, json_member(reply, "model"));
    if (read_error(reading, reply)) {
        return;
    }
    if (json_length(choices) == 0) {
        reading_fail(reading, MODEL_BAD_REPLY, 0, "the reply has no choices");
        return;
    }
    struct json_object *message = json_member(dialect_at(choices, 0), "message");
    if (!json_object_is_type(message, json_type_object)) {
        reading_fail(reading, MODEL_BAD_REPLY, 0, "the reply has no message");
        return;
    }
    read_message(reading, message, false);
    read_stop(reading, dialect_at(choices, 0));
    reading->is_complete = true;
}

static void openai_read_event(struct model_reading *reading, struct json_object *event)
{
    struct json_object *choices = json_member(event, "choices");
    read_usage(reading, json_member(event, "usage"));
    reading_name_model(reading, json_member(event, "model"));
    read_usage(reading, json_member(json_member(event, "x_groq"), "usage"));
    if (read_error(reading, event) || json_length(choices) == 0) {
        return;
    }
    struct json_object *choice = dialect_at(choices, 0);
    read_message(reading, json_member(choice, "delta"), true);
    read_stop(reading, choice);
    /* Not every server says [DONE]. */
    reading->is_complete = reading->is_complete || reading->has_stop;
}

static bool has_extra(const struct model_reading *reading)
{
    for (size_t i = 0; i < reading->call_count; i++) {
        if (reading->calls[i].extra != NULL) {
            return true;
        }
    }
    return false;
}

static void write_value(struct json_writer *writer, const char *key, struct json_object *value)
{
    json_write_raw(writer, key,
                   json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                             JSON_C_TO_STRING_NOSLASHESCAPE));
}

static void openai_write_native(struct model_reading *reading, struct buf *ret_json)
{
    if (!has_extra(reading) && reading->details == NULL && !reading->keeps_reasoning) {
        return;
    }
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    if (reading->keeps_reasoning) {
        json_write_bool(&writer, "reasoning_content", true);
    }
    if (reading->details != NULL) {
        write_value(&writer, "reasoning_details", reading->details);
    }
    if (has_extra(reading)) {
        json_begin_array(&writer, "extra_content");
        for (size_t i = 0; i < reading->call_count; i++) {
            write_value(&writer, NULL, reading->calls[i].extra);
        }
        json_end_array(&writer);
    }
    json_end_object(&writer);
}

static const struct model_wire wire = {
    .path = "/chat/completions",
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .id_header = "x-request-id",
    .write_prefix = openai_write_prefix,
    .write_suffix = openai_write_suffix,
    .splice = openai_splice,
    .read_reply = openai_read_reply,
    .read_event = openai_read_event,
    .write_native = openai_write_native,
};

const struct model_ops openai_ops = {
    .dialect = "openai",
    .wire = &wire,
    .write_tools = openai_write_tools,
    .write_user = openai_write_user,
    .write_assistant = openai_write_assistant,
    .write_answers = openai_write_answers,
    .ask = model_ask_over_http,
};
