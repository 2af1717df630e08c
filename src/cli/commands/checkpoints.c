// SPDX-License-Identifier: Apache-2.0
/* rondo checkpoints: the checkpoints of a run, or one of them whole. */
#include "base/error.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/style.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "journal/checkpoint_json.h"
#include "store/find.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Columns where the output is no terminal. */
#define PIPE_COLUMNS 1000
/** Bytes of a state that are shown to people; --raw gives all. */
#define STATE_SHOWN 4096

struct checkpoints_values {
    int64_t wants_raw;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row checkpoints_options[] = {
    {.name = "raw",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct checkpoints_values, wants_raw),
     .help = "With N: write the agent's state to stdout, byte for byte",
     .group = "What"},
    OPTION_ROW_STORE(struct checkpoints_values),
    OPTION_ROW_JSON(struct checkpoints_values, "One JSON object per line, one for each checkpoint"),
    OPTION_ROW_NO_COLOUR(struct checkpoints_values),
    {0},
};

static const struct table_column columns[] = {
    {"N", true, false},     {"ITERATION", true, false},  {"TIME", false, true},
    {"STATE", true, false}, {"CONDITIONS", false, true},
};

struct checkpoint_table {
    const struct checkpoints_values *values;
    struct table table;
    struct buf json;
};

/** {"a":"met"} as "a met". What is damaged is shown as it is: a list verifies nothing. */
static void conditions_text(const char *conditions, struct buf *ret_buf)
{
    auto_json struct json_object *root = NULL;
    if (conditions == NULL || json_parse(conditions, strlen(conditions), &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_object)) {
        buf_append_string(ret_buf, "?");
        return;
    }
    size_t count = 0;
    struct json_object_iter member;
    json_object_object_foreachC(root, member)
    {
        const char *name = member.key;
        const char *status = json_object_get_string(member.val);
        buf_append_string(ret_buf, count++ > 0 ? ", " : "");
        text_clean(name, strlen(name), ret_buf);
        buf_append_string(ret_buf, strcmp(status, "met") == 0 ? " met" : " not met");
    }
}

static void list_row(struct checkpoint_table *listing, const struct store_checkpoint *checkpoint)
{
    auto_buf struct buf cell = {0};
    buf_printf(&cell, "%" PRIu64, checkpoint->number);
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    buf_printf(&cell, "%" PRIu64, checkpoint->iteration);
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    text_time(checkpoint->time_ns, &cell);
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    text_bytes(checkpoint->state_size, &cell);
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    conditions_text(checkpoint->conditions, &cell);
    table_add(&listing->table, buf_string(&cell));
}

static bool take_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    struct checkpoint_table *listing = context;
    if (listing->values->wants_json) {
        checkpoint_row_json(checkpoint, &listing->json);
        buf_append_string(&listing->json, "\n");
    } else {
        list_row(listing, checkpoint);
    }
    return true;
}

