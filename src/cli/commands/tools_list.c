// SPDX-License-Identifier: Apache-2.0
/* rondo tools list: names and descriptions, with --json the schemas too. */
#include "base/json/json.h"
#include "base/text/plain.h"
#include "cli/commands/tools_source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/terminal/table.h"

#include <stdint.h>
#include <string.h>

/* Columns when the output is no terminal, and words of a command line. */
#define PIPE_COLUMNS 200
#define WORDS_MAX    1000

struct tools_list_values {
    struct tools_values tools;
    int64_t no_colour;
    int64_t wants_json;
};

const struct option_row tools_list_options[] = {
    OPTION_ROWS_TOOLS(struct tools_list_values),
    OPTION_ROW_JSON(struct tools_list_values, "One JSON object per line, with schemas"),
    OPTION_ROW_NO_COLOUR(struct tools_list_values),
    {0},
};

static const struct table_column columns[] = {
    {"TOOL", false, false},
    {"TYPE", false, false},
    {"", false, false},
    {"DESCRIPTION", false, true},
};

static void add_row(struct table *table, const struct tool *tool)
{
    auto_buf struct buf line = {0};
    const char *text = tool->description == NULL ? "" : tool->description;
    auto_buf struct buf name = {0};
    text_clean(text, strcspn(text, "\r\n"), &line);
    text_clean(tool->name, strlen(tool->name), &name);
    table_add(table, buf_string(&name));
    table_add(table, tool->type);
    table_add(table, tool->is_read_only || tool->is_pure ? "reads"
                     : tool->needs_confirmation          ? "asks"
                                                         : "");
    table_add(table, buf_string(&line));
}

static void add_json(struct buf *out, const struct tool *tool)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", tool->name);
    json_write_string(&writer, "description", tool->description);
    json_write_string(&writer, "type", tool->type);
    json_write_string(&writer, "server", tool->server);
    json_write_bool(&writer, "read_only", tool->is_read_only || tool->is_pure);
    json_write_bool(&writer, "idempotent", tool->is_idempotent);
    json_write_bool(&writer, "needs_confirmation", tool->needs_confirmation);
    json_write_raw(&writer, "schema", tool->schema == NULL ? "null" : tool->schema);
    json_end_object(&writer);
    buf_append(out, "\n", 1);
}

static void print(const struct toolbox *toolbox, const struct tools_list_values *values)
{
    auto_buf struct buf out = {0};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
    struct style style = style_for(stdout, values->no_colour != 0);
    for (size_t i = 0; i < toolbox_count(toolbox); i++) {
        if (values->wants_json) {
            add_json(&out, toolbox_at(toolbox, i));
        } else {
            add_row(&table, toolbox_at(toolbox, i));
        }
    }
    if (!values->wants_json && toolbox_count(toolbox) > 0) {
        table_draw(&table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
    } else if (!values->wants_json) {
        fputs("no tools\n", stderr);
    }
    report_output(&out);
    table_fini(&table);
}

static int list(const struct invocation *invocation, const struct tools_list_values *values,
                int after, int argc, char **argv)
{
    char **words = tools_split_command(after, &argc, argv);
    int r = tools_check_values(invocation->command, &values->tools, words);
    if (r != 0) {
        return r;
    }
    if (argc > 0) {
        return command_misuse(invocation->command, "put the server's command after --");
    }
    struct rondo_error err = {0};
    struct tools_source *source = NULL;
    if (tools_source_open(&values->tools, words, &source, &err) != 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    print(tools_source_toolbox(source), values);
    tools_source_close(source);
    return 0;
}

int cmd_tools_list(const struct invocation *invocation)
{
    struct tools_list_values values = {0};
    struct option_set set = {.rows = tools_list_options, .values = &values};
    int after = tools_words_after(invocation);
    struct parsed parsed = command_parse(invocation, &set, 0, WORDS_MAX);
    int code = parsed.is_over ? parsed.exit_code
                              : list(invocation, &values, after, parsed.argc, parsed.argv);
    option_set_fini(&set);
    return code;
}
