// SPDX-License-Identifier: Apache-2.0
/* rondo warnings: what people were warned of, newest first, or as it comes. */
#include "alert/warning_follow.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "store/find.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Warnings shown when nothing else is asked for. */
#define DEFAULT_LIMIT 20
/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000
/** How often new ones are looked for. */
#define POLL_NS (250 * NS_PER_MS)

struct warnings_values {
    char *run;
    char *agent;
    char *kind;
    int64_t limit;
    int64_t is_live;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row warnings_options[] = {
    {.name = "run",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct warnings_values, run),
     .argument = "RUN",
     .help = "Only for this run",
     .group = "Selection",
     .completes = COMPLETE_RUN},
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct warnings_values, agent),
     .argument = "ID",
     .help = "Only for this agent"},
    {.name = "kind",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct warnings_values, kind),
     .argument = "KIND",
     .help = "Only this kind: limit, policy, ended, stalled, storage, policy_refused, handoff, "
             "event, task"},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct warnings_values, limit),
     .argument = "N",
     .by_default = "20",
     .help = "At most N, newest first",
     .low = 1,
     .high = 1000000},
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct warnings_values, is_live),
     .help = "Show new warnings live, until interrupted"},
    OPTION_ROW_STORE(struct warnings_values),
    OPTION_ROW_JSON(struct warnings_values, "One JSON object per line, one for each warning"),
    OPTION_ROW_NO_COLOUR(struct warnings_values),
    {0},
};

static const struct table_column columns[] = {
    {"WHEN", false, false}, {"KIND", false, false},   {"AGENT", false, true},
    {"RUN", false, false},  {"WARNING", false, true},
};

struct warning_table {
    struct table table;
    struct buf json;
    int64_t now_ns;
    bool wants_json;
    size_t shown;
};

static void add_clean(struct warning_table *listing, const char *text, size_t max)
{
    auto_buf struct buf clean = {0};
    size_t len = strlen(text);
    text_clean(text, len < max ? len : max, &clean);
    table_add(&listing->table, buf_string(&clean));
}

static bool take_warning(const char *id, const char *json, void *context)
{
    (void)id;
    struct warning_table *listing = context;
    auto_json struct json_object *root = NULL;
    listing->shown++;
    if (listing->wants_json) {
        buf_printf(&listing->json, "%s\n", json);
    } else if (json_parse(json, strlen(json), &root, NULL) == 0) {
        auto_buf struct buf when = {0};
        text_moment(json_get_string(root, "time", ""), listing->now_ns, &when);
        add_clean(listing, buf_string(&when), SIZE_MAX);
        add_clean(listing, json_get_string(root, "kind", ""), SIZE_MAX);
        add_clean(listing, json_get_string(root, "agent_id", ""), SIZE_MAX);
        add_clean(listing, json_get_string(root, "run_id", ""), SHORT_ID_LEN);
        add_clean(listing, json_get_string(root, "message", ""), SIZE_MAX);
    }
    return true;
}

