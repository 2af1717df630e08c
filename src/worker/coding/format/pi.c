// SPDX-License-Identifier: Apache-2.0
/*
 * `pi --mode json`. It exits with 0 when the API failed: what the last message of the model says
 * (`stopReason`, `errorMessage`) is what counts. Input excludes cached tokens.
 */
#include "base/json/json.h"
#include "worker/coding/reader.h"

#include <json-c/json.h>
#include <string.h>

static void read_usage(struct coding_said *said, struct json_object *usage)
{
    if (!json_object_is_type(usage, json_type_object)) {
        return;
    }
    int64_t cached = json_get_int(usage, "cacheRead", 0);
    int64_t written = json_get_int(usage, "cacheWrite", 0);
    said->has_usage = true;
    coding_add_tokens(&said->usage.input, json_get_int(usage, "input", 0));
    coding_add_tokens(&said->usage.input, cached);
    coding_add_tokens(&said->usage.input, written);
    coding_add_tokens(&said->usage.output, json_get_int(usage, "output", 0));
    coding_add_tokens(&said->usage.cached, cached);
    coding_add_tokens(&said->usage.cache_written, written);
    coding_add_cost(said, coding_cost(json_member(json_member(usage, "cost"), "total")));
}

static void read_words(struct coding_reader *reader, struct json_object *message)
{
    struct json_object *content = json_member(message, "content");
    for (size_t i = 0; i < json_length(content); i++) {
        struct json_object *block = json_object_array_get_idx(content, i);
        if (strcmp(json_get_string(block, "type", ""), "text") == 0) {
            coding_say(reader, json_get_string(block, "text", NULL));
        }
    }
}

static void read_message(struct coding_reader *reader, struct json_object *message)
{
    if (strcmp(json_get_string(message, "role", ""), "assistant") != 0) {
        return;
    }
    struct coding_said *said = coding_reader_said(reader);
    const char *stop = json_get_string(message, "stopReason", "");
    coding_keep_word(said->model, json_get_string(message, "model", NULL));
    read_usage(said, json_member(message, "usage"));
    read_words(reader, message);
    if (strcmp(stop, "error") == 0) {
        coding_fail(reader, 0, stop, json_get_string(message, "errorMessage", NULL), false);
    } else {
        coding_recover(reader);
    }
}

static void read_tool(struct coding_reader *reader, struct json_object *line, bool is_over)
{
    const char *id = json_get_string(line, "toolCallId", NULL);
    const char *name = json_get_string(line, "toolName", NULL);
    if (is_over) {
        struct json_object *result = json_member(line, "result");
        struct json_object *content = json_member(result, "content");
        struct json_object *first =
            json_length(content) == 1 ? json_object_array_get_idx(content, 0) : NULL;
        struct json_object *text = json_member(first, "text");
        coding_result(reader, id, name, text != NULL ? text : result,
                      json_get_bool(line, "isError", false));
    } else {
        coding_call(reader, id, name, json_member(line, "args"));
    }
}

/** An answer that is no stream of its model is an empty message for it, and no error. */
static void read_end(struct coding_reader *reader)
{
    struct coding_said *said = coding_reader_said(reader);
    said->has_result = true;
    if (said->messages + said->tool_calls == 0 && !said->error.is_set) {
        coding_fail(reader, 0, "empty", "the model said nothing", false);
    }
}

void coding_read_pi(struct coding_reader *reader, struct json_object *line)
{
    static const char *const silent[] = {
        "agent_start",           "turn_start",       "turn_end", "message_start", "message_update",
        "tool_execution_update", "auto_retry_start", NULL};
    struct coding_said *said = coding_reader_said(reader);
    const char *type = json_get_string(line, "type", "");
    if (strcmp(type, "session") == 0) {
        coding_keep_word(said->session, json_get_string(line, "id", NULL));
    } else if (strcmp(type, "message_end") == 0) {
        read_message(reader, json_member(line, "message"));
    } else if (strcmp(type, "tool_execution_start") == 0) {
        read_tool(reader, line, false);
    } else if (strcmp(type, "tool_execution_end") == 0) {
        read_tool(reader, line, true);
    } else if (strcmp(type, "agent_end") == 0) {
        read_end(reader);
    } else if (strcmp(type, "auto_retry_end") == 0) {
        const char *failure = json_get_string(line, "finalError", NULL);
        if (failure != NULL && !json_get_bool(line, "success", false)) {
            coding_fail(reader, 0, "error", failure, false);
        }
    } else {
        bool is_known = false;
        for (size_t i = 0; silent[i] != NULL; i++) {
            is_known = is_known || strcmp(silent[i], type) == 0;
        }
        said->unknown_lines += !is_known;
    }
}
