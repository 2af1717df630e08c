// SPDX-License-Identifier: Apache-2.0
/* The commands of `rondo followups`: runs that agents have scheduled for themselves. */
#include "agent/follow_up.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/fields.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "tool/datetime/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct followups_values {
    char *agent;
    int64_t wants_all;
    int64_t in_ns;
    char *at;
    char *prompt;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

static const struct option_row list_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct followups_values, agent),
     .argument = "NAME",
     .help = "Only follow-ups of this agent",
     .group = "Selection"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct followups_values, wants_all),
     .help = "Also those that were started or cancelled within the last seven days"},
    OPTION_ROW_STORE(struct followups_values),
    OPTION_ROW_JSON(struct followups_values, "One JSON object per line"),
    OPTION_ROW_NO_COLOUR(struct followups_values),
    {0},
};

static const struct option_row one_options[] = {
    OPTION_ROW_STORE(struct followups_values),
    OPTION_ROW_JSON(struct followups_values, "As a JSON object"),
    OPTION_ROW_NO_COLOUR(struct followups_values),
    {0},
};

static const struct option_row change_options[] = {
    {.name = "in",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct followups_values, in_ns),
     .argument = "DURATION",
     .help = "Start after this time, from now (90s, 2h)",
     .group = "Change"},
    {.name = "at",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct followups_values, at),
     .argument = "TIME",
     .help = "Start at this time (2026-01-15T14:30:00Z); UTC unless it has an offset"},
    {.name = "prompt",
     .letter = 'p',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct followups_values, prompt),
     .argument = "TEXT",
     .help = "New prompt"},
    OPTION_ROW_STORE(struct followups_values),
    OPTION_ROW_JSON(struct followups_values, "As a JSON object, after the change"),
    OPTION_ROW_NO_COLOUR(struct followups_values),
    {0},
};

/* ---- Listing -------------------------------------------------------------------------------- */

static bool add_to_list(const struct follow_up *follow_up, void *context)
{
    follow_up_list_add(context, follow_up);
    return true;
}

static void add_clean(struct table *table, const char *text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    table_add(table, buf_string(&clean));
}

static void draw_list(const struct followups_values *values, const struct follow_up_list *list,
                      struct buf *out)
{
    static const struct table_column columns[] = {
        {"ID", false, false},    {"AGENT", false, true},        {"DUE", false, false},
        {"STATE", false, false}, {"SCHEDULED BY", false, true}, {"PROMPT", false, true},
    };
    struct style style = style_for(stdout, values->no_colour != 0);
    struct table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
    for (size_t i = 0; i < list->count; i++) {
        const struct follow_up *item = &list->items[i];
        char due[CLOCK_UTC_SIZE];
        auto_buf struct buf shown = {0};
        clock_format_utc(item->due_ns, due);
        text_moment(due, clock_now(clock_system()), &shown);
        table_add(&table, item->id);
        add_clean(&table, item->agent);
        table_add(&table, buf_string(&shown));
        table_add(&table, follow_up_state_name(item->state));
        add_clean(&table, item->asked_by);
        add_clean(&table, item->prompt);
    }
    table_draw(&table, &style, style_columns(stdout, PIPE_COLUMNS), out);
    table_fini(&table);
}

static void print_list(const struct followups_values *values, const struct follow_up_list *list)
{
    auto_buf struct buf out = {0};
    if (values->wants_json) {
        for (size_t i = 0; i < list->count; i++) {
            follow_up_write(&list->items[i], &out);
            buf_append_string(&out, "\n");
        }
    } else if (list->count == 0) {
        fprintf(stderr, "no follow-ups\n");
    } else {
        draw_list(values, list, &out);
    }
    report_output(&out);
}