static int list(struct session *session, const char *run_id,
                const struct checkpoints_values *values, struct rondo_error *err)
{
    struct checkpoint_table listing = {
        .values = values,
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
    };
    int r = session->store->ops->list_checkpoints(session->store, run_id, take_checkpoint, &listing,
                                                  err);
    auto_buf struct buf out = {0};
    if (r == 0 && values->wants_json) {
        report_output(&listing.json);
    } else if (r == 0 && listing.table.cell_count == 0) {
        fputs("the run has no checkpoint\n", stderr);
    } else if (r == 0) {
        struct style style = style_for(stdout, values->no_colour != 0);
        table_draw(&listing.table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
        report_output(&out);
    }
    table_fini(&listing.table);
    buf_fini(&listing.json);
    return r;
}

static void add_hexdump(const struct buf *state, size_t len, struct buf *out)
{
    for (size_t at = 0; at < len; at += 16) {
        size_t row = len - at < 16 ? len - at : 16;
        buf_printf(out, "    %08zx ", at);
        for (size_t i = 0; i < 16; i++) {
            if (i < row) {
                buf_printf(out, " %02x", (unsigned char)state->data[at + i]);
            } else {
                buf_append_string(out, "   ");
            }
        }
        buf_append_string(out, "  ");
        for (size_t i = 0; i < row; i++) {
            char c = state->data[at + i];
            buf_append(out, c >= 0x20 && c < 0x7f ? &c : ".", 1);
        }
        buf_append_string(out, "\n");
    }
}

static void add_state(const struct buf *state, struct buf *out)
{
    size_t len = state->len < STATE_SHOWN ? state->len : STATE_SHOWN;
    if (!checkpoint_is_text(state)) {
        add_hexdump(state, len, out);
    } else {
        for (size_t at = 0; at < len;) {
            size_t line = strcspn(state->data + at, "\n");
            line = line < len - at ? line : len - at;
            buf_append_string(out, "    ");
            text_clean(state->data + at, line, out);
            buf_append_string(out, "\n");
            at += line + 1;
        }
    }
    if (len < state->len) {
        buf_append_string(out, "    (truncated; --raw writes all)\n");
    }
}

static void show_text(const struct checkpoint *checkpoint, const struct checkpoints_values *values,
                      struct buf *out)
{
    struct style style = style_for(stdout, values->no_colour != 0);
    struct fields fields = {&style, style_columns(stdout, PIPE_COLUMNS), out};
    auto_buf struct buf text = {0};
    buf_printf(out, "checkpoint %" PRIu64 " at iteration %" PRIu64 ", intact\n", checkpoint->number,
               checkpoint->iteration);
    text_time(checkpoint->time_ns, &text);
    fields_add(&fields, "saved", buf_string(&text));
    buf_clear(&text);
    buf_append_hex(&text, checkpoint->sha256, sizeof(checkpoint->sha256));
    fields_add(&fields, "sha256", buf_string(&text));
    buf_clear(&text);
    conditions_text(checkpoint->conditions, &text);
    fields_add(&fields, "conditions", text.len > 0 ? text.data : "none");
    fields_add(&fields, "custom data",
               checkpoint->custom_data == NULL ? "none" : checkpoint->custom_data);
    buf_clear(&text);
    text_bytes(checkpoint->agent_state.len, &text);
    fields_add(&fields, "state", buf_string(&text));
    add_state(&checkpoint->agent_state, out);
}

static int show(struct session *session, const char *run_id, const char *number_text,
                const struct checkpoints_values *values, struct rondo_error *err)
{
    int64_t number = 0;
    if (strcmp(number_text, "last") != 0) {
        int r = parse_int(number_text, 1, INT64_MAX, &number, err);
        if (r < 0) {
            error_prefix(err, "number of the checkpoint");
            return r;
        }
    }
    struct checkpoint checkpoint;
    int r = checkpoint_load(session->store, run_id, (uint64_t)number, &checkpoint, err);
    if (r < 0) {
        return r;
    }
    auto_buf struct buf out = {0};
    if (values->wants_raw) {
        report_output(&checkpoint.agent_state);
    } else if (values->wants_json) {
        checkpoint_json(&checkpoint, &out);
        buf_append_string(&out, "\n");
    } else {
        show_text(&checkpoint, values, &out);
    }
    report_output(&out);
    checkpoint_fini(&checkpoint);
    return 0;
}

int cmd_checkpoints(const struct invocation *invocation)
{
    struct checkpoints_values values = {0};
    struct option_set set = {.rows = checkpoints_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 2);
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values.store, .access = STORE_READING};
    int r = 0;
    if (!parsed.is_over) {
        r = session_open(&options, &session, &err);
    }
    if (!parsed.is_over && r == 0) {
        struct store_run run;
        r = store_find_run(session.store, parsed.argv[0], NULL, &run, &err);
        if (r == 0) {
            r = parsed.argc == 1 ? list(&session, run.id, &values, &err)
                                 : show(&session, run.id, parsed.argv[1], &values, &err);
        }
        session_close(&session);
    }
    option_set_fini(&set);
    return parsed.is_over ? parsed.exit_code : r < 0 ? report_error(&err) : 0;
}
