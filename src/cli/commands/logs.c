// SPDX-License-Identifier: Apache-2.0
/* rondo logs: the journal of a run, and what follows. */
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/progress/event_line.h"
#include "cli/progress/follow.h"
#include "cli/terminal/text.h"
#include "journal/describe.h"
#include "loop/owner.h"
#include "store/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Bytes that are gathered before they are written. */
#define FLUSH_BYTES (64UL * 1024)

struct logs_values {
    int64_t is_live;
    int64_t wants_output;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row logs_options[] = {
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct logs_values, is_live),
     .help = "Follow the run live until it ends, also if another process executes it",
     .group = "What"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct logs_values, wants_output),
     .help = "Also show the recorded output of the worker and of the exit conditions' commands"},
    OPTION_ROW_STORE(struct logs_values),
    OPTION_ROW_JSON(struct logs_values, "One JSON object per line, one for each event"),
    OPTION_ROW_NO_COLOUR(struct logs_values),
    {0},
};

struct printing {
    const struct logs_values *values;
    struct style style;
    struct buf out;
};

static void flush_out(void *context)
{
    struct printing *printing = context;
    report_output(&printing->out);
    buf_clear(&printing->out);
    if (ferror(stdout)) {
        exit(0); /* Nobody reads any more: `rondo logs -f | head`. */
    }
}

static void add_time(struct printing *printing, int64_t time_ns)
{
    buf_append_string(&printing->out, style_begin(&printing->style, COLOUR_DIM));
    text_time(time_ns, &printing->out);
    buf_append_string(&printing->out, style_end(&printing->style));
}

static void add_entry(struct printing *printing, const struct journal_entry *entry)
{
    const struct journal_event *event = &entry->event;
    add_time(printing, event->time_ns);
    buf_printf(&printing->out, " %4" PRIu64 "  ", event->seq);
    event_line(entry, &printing->style, &printing->out);
    buf_append_string(&printing->out, "\n");
    size_t len = 0;
    const char *output = entry->is_known ? journal_event_output(event, &len) : NULL;
    if (printing->values->wants_output && output != NULL) {
        event_output(output, len, &printing->out);
    }
}

static void take_entry(const struct journal_entry *entry, void *context)
{
    struct printing *printing = context;
    if (printing->values->wants_json) {
        event_json(entry, &printing->out);
    } else {
        add_entry(printing, entry);
    }
    if (printing->out.len > FLUSH_BYTES) {
        flush_out(printing);
    }
}

static int run_logs(const struct logs_values *values, const char *name)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, &err) < 0) {
        return report_error(&err);
    }
    struct printing printing = {
        .values = values,
        .style = style_for(stdout, values->no_colour != 0),
    };
    struct store_run run;
    int r = store_find_run(session.store, name, NULL, &run, &err);
    if (r == 0) {
        if (values->is_live && run_is_interrupted(&run)) {
            report_warning("no process executes this run; waiting until it is resumed");
        }
        r = follow_run(&session, run.id, values->is_live != 0, take_entry, flush_out, &printing,
                       &err);
        flush_out(&printing);
    }
    buf_fini(&printing.out);
    session_close(&session);
    return r < 0 ? report_error(&err) : 0;
}

int cmd_logs(const struct invocation *invocation)
{
    struct logs_values values = {0};
    struct option_set set = {.rows = logs_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_logs(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
