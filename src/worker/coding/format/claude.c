// SPDX-License-Identifier: Apache-2.0
/*
 * `--output-format stream-json` of Claude Code, which Amp and Cursor write as well. Usage and cost
 * are taken from the result only: those of single messages are partial. `subtype` says "success"
 * even when the API refused; `is_error` and `api_error_status` are what counts.
 */
#include "base/clock.h"
#include "base/json/json.h"
#include "worker/coding/reader.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** Times that the service refuses a key until the session is ended. */
#define MOST_REFUSALS 3

static void read_call(struct coding_reader *reader, struct json_object *block)
{
    coding_call(reader, json_get_string(block, "id", NULL), json_get_string(block, "name", NULL),
                json_member(block, "input"));
}

/** The content of a result: a text, or blocks of text. */
static struct json_object *output_of(struct json_object *block)
{
    struct json_object *content = json_member(block, "content");
    struct json_object *first =
        json_length(content) == 1 ? json_object_array_get_idx(content, 0) : NULL;
    struct json_object *text = json_member(first, "text");
    return text != NULL ? text : content;
}

static void read_blocks(struct coding_reader *reader, struct json_object *line)
{
    struct json_object *content = json_member(json_member(line, "message"), "content");
    for (size_t i = 0; i < json_length(content); i++) {
        struct json_object *block = json_object_array_get_idx(content, i);
        const char *type = json_get_string(block, "type", "");
        if (strcmp(type, "text") == 0) {
            coding_say(reader, json_get_string(block, "text", NULL));
        } else if (strcmp(type, "tool_use") == 0) {
            read_call(reader, block);
        } else if (strcmp(type, "tool_result") == 0) {
            coding_result(reader, json_get_string(block, "tool_use_id", NULL), NULL,
                          output_of(block), json_get_bool(block, "is_error", false));
        }
    }
}

static void read_usage(struct coding_said *said, struct json_object *usage)
{
    if (!json_object_is_type(usage, json_type_object)) {
        return;
    }
    said->has_usage = true;
    said->usage = (struct model_usage){0};
    coding_add_tokens(&said->usage.cached, json_get_int(usage, "cache_read_input_tokens", 0));
    coding_add_tokens(&said->usage.cache_written,
                      json_get_int(usage, "cache_creation_input_tokens", 0));
    coding_add_tokens(&said->usage.input, json_get_int(usage, "input_tokens", 0));
    coding_add_tokens(&said->usage.input, said->usage.cached);
    coding_add_tokens(&said->usage.input, said->usage.cache_written);
    coding_add_tokens(&said->usage.output, json_get_int(usage, "output_tokens", 0));
}

/** "error_max_turns" is a limit of the agent's own, named max_turns. */
static void read_end(struct coding_reader *reader, struct json_object *line)
{
    static const char limit[] = "error_max_";
    struct coding_said *said = coding_reader_said(reader);
    const char *subtype = json_get_string(line, "subtype", "");
    const char *words = json_get_string(line, "result", NULL);
    bool is_limit = strncmp(subtype, limit, sizeof(limit) - 1) == 0;
    if (is_limit) {
        coding_keep_word(said->limit, subtype + strlen("error_"));
    } else if (json_get_bool(line, "is_error", false) || strncmp(subtype, "error", 5) == 0) {
        bool is_said = strcmp(subtype, "success") != 0; /* It says so of failures, too. */
        coding_fail(reader, json_get_int(line, "api_error_status", 0), is_said ? subtype : NULL,
                    words, false);
    }
}

static void read_denials(struct coding_reader *reader, struct json_object *list)
{
    for (size_t i = 0; i < json_length(list); i++) {
        coding_deny(reader, json_get_string(json_object_array_get_idx(list, i), "tool_name", NULL));
    }
}

static void read_final(struct coding_reader *reader, struct json_object *line)
{
    struct coding_said *said = coding_reader_said(reader);
    said->has_result = true;
    coding_recover(reader);
    read_usage(said, json_member(line, "usage"));
    said->cost_micro = coding_cost(json_member(line, "total_cost_usd"));
    read_denials(reader, json_member(line, "permission_denials"));
    read_end(reader, line);
    const char *words = json_get_string(line, "result", NULL);
    bool is_new = words != NULL && strcmp(words, buf_string(&said->answer)) != 0;
    if (is_new && !said->error.is_set) {
        coding_say(reader, words);
    }
}

/** {"rate_limit_info":{"status":"rejected","resetsAt":SECONDS}}; others only warn. */
static void read_rate_limit(struct coding_reader *reader, struct json_object *line)
{
    struct json_object *info = json_member(line, "rate_limit_info");
    int64_t resets_s = json_get_int(info, "resetsAt", 0);
    bool is_rejected = strcmp(json_get_string(info, "status", ""), "rejected") == 0;
    if (is_rejected && resets_s > 0 && resets_s < INT64_MAX / NS_PER_S) {
        coding_reader_said(reader)->resets_ns = resets_s * NS_PER_S;
    }
}

/**
 * {"subtype":"api_retry","attempt":N,"error_status":401,"error":"authentication_failed"}: up to ten
 * attempts over minutes. A login that has expired is renewed before the second.
 */
static void read_retry(struct coding_reader *reader, struct json_object *line)
{
    int64_t status = json_get_int(line, "error_status", 0);
    bool is_refused = status == 401 || status == 403;
    if (is_refused && json_get_int(line, "attempt", 0) >= MOST_REFUSALS) {
        coding_fail(reader, status, json_get_string(line, "error", NULL),
                    "the key or the login is refused", false);
        coding_reader_said(reader)->is_hopeless = true;
    }
}

void coding_read_claude(struct coding_reader *reader, struct json_object *line)
{
    struct coding_said *said = coding_reader_said(reader);
    const char *type = json_get_string(line, "type", "");
    coding_keep_word(said->session, json_get_string(line, "session_id", NULL));
    if (strcmp(type, "system") == 0) {
        coding_keep_word(said->model, json_get_string(line, "model", NULL));
        if (strcmp(json_get_string(line, "subtype", ""), "api_retry") == 0) {
            read_retry(reader, line);
        }
    } else if (strcmp(type, "assistant") == 0 || strcmp(type, "user") == 0) {
        read_blocks(reader, line);
    } else if (strcmp(type, "result") == 0) {
        read_final(reader, line);
    } else if (strcmp(type, "rate_limit_event") == 0) {
        read_rate_limit(reader, line);
    } else {
        said->unknown_lines++;
    }
}
