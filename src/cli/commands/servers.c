// SPDX-License-Identifier: Apache-2.0
/* rondo servers: the servers of a store. They need not be asked; it reads the store. */
#include "orchestrator/servers.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct servers_values {
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row servers_options[] = {
    OPTION_ROW_STORE(struct servers_values),
    OPTION_ROW_JSON(struct servers_values, "One JSON object per line, one for each server"),
    OPTION_ROW_NO_COLOUR(struct servers_values),
    {0},
};

static const struct table_column columns[] = {
    {"NAME", false, true}, {"STATE", false, true},   {"POOL", false, true},
    {"RUNS", true, false}, {"ADDRESS", false, true}, {"VERSION", false, false},
};

static void add_cell(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text[0] == '\0' ? "-" : text, text[0] == '\0' ? 1 : strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

static void add_state(struct table *table, const struct server_info *server)
{
    auto_buf struct buf state = {0};
    char utc[CLOCK_UTC_SIZE];
    if (server->is_alive) {
        buf_append_string(&state, "alive");
    } else {
        clock_format_utc(server->seen_ns, utc);
        buf_append_string(&state, "not seen since ");
        text_moment(utc, clock_now(clock_system()), &state);
    }
    add_cell(table, buf_string(&state));
}

static void add_server(struct table *table, const struct server_info *server)
{
    char runs[64];
    snprintf(runs, sizeof(runs), "%" PRIu64 "/%" PRIu64, server->executing, server->capacity);
    add_cell(table, server->name);
    add_state(table, server);
    add_cell(table, server->pool);
    add_cell(table, server->is_alive ? runs : "");
    add_cell(table, server->address);
    add_cell(table, server->version);
}

static void print_table(const struct server_info *list, size_t count, bool no_colour)
{
    auto_buf struct buf out = {0};
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
    if (count == 0) {
        fprintf(stderr, "no servers; `rondo serve` starts one\n");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        add_server(&table, &list[i]);
    }
    struct style style = style_for(stdout, no_colour);
    table_draw(&table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
    report_output(&out);
    table_fini(&table);
}

static void print_json(const struct server_info *list, size_t count)
{
    auto_buf struct buf out = {0};
    for (size_t i = 0; i < count; i++) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        server_write_members(&list[i], &writer);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
    }
    report_output(&out);
}

static int list_servers(const struct servers_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct server_info *list = NULL;
    size_t count = 0;
    struct session_options options = {.store = values->store, .access = STORE_READING};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = servers_read(session.store, clock_system(), &list, &count, &err);
        r = r < 0 ? r : servers_count_executing(session.store, list, count, &err);
        session_close(&session);
    }
    if (r == 0 && values->wants_json != 0) {
        print_json(list, count);
    } else if (r == 0) {
        print_table(list, count, values->no_colour != 0);
    }
    free(list);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : 0;
}

int cmd_servers(const struct invocation *invocation)
{
    struct servers_values values = {0};
    struct option_set set = {.rows = servers_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (!parsed.is_over) {
        parsed.exit_code = list_servers(&values);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
