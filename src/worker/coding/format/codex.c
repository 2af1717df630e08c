// SPDX-License-Identifier: Apache-2.0
/*
 * `codex exec --json`. There is no event for the whole session: the last turn's end is its result.
 * Errors have a message only; items of the type "error" are mere warnings. Usage is the total of
 * the thread, also of turns before a resume: who keeps what was seen subtracts it.
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
    said->has_usage = true;
    said->usage = (struct model_usage){0}; /* A total: the last one counts. */
    coding_add_tokens(&said->usage.input, json_get_int(usage, "input_tokens", 0));
    coding_add_tokens(&said->usage.output, json_get_int(usage, "output_tokens", 0));
    coding_add_tokens(&said->usage.cached, json_get_int(usage, "cached_input_tokens", 0));
    coding_add_tokens(&said->usage.cache_written,
                      json_get_int(usage, "cache_write_input_tokens", 0));
    coding_add_tokens(&said->usage.reasoning, json_get_int(usage, "reasoning_output_tokens", 0));
}

static const char *tool_name(struct json_object *item, const char *type)
{
    return strcmp(type, "command_execution") == 0 ? "shell"
           : strcmp(type, "mcp_tool_call") == 0   ? json_get_string(item, "tool", type)
                                                  : type;
}

static struct json_object *tool_input(struct json_object *item)
{
    static const char *const names[] = {"command", "changes", "arguments", "query"};
    struct json_object *input = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && input == NULL; i++) {
        input = json_member(item, names[i]);
    }
    return input;
}

static bool is_tool(const char *type)
{
    static const char *const types[] = {"command_execution", "file_change", "mcp_tool_call",
                                        "web_search", "patch_apply"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        is_one = is_one || strcmp(types[i], type) == 0;
    }
    return is_one;
}

static void read_tool(struct coding_reader *reader, struct json_object *item, const char *type,
                      bool is_over)
{
    const char *id = json_get_string(item, "id", NULL);
    const char *status = json_get_string(item, "status", "");
    if (!is_over) {
        coding_call(reader, id, tool_name(item, type), tool_input(item));
        return;
    }
    bool is_declined = strcmp(status, "declined") == 0;
    bool has_failed =
        is_declined || strcmp(status, "failed") == 0 || json_get_int(item, "exit_code", 0) != 0;
    struct json_object *output = json_member(item, "aggregated_output");
    coding_result(reader, id, tool_name(item, type), output == NULL ? tool_input(item) : output,
                  has_failed);
    if (is_declined) {
        coding_deny(reader, tool_name(item, type));
    }
}

static void read_item(struct coding_reader *reader, struct json_object *line, bool is_over)
{
    struct json_object *item = json_member(line, "item");
    const char *type = json_get_string(item, "type", json_get_string(item, "item_type", ""));
    if (strcmp(type, "agent_message") == 0 || strcmp(type, "assistant_message") == 0) {
        coding_say(reader, is_over ? json_get_string(item, "text", NULL) : NULL);
    } else if (is_tool(type)) {
        read_tool(reader, item, type, is_over);
    }
}

static void read_error(struct coding_reader *reader, const char *message)
{
    coding_fail(reader, 0, NULL, message, false);
}

void coding_read_codex(struct coding_reader *reader, struct json_object *line)
{
    struct coding_said *said = coding_reader_said(reader);
    const char *type = json_get_string(line, "type", "");
    if (strcmp(type, "thread.started") == 0) {
        coding_keep_word(said->session, json_get_string(line, "thread_id", NULL));
    } else if (strcmp(type, "item.started") == 0 || strcmp(type, "item.completed") == 0) {
        read_item(reader, line, strcmp(type, "item.completed") == 0);
    } else if (strcmp(type, "turn.completed") == 0) {
        said->has_result = true;
        coding_recover(reader); /* An error before was one that was tried again. */
        read_usage(said, json_member(line, "usage"));
    } else if (strcmp(type, "turn.failed") == 0) {
        said->has_result = true;
        read_error(reader, json_get_string(json_member(line, "error"), "message", NULL));
    } else if (strcmp(type, "error") == 0) {
        read_error(reader, json_get_string(line, "message", NULL));
    } else if (strcmp(type, "turn.started") != 0 && strcmp(type, "item.updated") != 0) {
        said->unknown_lines++;
    }
}
