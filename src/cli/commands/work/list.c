// SPDX-License-Identifier: Apache-2.0
/* rondo work list, rondo work status: the work items of a store, and one of them with its history.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/parse.h"
#include "cli/commands/work/commands.h"
#include "cli/commands/work/items.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "issues/request.h"
#include "loop/owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Columns assumed where the output is no terminal. */
#define PIPE_COLUMNS 160
/** Lines of one item. */
#define STATUS_COLUMNS 100

struct work_list_values {
    char *repository;
    int64_t wants_all;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row work_list_options[] = {
    {.name = "repo",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct work_list_values, repository),
     .argument = "HOST/OWNER/NAME",
     .help = "Only the items of this repository",
     .group = "Selection"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct work_list_values, wants_all),
     .help = "Also the items that are done, cancelled or were taken over by others"},
    OPTION_ROW_STORE(struct work_list_values),
    OPTION_ROW_JSON(struct work_list_values, "One JSON object per line, one for each item"),
    OPTION_ROW_NO_COLOUR(struct work_list_values),
    {0},
};

const struct option_row work_status_options[] = {
    OPTION_ROW_STORE(struct work_list_values),
    OPTION_ROW_JSON(struct work_list_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct work_list_values),
    {0},
};

/* ---- What both show ------------------------------------------------------------------------- */

static enum colour colour_of(enum item_state state)
{
    switch (state) {
    case ITEM_DONE:
    case ITEM_IN_REVIEW:
        return COLOUR_GREEN;
    case ITEM_BLOCKED:
    case ITEM_FENCED:
        return COLOUR_RED;
    case ITEM_RETRY_LATER:
    case ITEM_NEEDS_HUMAN:
        return COLOUR_YELLOW;
    case ITEM_ASSIGNED:
    case ITEM_IN_PROGRESS:
        return COLOUR_BLUE;
    case ITEM_CANCELLED:
    case ITEM_STATE_COUNT:
        return COLOUR_PLAIN;
    }
    return COLOUR_PLAIN;
}

/** "blocked: attempts_spent", "cancelled: by_person, left alone until 2026-01-15 14:20:00". */
static void write_state(const struct item *item, const struct style *style, struct buf *ret_text)
{
    style_append(style, colour_of(item->state), item_state_name(item->state), ret_text);
    if (item->reason != ITEM_REASON_NONE) {
        buf_printf(ret_text, ": %s", item_reason_name(item->reason));
    }
    if (item->released_until_ns > clock_now(clock_system())) {
        buf_append_string(ret_text, ", left alone until ");
        text_time(item->released_until_ns, ret_text);
    }
}

static void add_time(int64_t duration_ns, struct buf *ret_text)
{
    char text[FORMAT_DURATION_SIZE];
    if (duration_ns > 0) {
        format_duration(duration_ns, text);
        buf_append_string(ret_text, text);
    }
}

/* ---- The list ------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    {"ISSUE", false, false},   {"STATE", false, false}, {"ATTEMPTS", true, false},
    {"TIME", true, false},     {"COST", true, false},   {"PULL", false, false},
    {"CHANGED", false, false}, {"WORKER", false, true}, {"TITLE", false, true},
};

struct item_table {
    const struct work_list_values *values;
    struct table table;
    struct style style;
    struct buf json;
    int64_t now_ns;
    size_t shown, left_out;
};

static void next_cell(struct item_table *listing, struct buf *cell)
{
    table_add(&listing->table, buf_string(cell));
    buf_clear(cell);
}

static void add_row(struct item_table *listing, const struct item *item)
{
    auto_buf struct buf cell = {0};
    char worker[OWNER_DESCRIPTION_SIZE];
    work_item_name(item, &cell);
    next_cell(listing, &cell);
    write_state(item, &listing->style, &cell);
    next_cell(listing, &cell);
    buf_printf(&cell, "%" PRId64, item->attempts);
    next_cell(listing, &cell);
    add_time(item->active_ns, &cell);
    next_cell(listing, &cell);
    if (item->cost_micro != 0) {
        text_cost(item->cost_micro, &cell);
    }
    next_cell(listing, &cell);
    if (item->pull > 0) {
        buf_printf(&cell, "#%" PRId64, item->pull);
    }
    next_cell(listing, &cell);
    text_age(listing->now_ns - item->updated_ns, &cell);
    next_cell(listing, &cell);
    work_item_worker(item, worker);
    table_add(&listing->table, worker);
    text_clean(item->title, strlen(item->title), &cell);
    next_cell(listing, &cell);
}

/** Nobody has to do anything about it any more. */
static bool is_settled(const struct item *item)
{
    return item->state == ITEM_DONE || item->state == ITEM_CANCELLED || item->state == ITEM_FENCED;
}

static bool take_item(const struct item *item, void *context)
{
    struct item_table *listing = context;
    if (!listing->values->wants_all && is_settled(item)) {
        listing->left_out++;
        return true;
    }
    listing->shown++;
    if (listing->values->wants_json) {
        struct json_writer writer = json_writer(&listing->json);
        json_begin_object(&writer, NULL);
        work_item_json(item, false, &writer);
        json_end_object(&writer);
        buf_append_string(&listing->json, "\n");
    } else {
        add_row(listing, item);
    }
    return true;
}

