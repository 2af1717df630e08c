// SPDX-License-Identifier: Apache-2.0
/*
 * `opencode run --format json`. There is no summary at the end: a step that finished for the reason
 * "stop" is the result, and usage and cost are the sum over the steps. Input excludes cached
 * tokens.
 */
#include "base/json/json.h"
#include "worker/coding/reader.h"

#include <json-c/json.h>
#include <string.h>

static void read_tool(struct coding_reader *reader, struct json_object *part)
{
    struct json_object *state = json_member(part, "state");
    struct json_object *output = json_member(state, "output");
    struct json_object *error = json_member(state, "error");
    const char *id = json_get_string(part, "callID", json_get_string(part, "id", NULL));
    const char *name = json_get_string(part, "tool", NULL);
    const char *status = json_get_string(state, "status", "");
    bool has_failed = strcmp(status, "error") == 0 ||
                      json_get_int(json_member(state, "metadata"), "exit", 0) != 0;
    coding_call(reader, id, name, json_member(state, "input"));
    coding_result(reader, id, name, output == NULL ? error : output, has_failed);
}

static void read_step(struct coding_reader *reader, struct json_object *part)
{
    struct coding_said *said = coding_reader_said(reader);
    struct json_object *tokens = json_member(part, "tokens");
    struct json_object *cache = json_member(tokens, "cache");
    int64_t cached = json_get_int(cache, "read", 0);
    int64_t written = json_get_int(cache, "write", 0);
    struct model_usage *usage = &said->usage;
    said->has_usage = said->has_usage || tokens != NULL;
    coding_add_tokens(&usage->input, json_get_int(tokens, "input", 0));
    coding_add_tokens(&usage->input, cached);
    coding_add_tokens(&usage->input, written);
    coding_add_tokens(&usage->output, json_get_int(tokens, "output", 0));
    coding_add_tokens(&usage->output, json_get_int(tokens, "reasoning", 0));
    coding_add_tokens(&usage->cached, cached);
    coding_add_tokens(&usage->cache_written, written);
    coding_add_tokens(&usage->reasoning, json_get_int(tokens, "reasoning", 0));
    coding_add_cost(said, coding_cost(json_member(part, "cost")));
    said->has_result = strcmp(json_get_string(part, "reason", ""), "tool-calls") != 0;
    coding_recover(reader);
}

static void read_error(struct coding_reader *reader, struct json_object *error)
{
    struct json_object *data = json_member(error, "data");
    coding_reader_said(reader)->has_result = true;
    coding_fail(reader, json_get_int(data, "statusCode", 0), json_get_string(error, "name", NULL),
                json_get_string(data, "message", NULL), json_get_bool(data, "isRetryable", false));
}

void coding_read_opencode(struct coding_reader *reader, struct json_object *line)
{
    struct coding_said *said = coding_reader_said(reader);
    const char *type = json_get_string(line, "type", "");
    struct json_object *part = json_member(line, "part");
    coding_keep_word(said->session, json_get_string(line, "sessionID", NULL));
    if (strcmp(type, "text") == 0) {
        coding_say(reader, json_get_string(part, "text", NULL));
    } else if (strcmp(type, "tool_use") == 0) {
        read_tool(reader, part);
    } else if (strcmp(type, "step_finish") == 0) {
        read_step(reader, part);
    } else if (strcmp(type, "error") == 0) {
        read_error(reader, json_member(line, "error"));
    } else if (strcmp(type, "step_start") != 0 && strcmp(type, "reasoning") != 0) {
        said->unknown_lines++;
    }
}
