// SPDX-License-Identifier: Apache-2.0
/*
 * `gemini -o stream-json`. Words come in parts (`delta`). A call that needs permission which nobody
 * can give has a result with an error of the type "POLICY_VIOLATION" or the like.
 */
#include "base/json/json.h"
#include "worker/coding/reader.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static void read_message(struct coding_reader *reader, struct json_object *line)
{
    if (strcmp(json_get_string(line, "role", ""), "assistant") != 0) {
        return;
    }
    const char *words = json_get_string(line, "content", NULL);
    if (json_get_bool(line, "delta", false)) {
        coding_say_part(reader, words);
    } else {
        coding_say(reader, words);
    }
}

static void read_result(struct coding_reader *reader, struct json_object *line)
{
    struct json_object *error = json_member(line, "error");
    const char *type = json_get_string(error, "type", "");
    bool is_error = strcmp(json_get_string(line, "status", ""), "success") != 0;
    struct json_object *output = json_member(line, "output");
    const char *name = json_get_string(line, "tool_name", NULL);
    coding_result(reader, json_get_string(line, "tool_id", NULL), name,
                  output == NULL ? json_member(error, "message") : output, is_error);
    if (strcmp(type, "policy_violation") == 0 || strcmp(type, "POLICY_VIOLATION") == 0 ||
        strcmp(type, "permission_denied") == 0) {
        coding_deny(reader, name);
    }
}

static void read_usage(struct coding_said *said, struct json_object *stats)
{
    if (!json_object_is_type(stats, json_type_object)) {
        return;
    }
    said->has_usage = true;
    said->usage = (struct model_usage){0};
    coding_add_tokens(&said->usage.input, json_get_int(stats, "input_tokens", 0));
    coding_add_tokens(&said->usage.output, json_get_int(stats, "output_tokens", 0));
    coding_add_tokens(&said->usage.cached, json_get_int(stats, "cached", 0));
}

/** A code may be a number or digits. */
static int64_t code_of(struct json_object *error)
{
    const char *digits = json_get_string(error, "code", NULL);
    return digits == NULL ? json_get_int(error, "code", 0) : strtoll(digits, NULL, 10);
}

/**
 * "[API Error: {"error":{"code":401,"message":"...","status":"UNAUTHENTICATED"}}]": what Google's
 * service has answered. @return json_object_put(); NULL when there is no such thing
 */
static struct json_object *parse_answer(const char *message)
{
    static const char beginning[] = "[API Error: {";
    const char *end = message == NULL ? NULL : strrchr(message, '}');
    if (end == NULL || strncmp(message, beginning, sizeof(beginning) - 1) != 0) {
        return NULL;
    }
    const char *text = message + sizeof(beginning) - 2;
    struct json_object *answer = NULL;
    (void)json_parse(text, (size_t)(end - text) + 1, &answer, NULL);
    return answer;
}

static void read_error(struct coding_reader *reader, struct json_object *error)
{
    struct json_object *answer = parse_answer(json_get_string(error, "message", NULL));
    struct json_object *inner = json_member(answer, "error");
    if (code_of(inner) != 0) {
        coding_fail(reader, code_of(inner), json_get_string(inner, "status", NULL),
                    json_get_string(inner, "message", NULL), false);
        json_object_put(answer);
        return;
    }
    json_object_put(answer);
    coding_fail(reader, code_of(error), json_get_string(error, "type", NULL),
                json_get_string(error, "message", NULL), false);
}

static void read_end(struct coding_reader *reader, struct json_object *line)
{
    struct coding_said *said = coding_reader_said(reader);
    coding_say_whole(reader);
    said->has_result = true;
    read_usage(said, json_member(line, "stats"));
    if (strcmp(json_get_string(line, "status", ""), "success") == 0) {
        coding_recover(reader);
    } else {
        read_error(reader, json_member(line, "error"));
    }
}

void coding_read_gemini(struct coding_reader *reader, struct json_object *line)
{
    struct coding_said *said = coding_reader_said(reader);
    const char *type = json_get_string(line, "type", "");
    if (strcmp(type, "init") == 0) {
        coding_keep_word(said->session, json_get_string(line, "session_id", NULL));
        coding_keep_word(said->model, json_get_string(line, "model", NULL));
    } else if (strcmp(type, "message") == 0) {
        read_message(reader, line);
    } else if (strcmp(type, "tool_use") == 0) {
        coding_call(reader, json_get_string(line, "tool_id", NULL),
                    json_get_string(line, "tool_name", NULL), json_member(line, "parameters"));
    } else if (strcmp(type, "tool_result") == 0) {
        read_result(reader, line);
    } else if (strcmp(type, "error") == 0) {
        /* `severity` warning is none that ends anything; whether the other does, the result says.
         */
        bool is_warning = strcmp(json_get_string(line, "severity", ""), "warning") == 0;
        if (!is_warning) {
            read_error(reader, line);
        }
    } else if (strcmp(type, "result") == 0) {
        read_end(reader, line);
    } else {
        said->unknown_lines++;
    }
}
