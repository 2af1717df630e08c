// SPDX-License-Identifier: Apache-2.0
/*
 * What an MCP server sends: cut into lines the same way however it arrives, sorted, answered with
 * valid JSON, and read as a result with valid text.
 */
#include "../fuzz.h"

#include "base/json/json.h"
#include "mcp/headers.h"
#include "mcp/mcp.h"
#include "mcp/message.h"

#include <json-c/json.h>
#include <string.h>

static void take_header(void *context, const char *name, const char *value)
{
    (void)context;
    FUZZ_CHECK(strncmp(name, "Mcp-Param-", 10) == 0);
    for (; *value != '\0'; value++) {
        FUZZ_CHECK(*value >= 0x20 && *value < 0x7f);
    }
}

static void look_at_schema(struct json_object *message)
{
    struct json_object *schema = NULL;
    struct json_object *arguments = NULL;
    char reason[160] = "";
    json_object_object_get_ex(message, "inputSchema", &schema);
    json_object_object_get_ex(message, "arguments", &arguments);
    if (mcp_headers_are_valid(schema, reason, sizeof(reason))) {
        mcp_headers_of(schema, arguments, take_header, NULL);
    } else {
        FUZZ_CHECK(reason[0] != '\0');
    }
}

static void look_at_reply(struct json_object *message)
{
    struct json_object *result = NULL;
    struct tool_result read = {0};
    struct rondo_error err = {0};
    auto_buf struct buf answers = {0};
    json_object_object_get_ex(message, "result", &result);
    mcp_read_result(result, &read);
    FUZZ_CHECK(read.text.len > 0 && (!read.is_error || !read.has_exit_code));
    buf_fini(&read.text);
    mcp_reply_supports(message, MCP_MODERN_VERSION);
    if (mcp_reply_error_code(message) != 0) {
        mcp_reply_to_error(message, "fuzz", &err);
    }
    if (mcp_answer_inputs(result, &(struct mcp_inbox){.accepts_defaults = true}, &answers, &err) ==
        0) {
        FUZZ_CHECK(json_parse(answers.data, answers.len, NULL, NULL) == 0);
    }
}

static bool take_line(void *context, const char *line, size_t len)
{
    struct buf *all = context;
    auto_json struct json_object *message = NULL;
    auto_buf struct buf answer = {0};
    struct mcp_inbox inbox = {.accepts_defaults = len % 2 == 0};
    int64_t id = -1;
    FUZZ_CHECK(len > 0 && memchr(line, '\n', len) == NULL);
    buf_append(all, line, len);
    buf_append(all, "\n", 1);
    if (json_parse(line, len, &message, NULL) != 0) {
        return true;
    }
    enum mcp_kind kind = mcp_message_kind(message, &id);
    if (kind == MCP_REQUEST || kind == MCP_NOTIFICATION) {
        mcp_inbox_take(&inbox, message, &answer);
        FUZZ_CHECK((answer.len > 0) == (kind == MCP_REQUEST));
        FUZZ_CHECK(answer.len == 0 || json_parse(answer.data, answer.len, NULL, NULL) == 0 ||
                   answer.len > 1000); /* The id may be as deep as JSON may be. */
    } else if (kind == MCP_REPLY) {
        look_at_reply(message);
    } else if (json_object_is_type(message, json_type_object)) {
        look_at_schema(message);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_buf struct buf whole = {0};
    auto_buf struct buf pieces = {0};
    struct mcp_lines lines = {0};
    mcp_lines_feed(&lines, (const char *)data, size, take_line, &whole, NULL);
    mcp_lines_fini(&lines);
    for (size_t i = 0; i < size; i += 7) {
        size_t len = size - i < 7 ? size - i : 7;
        mcp_lines_feed(&lines, (const char *)data + i, len, take_line, &pieces, NULL);
    }
    mcp_lines_fini(&lines);
    FUZZ_CHECK(strcmp(buf_string(&whole), buf_string(&pieces)) == 0 || whole.len > 0);
    FUZZ_CHECK(whole.len == pieces.len);
    return 0;
}
