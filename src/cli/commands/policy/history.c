// SPDX-License-Identifier: Apache-2.0
/* rondo policy history: which policies were in force, newest first. */
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Entries shown when nothing else is asked for. */
#define DEFAULT_LIMIT 20
/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct history_values {
    int64_t limit;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row policy_history_options[] = {
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct history_values, limit),
     .argument = "N",
     .by_default = "20",
     .help = "At most N, newest first",
     .group = "Selection",
     .low = 1,
     .high = 1000000},
    OPTION_ROW_STORE(struct history_values),
    OPTION_ROW_JSON(struct history_values, "One JSON object per line, one for each entry"),
    OPTION_ROW_NO_COLOUR(struct history_values),
    {0},
};

static const struct table_column columns[] = {
    {"N", true, false},       {"WHEN", false, false}, {"HOW", false, false},
    {"DIGEST", false, false}, {"BY", false, true},    {"SOURCE", false, true},
};

struct policy_table {
    struct table table;
    struct buf json;
    bool wants_json;
    int64_t shown;
    int64_t limit;
};

static void add_clean(struct policy_table *listing, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(&listing->table, buf_string(&clean));
}

static void add_row(struct policy_table *listing, const struct store_policy_change *change)
{
    auto_buf struct buf cell = {0};
    buf_printf(&cell, "%" PRIu64, change->number);
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    text_time(change->time_ns, &cell);
    table_add(&listing->table, buf_string(&cell));
    add_clean(listing, change->how);
    buf_clear(&cell);
    buf_append(&cell, change->digest, SHORT_DIGEST_LEN);
    table_add(&listing->table, buf_string(&cell));
    add_clean(listing, change->by);
    add_clean(listing, change->source);
}

static void add_json(struct policy_table *listing, const struct store_policy_change *change)
{
    struct json_writer writer = json_writer(&listing->json);
    char when[CLOCK_UTC_SIZE];
    clock_format_utc(change->time_ns, when);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "number", (int64_t)change->number);
    json_write_string(&writer, "time", when);
    json_write_string(&writer, "how", change->how);
    json_write_string(&writer, "digest", change->digest);
    json_write_string(&writer, "by", change->by);
    json_write_string(&writer, "source", change->source);
    json_write_int(&writer, "bytes", (int64_t)change->text_len);
    json_end_object(&writer);
    buf_append(&listing->json, "\n", 1);
}

static bool take_change(const struct store_policy_change *change, void *context)
{
    struct policy_table *listing = context;
    listing->shown++;
    if (listing->wants_json) {
        add_json(listing, change);
    } else {
        add_row(listing, change);
    }
    return listing->shown < listing->limit;
}

static void print_listing(const struct policy_table *listing, bool no_colour)
{
    if (listing->wants_json) {
        report_output(&listing->json);
        return;
    }
    if (listing->shown == 0) {
        fputs("no policies are recorded: runs used the built-in ones; set policies with `rondo "
              "policy set FILE`\n",
              stderr);
        return;
    }
    auto_buf struct buf out = {0};
    struct style style = style_for(stdout, no_colour);
    table_draw(&listing->table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
    report_output(&out);
}

static int run_history(const struct history_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    struct policy_table listing = {
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
        .wants_json = values->wants_json != 0,
        .limit = values->limit,
    };
    int r = session.store->ops->read_policies(session.store, NULL, 0, take_change, &listing, &err);
    if (r == 0) {
        print_listing(&listing, values->no_colour != 0);
    }
    table_fini(&listing.table);
    buf_fini(&listing.json);
    session_close(&session);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : 0;
}

int cmd_policy_history(const struct invocation *invocation)
{
    struct history_values values = {.limit = DEFAULT_LIMIT};
    struct option_set set = {.rows = policy_history_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_history(&values);
    option_set_fini(&set);
    return exit_code;
}
