// SPDX-License-Identifier: Apache-2.0
/*
 * Content of conversations, in the JSON of the GenAI conventions: messages with a role and parts.
 * Only when the user asked for it, cut to the longest attribute, and without what looks secret.
 */
#include "telemetry/spans_internal.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/text/redact.h"

#include <json-c/json.h>
#include <string.h>

static bool is_shown(const struct spans *spans)
{
    return spans->options.environment->captures_content && !spans->is_replaying;
}

/** Longest beginning of a text that is no longer than `most` and does not cut a character. */
static size_t cut_len(const char *text, size_t len, size_t most)
{
    if (len <= most) {
        return len;
    }
    size_t end = most;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
        end--;
    }
    return end;
}

char *spans_content_keep(const struct spans *spans, const char *text, size_t len)
{
    if (!spans->options.environment->captures_content) {
        return NULL;
    }
    size_t most = (size_t)spans->options.environment->value_bytes;
    auto_buf struct buf clean = {0};
    redact_text(spans->options.redact, text, len, &clean);
    size_t kept = cut_len(buf_string(&clean), clean.len, most);
    auto_buf struct buf out = {0};
    buf_append(&out, buf_string(&clean), kept);
    return buf_steal(&out);
}

static void add_text(struct json_writer *writer, const char *type, const char *text)
{
    json_begin_object(writer, NULL);
    json_write_string(writer, "type", type);
    json_write_string(writer, "content", text);
    json_end_object(writer);
}

void spans_content_prompt(const struct spans *spans, const char *prompt, struct buf *ret_json)
{
    if (!is_shown(spans) || prompt == NULL || prompt[0] == '\0') {
        return;
    }
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "user");
    json_begin_array(&writer, "parts");
    add_text(&writer, "text", prompt);
    json_end_array(&writer);
    json_end_object(&writer);
    json_end_array(&writer);
}

static void add_kept(const struct spans *spans, struct json_writer *writer, const char *type,
                     const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return;
    }
    auto_free char *kept = spans_content_keep(spans, text, strlen(text));
    add_text(writer, type, kept);
}

static void add_call(const struct spans *spans, struct json_writer *writer,
                     struct json_object *call)
{
    const char *arguments = json_get_string(call, "arguments", "");
    auto_free char *kept = spans_content_keep(spans, arguments, strlen(arguments));
    json_begin_object(writer, NULL);
    json_write_string(writer, "type", "tool_call");
    json_write_string(writer, "id", json_get_string(call, "id", ""));
    json_write_string(writer, "name", json_get_string(call, "name", ""));
    json_write_string(writer, "arguments", kept);
    json_end_object(writer);
}

static void add_calls(const struct spans *spans, struct json_writer *writer, const char *json)
{
    auto_json struct json_object *calls = NULL;
    if (json == NULL || json_parse(json, strlen(json), &calls, NULL) < 0 ||
        !json_object_is_type(calls, json_type_array)) {
        return;
    }
    for (size_t i = 0; i < json_object_array_length(calls); i++) {
        struct json_object *call = json_object_array_get_idx(calls, i);
        if (json_object_is_type(call, json_type_object)) {
            add_call(spans, writer, call);
        }
    }
}

void spans_content_reply(const struct spans *spans, const struct event_model_replied *event,
                         const char *finish_reason, struct buf *ret_json)
{
    if (!is_shown(spans)) {
        return;
    }
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "role", "assistant");
    json_begin_array(&writer, "parts");
    add_kept(spans, &writer, "reasoning", event->thinking);
    add_kept(spans, &writer, "text", event->text);
    add_calls(spans, &writer, event->calls);
    json_end_array(&writer);
    json_write_string(&writer, "finish_reason", finish_reason == NULL ? "error" : finish_reason);
    json_end_object(&writer);
    json_end_array(&writer);
}