static int run_list(const struct followups_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct follow_up_list list = {.wants_all = values->wants_all != 0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = follow_ups_read(session.store, values->agent, add_to_list, &list, &err);
        session_close(&session);
    }
    if (r == 0) {
        follow_up_list_sort(&list);
        print_list(values, &list);
    }
    follow_up_list_fini(&list);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/* ---- One of them ---------------------------------------------------------------------------- */

static void add_time(struct fields *fields, const char *label, int64_t time_ns)
{
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(time_ns, text);
    fields_add(fields, label, text);
}

static void print_one(const struct followups_values *values, const struct follow_up *follow_up)
{
    auto_buf struct buf out = {0};
    struct style style = style_for(stdout, values->no_colour != 0);
    struct fields fields = {
        .style = &style, .columns = style_columns(stdout, PIPE_COLUMNS), .out = &out};
    if (values->wants_json) {
        follow_up_write(follow_up, &out);
        buf_append_string(&out, "\n");
    } else {
        char depth[24];
        snprintf(depth, sizeof(depth), "%" PRId64, follow_up->depth);
        fields_add(&fields, "follow-up", follow_up->id);
        fields_add(&fields, "agent", follow_up->agent);
        fields_add(&fields, "state", follow_up_state_name(follow_up->state));
        add_time(&fields, "due", follow_up->due_ns);
        add_time(&fields, "scheduled", follow_up->created_ns);
        fields_add(&fields, "scheduled by", follow_up->asked_by);
        fields_add(&fields, "in a row", depth);
        if (follow_up->run_id[0] != '\0') {
            fields_add(&fields, "run", follow_up->run_id);
        }
        fields_add(&fields, "prompt", follow_up->prompt);
    }
    report_output(&out);
}

/** Change one, unless `change` is NULL, and show it. */
static int run_one(const struct followups_values *values, const char *id,
                   const struct follow_up_change *change)
{
    struct session session;
    struct rondo_error err = {0};
    struct follow_up follow_up = {0};
    struct session_options options = {.store = values->store,
                                      .access = change == NULL ? STORE_READING : 0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = change == NULL ? 0 : follow_up_apply(session.store, id, change, &err);
        r = r < 0 ? r : follow_up_find(session.store, id, &follow_up, &err);
        session_close(&session);
    }
    if (r == 0) {
        r = error_set(&err, RONDO_ERR_NOT_FOUND, "there is no follow-up %s", id);
    }
    if (r > 0) {
        print_one(values, &follow_up);
    }
    follow_up_fini(&follow_up);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : EXIT_OK;
}

/** What the options of `change` say. @return what is wrong with them, or NULL */
static const char *read_change(const struct followups_values *values,
                               struct follow_up_change *ret_change)
{
    struct calendar_time time;
    *ret_change = (struct follow_up_change){.prompt = values->prompt};
    if (values->at != NULL && values->in_ns > 0) {
        return "give --in or --at, not both";
    }
    if (values->at != NULL) {
        if (!calendar_parse_iso(values->at, &time)) {
            return "--at requires a time such as 2026-01-15T14:30:00Z";
        }
        int64_t seconds = calendar_days(time.year, time.month, time.day) * 86400 +
                          time.hour * 3600 + time.minute * 60 + time.second - time.offset_seconds;
        if (seconds <= 0 || seconds > INT64_MAX / NS_PER_S) {
            return "--at is out of range";
        }
        ret_change->due_ns = seconds * NS_PER_S;
    } else if (values->in_ns > 0) {
        ret_change->due_ns = clock_now(clock_system()) + values->in_ns;
    }
    return ret_change->due_ns == 0 && values->prompt == NULL ? "give --in, --at or --prompt" : NULL;
}

/* ---- The commands --------------------------------------------------------------------------- */

static int cmd_followups_list(const struct invocation *invocation)
{
    struct followups_values values = {0};
    struct option_set set = {.rows = list_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_list(&values);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_followups_show(const struct invocation *invocation)
{
    struct followups_values values = {0};
    struct option_set set = {.rows = one_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_one(&values, parsed.argv[0], NULL);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_followups_cancel(const struct invocation *invocation)
{
    const struct follow_up_change cancel = {.is_cancelled = true};
    struct followups_values values = {0};
    struct option_set set = {.rows = one_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_one(&values, parsed.argv[0], &cancel);
    option_set_fini(&set);
    return exit_code;
}

static int cmd_followups_change(const struct invocation *invocation)
{
    struct follow_up_change change;
    struct followups_values values = {0};
    struct option_set set = {.rows = change_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        const char *problem = read_change(&values, &change);
        exit_code = problem != NULL ? command_misuse(invocation->command, problem)
                                    : run_one(&values, parsed.argv[0], &change);
    }
    option_set_fini(&set);
    return exit_code;
}

const struct command followups_commands[] = {
    {
        .name = "followups list",
        .synopsis = "[OPTION...]",
        .help = "List runs that agents have scheduled",
        .description = "Lists pending follow-ups, the one that is due next first.",
        .examples = "rondo followups list --all\talso those that were started or cancelled",
        .options = list_options,
        .run = cmd_followups_list,
    },
    {
        .name = "followups show",
        .synopsis = "[OPTION...] ID",
        .help = "Show a follow-up",
        .description = "Shows a follow-up: its prompt, when it is due, the run that scheduled it "
                       "and the run that it became.",
        .options = one_options,
        .run = cmd_followups_show,
    },
    {
        .name = "followups cancel",
        .synopsis = "[OPTION...] ID",
        .help = "Cancel a follow-up",
        .description = "Cancels a pending follow-up. Once it has started, use `rondo stop`.",
        .options = one_options,
        .run = cmd_followups_cancel,
    },
    {
        .name = "followups change",
        .synopsis = "[OPTION...] ID",
        .help = "Change when a follow-up starts, or its prompt",
        .description = "Changes a pending follow-up. A daemon in another process notices an "
                       "earlier time within a minute.",
        .examples = "rondo followups change 3f2a90c1d4e5 --in 10m\tten minutes from now",
        .options = change_options,
        .run = cmd_followups_change,
    },
    {0},
};
