// SPDX-License-Identifier: Apache-2.0
/* The tool type `slack`: sends messages to an incoming webhook, whose URL is a secret. */
#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "model/key/secret.h"
#include "tool/builtin/http_call.h"
#include "tool/toolbox.h"
#include "tool/types.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S          30
#define RESPONSE_MAX_BYTES 1024

struct slack_tool {
    const struct tool_surroundings *around;
    struct json_object *config; /* borrowed */
    char *url;
    struct tool_headers headers;
};

static void free_slack_tool(void *owned)
{
    struct slack_tool *self = owned;
    tool_headers_fini(&self->headers);
    secret_free_string(self->url);
    free(self);
}

static void write_member(struct json_writer *writer, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        json_write_string(writer, key, text);
    }
}

/** The blocks that were given, as JSON; "" = none. @return false when a text is not JSON */
static bool read_blocks(struct json_object *arguments, struct buf *ret_json)
{
    struct json_object *blocks = NULL;
    auto_json struct json_object *parsed = NULL;
    if (!json_object_object_get_ex(arguments, "blocks", &blocks) || blocks == NULL) {
        return true;
    }
    if (json_object_is_type(blocks, json_type_string)) {
        const char *text = json_object_get_string(blocks);
        if (text[strspn(text, " \t\r\n")] == '\0') {
            return true;
        }
        if (json_parse(text, strlen(text), &parsed, NULL) < 0 ||
            !json_object_is_type(parsed, json_type_array)) {
            return false;
        }
        blocks = parsed;
    }
    buf_append_string(ret_json, json_object_to_json_string_ext(blocks, JSON_C_TO_STRING_PLAIN));
    return true;
}

static void write_message(const struct slack_tool *self, struct json_object *arguments,
                          const char *blocks, struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    const char *channel = json_get_string(arguments, "channel", "");
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "text", json_get_string(arguments, "text", ""));
    write_member(&writer, "channel",
                 channel[0] != '\0' ? channel
                                    : json_get_string(self->config, "default_channel", NULL));
    write_member(&writer, "username", json_get_string(self->config, "username", NULL));
    write_member(&writer, "icon_emoji", json_get_string(self->config, "icon_emoji", NULL));
    if (blocks[0] != '\0') {
        json_write_raw(&writer, "blocks", blocks);
    }
    json_end_object(&writer);
}

static void say_reply(const struct http_response *response, size_t most, struct tool_result *result)
{
    if (response->status >= 200 && response->status <= 299) {
        buf_append(&result->text, buf_string(&response->body), response->body.len);
    } else {
        tool_fail(result, "Slack API error: %ld ", response->status);
        most += result->text.len;
        buf_append(&result->text, buf_string(&response->body), response->body.len);
    }
    tool_result_truncate(result, most);
}

static size_t max_response_bytes(const struct slack_tool *self)
{
    int64_t bytes = json_get_int(self->config, "max_response_bytes", RESPONSE_MAX_BYTES);
    if (bytes < 0) {
        return 0;
    }
    return bytes > (int64_t)TOOL_RESULT_MAX_BYTES ? TOOL_RESULT_MAX_BYTES : (size_t)bytes;
}

static void run_send(const struct tool *tool, const struct tool_call *call,
                     struct tool_result *ret_result)
{
    const struct slack_tool *self = tool->context;
    size_t most = max_response_bytes(self);
    auto_buf struct buf blocks = {0};
    auto_buf struct buf body = {0};
    struct http_response response;
    if (self->headers.missing != NULL) {
        tool_fail_missing(ret_result, self->headers.missing);
        return;
    }
    if (!read_blocks(call->arguments, &blocks)) {
        tool_fail(ret_result, "Error: blocks is not a JSON array");
        return;
    }
    write_message(self, call->arguments, buf_string(&blocks), &body);
    const struct tool_http_request request = {
        .method = "POST",
        .url = self->url,
        .headers = &self->headers,
        .body = buf_string(&body),
        .timeout_s = json_get_int(self->config, "timeout_seconds", TIMEOUT_S),
        .max_body_bytes = most + 1,
        .failure_text = "Slack connection error: ",
    };
    if (tool_http_call(self->around, call, &request, &response, ret_result)) {
        say_reply(&response, most, ret_result);
    }
    http_response_fini(&response);
}

static const struct tool_function send_function = {
    .name = "send_slack_message",
    .description = "Send a message to Slack.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"text\":{\"type\":\"string\",\"description\":\"The message\"},"
              "\"channel\":{\"type\":\"string\",\"default\":\"\","
              "\"description\":\"Channel, when it is not the usual one\"},"
              "\"blocks\":{\"type\":[\"array\",\"string\",\"null\"],\"default\":null,"
              "\"description\":\"Block Kit blocks\"}},"
              "\"required\":[\"text\"],\"additionalProperties\":false}",
    .run = run_send,
    .is_concurrent = true,
};

static int open_slack(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct slack_tool *self = memory_new_zero(1, sizeof(*self));
    toolbox_own(toolbox, self, free_slack_tool);
    self->around = toolbox_surroundings(toolbox);
    self->config = config;
    self->url = tool_expand(self->around->dotenv, json_get_string(config, "webhook_url", ""),
                            &self->headers.missing);
    tool_headers_set(&self->headers, "Content-Type", "application/json");
    return toolbox_add_function(toolbox, slack_tool_type.name, &send_function, self, err);
}

const struct tool_type slack_tool_type = {.name = "slack", .open = open_slack};