static void print_listing(const struct warning_table *listing, bool no_colour)
{
    auto_buf struct buf out = {0};
    if (listing->wants_json) {
        report_output(&listing->json);
        return;
    }
    if (listing->shown == 0) {
        fputs("no warnings; `rondo serve` and `rondo daemon` create them\n", stderr);
        return;
    }
    struct style style = style_for(stdout, no_colour);
    table_draw(&listing->table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
    report_output(&out);
}

static int read_all(struct store *store, const struct warnings_values *values, int kind,
                    struct warning_table *listing, struct rondo_error *err)
{
    struct store_run run = {0};
    int r = values->run == NULL ? 0 : store_find_run(store, values->run, NULL, &run, err);
    struct warning_query query = {
        .run_id = values->run == NULL ? NULL : run.id,
        .agent_id = values->agent,
        .kind = kind,
        .limit = (uint32_t)values->limit,
    };
    return r < 0 ? r : warnings_read(store, &query, take_warning, listing, err);
}

/* ---- Live ----------------------------------------------------------------------------------- */

struct following {
    const struct warnings_values *values;
    const char *run_id; /* NULL = of all */
    const char *kind;   /* NULL = all */
};

static bool is_wanted(const struct following *following, struct json_object *root)
{
    const char *agent = following->values->agent;
    return (following->run_id == NULL ||
            strcmp(following->run_id, json_get_string(root, "run_id", "")) == 0) &&
           (agent == NULL || strcmp(agent, json_get_string(root, "agent_id", "")) == 0) &&
           (following->kind == NULL ||
            strcmp(following->kind, json_get_string(root, "kind", "")) == 0);
}

/** "2026-11-21T16:30:05.120Z  limit  fixer  01a1fef7-b739  8 of 10 iterations, 2 left". */
static void write_line(struct json_object *root, struct buf *ret_line)
{
    auto_buf struct buf line = {0};
    buf_printf(&line, "%s  %s  %s  %.*s  %s", json_get_string(root, "time", ""),
               json_get_string(root, "kind", ""), json_get_string(root, "agent_id", ""),
               SHORT_ID_LEN, json_get_string(root, "run_id", ""),
               json_get_string(root, "message", ""));
    text_clean(buf_string(&line), line.len, ret_line);
}

static bool print_new(const char *id, const char *json, void *context)
{
    (void)id;
    const struct following *following = context;
    auto_json struct json_object *root = NULL;
    auto_buf struct buf line = {0};
    if (json_parse(json, strlen(json), &root, NULL) < 0 || !is_wanted(following, root)) {
        return true;
    }
    if (following->values->wants_json) {
        buf_append_string(&line, json);
    } else {
        write_line(root, &line);
    }
    buf_append_string(&line, "\n");
    report_output(&line);
    if (ferror(stdout)) {
        exit(0); /* Nobody reads any more: `rondo warnings -f | head`. */
    }
    return true;
}

/** @return only when the store fails */
static int follow(struct store *store, const struct warnings_values *values, int kind,
                  struct rondo_error *err)
{
    struct store_run run = {0};
    struct following following = {
        .values = values,
        .kind = kind < 0 ? NULL : warning_kind_name((enum warning_kind)kind),
    };
    int r = values->run == NULL ? 0 : store_find_run(store, values->run, NULL, &run, err);
    following.run_id = values->run == NULL ? NULL : run.id;
    struct warning_follow *place = warning_follow_new();
    if (r == 0) {
        r = warning_follow_skip(place, store, err);
    }
    while (r == 0) {
        clock_sleep(clock_system(), POLL_NS, NULL);
        r = warning_follow_next(place, store, print_new, &following, err);
    }
    warning_follow_free(place);
    return r;
}

/* ---- The command ---------------------------------------------------------------------------- */

static int run_warnings(const struct warnings_values *values, int kind)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct warning_table listing = {
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
        .now_ns = clock_now(clock_system()),
        .wants_json = values->wants_json != 0,
    };
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = values->is_live ? follow(session.store, values, kind, &err)
                            : read_all(session.store, values, kind, &listing, &err);
        session_close(&session);
    }
    if (r == 0) {
        print_listing(&listing, values->no_colour != 0);
    }
    table_fini(&listing.table);
    buf_fini(&listing.json);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : 0;
}

/** The kind that was asked for. @return false when there is none of that name */
static bool read_kind(const char *name, int *ret_kind)
{
    *ret_kind = -1;
    for (int i = 0; name != NULL && i < WARNING_KIND_COUNT; i++) {
        if (strcmp(warning_kind_name((enum warning_kind)i), name) == 0) {
            *ret_kind = i;
        }
    }
    return name == NULL || *ret_kind >= 0;
}

int cmd_warnings(const struct invocation *invocation)
{
    struct warnings_values values = {.limit = DEFAULT_LIMIT};
    struct option_set set = {.rows = warnings_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int kind = -1;
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        exit_code = read_kind(values.kind, &kind)
                        ? run_warnings(&values, kind)
                        : command_misuse(invocation->command, "unknown kind of warning");
    }
    option_set_fini(&set);
    return exit_code;
}