static void print_list(const struct item_table *listing)
{
    auto_buf struct buf out = {0};
    if (listing->values->wants_json) {
        report_output(&listing->json);
    } else if (listing->shown > 0) {
        table_draw(&listing->table, &listing->style, style_columns(stdout, PIPE_COLUMNS), &out);
        report_output(&out);
    } else if (listing->left_out == 0) {
        fputs("no work items; `rondo work` in a clone works on issues\n", stderr);
    }
    if (!listing->values->wants_json && listing->left_out > 0) {
        fprintf(stderr, "%zu that need nothing more; --all shows all\n", listing->left_out);
    }
}

static int run_list(const struct work_list_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    const struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    struct item_table listing = {
        .values = values,
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
        .style = style_for(stdout, values->no_colour != 0),
        .now_ns = clock_now(clock_system()),
    };
    int r = items_read(session.store, values->repository, take_item, &listing, &err);
    print_list(&listing);
    table_fini(&listing.table);
    buf_fini(&listing.json);
    session_close(&session);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

int cmd_work_list(const struct invocation *invocation)
{
    struct work_list_values values = {0};
    struct option_set set = {.rows = work_list_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values);
    option_set_fini(&set);
    return exit_code;
}

/* ---- One of them ---------------------------------------------------------------------------- */

static void add_field(struct fields *fields, const char *label, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        fields_add(fields, label, value);
    }
}

static void add_figures(struct fields *fields, const struct item *item)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "%" PRId64, item->attempts);
    fields_add(fields, "attempts", buf_string(&text));
    buf_clear(&text);
    add_time(item->active_ns, &text);
    add_field(fields, "time at work", buf_string(&text));
    buf_clear(&text);
    if (item->tokens > 0) {
        text_count(item->tokens, &text);
        buf_append_string(&text, " tokens, cost ");
        text_cost(item->cost_micro, &text);
        fields_add(fields, "used", buf_string(&text));
    }
}

static void add_result(struct fields *fields, const struct item *item)
{
    auto_buf struct buf text = {0};
    add_field(fields, "run", item->run_id);
    if (item->branch != NULL) {
        buf_printf(&text, "%s%s", item->branch, item->is_pushed ? ", pushed" : "");
        fields_add(fields, "branch", buf_string(&text));
    }
    add_field(fields, "commit", item->commit);
    add_field(fields, "pull request", item->pull_url);
    buf_clear(&text);
    if (item->state == ITEM_RETRY_LATER) {
        text_time(item->next_ns, &text);
        fields_add(fields, "next try", buf_string(&text));
    }
}

static void add_history(struct fields *fields, const struct item *item)
{
    buf_append_string(fields->out, "\n");
    for (size_t i = 0; i < item->note_count; i++) {
        auto_buf struct buf line = {0};
        text_time(item->notes[i].time_ns, &line);
        buf_printf(&line, "  %s  ", item_state_name(item->notes[i].state));
        buf_append_string(&line, item->notes[i].text);
        buf_append_string(fields->out, "  ");
        text_clean(buf_string(&line), line.len, fields->out);
        buf_append_string(fields->out, "\n");
    }
}

static void write_status(const struct item *item, const struct item_request *request,
                         bool no_colour, struct buf *out)
{
    struct style style = style_for(stdout, no_colour);
    struct fields fields = {
        .style = &style, .columns = style_columns(stdout, STATUS_COLUMNS), .out = out};
    auto_buf struct buf text = {0};
    char worker[OWNER_DESCRIPTION_SIZE];
    work_item_name(item, out);
    buf_append_string(out, " ");
    text_clean(item->title, strlen(item->title), out);
    buf_append_string(out, ": ");
    write_state(item, &style, out);
    buf_append_string(out, "\n");
    add_field(&fields, "why", item->message);
    add_field(&fields, "issue", item->url);
    work_item_worker(item, worker);
    add_field(&fields, "worker", worker);
    if (request != NULL) {
        buf_printf(&text, "%s, by %s", item_request_name(request->kind), request->by);
        fields_add(&fields, "requested", buf_string(&text));
    }
    add_figures(&fields, item);
    add_result(&fields, item);
    add_history(&fields, item);
}

static void write_status_json(const struct item *item, const struct item_request *request,
                              struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    work_item_json(item, true, &writer);
    json_write_string(&writer, "requested",
                      request == NULL ? NULL : item_request_name(request->kind));
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static int show_item(struct store *store, const struct work_list_values *values, const char *word,
                     struct rondo_error *err)
{
    struct item item = {0};
    struct item_request request;
    auto_buf struct buf out = {0};
    int r = work_item_find(store, word, &item, err);
    if (r == 0) {
        bool is_asked = item_request_read(store, item.key, &request, NULL) == 1;
        if (values->wants_json) {
            write_status_json(&item, is_asked ? &request : NULL, &out);
        } else {
            write_status(&item, is_asked ? &request : NULL, values->no_colour != 0, &out);
        }
        report_output(&out);
    }
    item_fini(&item);
    return r;
}

int cmd_work_status(const struct invocation *invocation)
{
    struct work_list_values values = {0};
    struct option_set set = {.rows = work_status_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct session session;
        struct rondo_error err = {0};
        const struct session_options options = {.store = values.store, .access = STORE_READING};
        int r = session_open(&options, &session, &err);
        if (r == 0) {
            r = show_item(session.store, &values, parsed.argv[0], &err);
            session_close(&session);
        }
        exit_code = r < 0 ? report_error_as(&err, values.wants_json != 0) : EXIT_OK;
    }
    option_set_fini(&set);
    return exit_code;
}
