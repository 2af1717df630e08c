// SPDX-License-Identifier: Apache-2.0
/* rondo tools call: one call, made as an agent makes it but without asking policies or people. */
#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "cli/commands/tools_source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "mcp/mcp.h"

#include <json-c/json.h>
#include <stdint.h>
#include <string.h>

#define WORDS_MAX 1000

struct call_values {
    struct tools_values tools;
    int64_t wants_json;
};

const struct option_row tools_call_options[] = {
    OPTION_ROWS_TOOLS(struct call_values),
    OPTION_ROW_JSON(struct call_values, "One JSON object: text, is_error, exit_code"),
    {0},
};

static void print(const struct tool_result *result, bool wants_json)
{
    auto_buf struct buf out = {0};
    if (!wants_json) {
        text_clean_lines(buf_string(&result->text), result->text.len, &out);
        if (out.len > 0 && out.data[out.len - 1] != '\n') {
            buf_append(&out, "\n", 1);
        }
        report_output(&out);
        return;
    }
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_write_string_len(&writer, "text", buf_string(&result->text), result->text.len);
    json_write_bool(&writer, "is_error", result->is_error);
    json_write_bool(&writer, "is_truncated", result->is_truncated);
    if (result->has_exit_code) {
        json_write_int(&writer, "exit_code", result->exit_code);
    } else {
        json_write_null(&writer, "exit_code");
    }
    json_end_object(&writer);
    buf_append(&out, "\n", 1);
    report_output(&out);
}

/** @return exit code */
static int make_call(const struct toolbox *toolbox, const struct call_values *values,
                     const char *name, const char *arguments)
{
    struct tool_result result = {0};
    auto_json struct json_object *object = NULL;
    int code = EXIT_USAGE;
    if (toolbox_prepare(toolbox, name, arguments, &object, &result) == TOOL_READY) {
        int64_t timeout = values->tools.timeout_ns > 0 ? values->tools.timeout_ns : MCP_TIMEOUT_NS;
        const struct tool_call call = {
            .id = "1",
            .idempotency_key = "rondo-tools-call",
            .arguments = object,
            .deadline_ns = clock_monotonic(clock_system()) + timeout,
        };
        toolbox_call(toolbox, toolbox_find(toolbox, name), &call, &result);
        code = result.is_error ? EXIT_OTHER : EXIT_OK;
    } else {
        result.is_error = true;
    }
    print(&result, values->wants_json != 0);
    tool_result_fini(&result);
    return code;
}

static int call(const struct invocation *invocation, const struct call_values *values, int after,
                int argc, char **argv)
{
    char **words = tools_split_command(after, &argc, argv);
    int r = tools_check_values(invocation->command, &values->tools, words);
    if (r != 0) {
        return r;
    }
    if (argc < 1 || argc > 2) {
        return command_misuse(invocation->command,
                              argc < 1 ? "no tool given" : "arguments must be one JSON object");
    }
    struct rondo_error err = {0};
    struct tools_source *source = NULL;
    if (tools_source_open(&values->tools, words, &source, &err) != 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    r = make_call(tools_source_toolbox(source), values, argv[0], argc == 2 ? argv[1] : "");
    tools_source_close(source);
    return r;
}

int cmd_tools_call(const struct invocation *invocation)
{
    struct call_values values = {0};
    struct option_set set = {.rows = tools_call_options, .values = &values};
    int after = tools_words_after(invocation);
    struct parsed parsed = command_parse(invocation, &set, 1, WORDS_MAX);
    int code = parsed.is_over ? parsed.exit_code
                              : call(invocation, &values, after, parsed.argc, parsed.argv);
    option_set_fini(&set);
    return code;
}
