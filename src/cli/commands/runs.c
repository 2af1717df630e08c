// SPDX-License-Identifier: Apache-2.0
/* rondo runs: the runs of a store, newest first. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/style.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "loop/owner.h"
#include "orchestrator/assignment.h"
#include "orchestrator/servers.h"
#include "server/answer/run_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Runs shown when nothing else is asked for. */
#define DEFAULT_LIMIT 20
/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct runs_values {
    char *agent;
    int64_t limit;
    int64_t wants_all;
    int64_t wants_children;
    int64_t wants_running;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row runs_options[] = {
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct runs_values, agent),
     .argument = "ID",
     .help = "Only runs of this agent",
     .group = "Selection"},
    {.name = "running",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct runs_values, wants_running),
     .help = "Only runs without a final status"},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct runs_values, limit),
     .argument = "N",
     .by_default = "20",
     .help = "At most N, newest first",
     .low = 1,
     .high = 1000000},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct runs_values, wants_all),
     .help = "No limit"},
    {.name = "children",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct runs_values, wants_children),
     .help = "Below the run of a PRD, also the runs of its attempts"},
    OPTION_ROW_STORE(struct runs_values),
    OPTION_ROW_JSON(struct runs_values, "One JSON object per line, one for each run"),
    OPTION_ROW_NO_COLOUR(struct runs_values),
    {0},
};

static const struct table_column columns[] = {
    {"RUN", false, false},        {"AGENT", false, true}, {"STATUS", false, false},
    {"ITERATION", true, false},   {"MET", true, false},   {"STARTED", false, false},
    {"EXECUTED BY", false, true},
};

/** Runs of attempts that are listed below one run. */
#define CHILDREN_SHOWN 1000

struct run_table {
    struct table table;
    struct store_run *runs; /* those that others may be listed below */
    size_t run_count;
    struct style style;
    struct buf json;
    struct assignments *assignments;
    struct store *store;
    struct server_info *servers;
    size_t server_count;
    struct buf damaged; /* a line for each run that cannot be read */
    bool wants_json;
    bool wants_children;
    size_t shown;
    size_t damaged_count;
};

static void add_holder(struct run_table *listing, const struct store_run *run)
{
    char who[OWNER_DESCRIPTION_SIZE] = "";
    if (run->owner[0] != '\0' && !run_is_interrupted(run)) {
        owner_name(run->owner, who);
    }
    table_add(&listing->table, who);
}

/** @param ret_waiting what it waits for, "" = nothing @return its status */
static const char *find_status(const struct run_table *listing, const struct store_run *run,
                               struct buf *ret_waiting)
{
    const struct assignment *assignment = assignments_find(listing->assignments, run->id);
    servers_explain_waiting(listing->store, listing->servers, listing->server_count, run,
                            assignment, ret_waiting);
    return assignment_display_status(run, assignment);
}

static void add_row(struct run_table *listing, const struct store_run *run)
{
    const struct store_summary *summary = &run->summary;
    auto_buf struct buf cell = {0};
    buf_printf(&cell, "%s%.*s", run->parent[0] != '\0' && listing->wants_children ? "  " : "",
               SHORT_ID_LEN, run->id);
    table_add(&listing->table, buf_string(&cell));
    auto_buf struct buf agent = {0};
    text_clean(run->agent_id, strlen(run->agent_id), &agent);
    table_add(&listing->table, buf_string(&agent));
    buf_clear(&cell);
    bool is_idle =
        run_is_interrupted(run) || (summary->status == RONDO_RUNNING && summary->is_paused);
    auto_buf struct buf waiting = {0};
    auto_buf struct buf shown = {0};
    const char *status = find_status(listing, run, &waiting);
    buf_printf(&shown, waiting.len > 0 ? "waiting for %s" : "%s",
               waiting.len > 0 ? buf_string(&waiting) : status);
    style_append(&listing->style, is_idle ? COLOUR_YELLOW : style_of_status(summary->status),
                 buf_string(&shown), &cell);
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    buf_printf(&cell, "%" PRIu64, summary->iteration);
    if (summary->iteration_limit > 0) {
        buf_printf(&cell, "/%" PRIu64, summary->iteration_limit);
    }
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    if (summary->conditions_total > 0) {
        buf_printf(&cell, "%" PRIu32 "/%" PRIu32, summary->conditions_met,
                   summary->conditions_total);
    }
    table_add(&listing->table, buf_string(&cell));
    buf_clear(&cell);
    text_age(clock_now(clock_system()) - run->created_ns, &cell);
    table_add(&listing->table, buf_string(&cell));
    add_holder(listing, run);
}

static void add_json(struct run_table *listing, const struct store_run *run)
{
    auto_buf struct buf waiting = {0};
    const char *status = find_status(listing, run, &waiting);
    run_json_write_display_status(run, status, buf_string(&waiting), &listing->json);
    buf_append(&listing->json, "\n", 1);
}

static bool take_run(const struct store_run *run, void *context)
{
    struct run_table *listing = context;
    listing->shown += run->parent[0] == '\0' || !listing->wants_children ? 1 : 0;
    if (listing->wants_json) {
        add_json(listing, run);
    } else {
        add_row(listing, run);
    }
    return true;
}

static bool keep_run(const struct store_run *run, void *context)
{
    struct run_table *listing = context;
    listing->runs = memory_resize(listing->runs, listing->run_count + 1, sizeof(*listing->runs));
    listing->runs[listing->run_count++] = *run;
    return true;
}

/** Runs of a damaged store that are reported one by one. */
#define DAMAGED_SHOWN 20

static void take_damaged(const struct store_damaged_run *damaged, void *context)
{
    struct run_table *listing = context;
    if (listing->damaged_count++ < DAMAGED_SHOWN) {
        buf_printf(&listing->damaged, "run %s: %s\n",
                   damaged->id == NULL ? "without a readable id" : damaged->id, damaged->detail);
    }
}

/** List each run, and below it the runs of its attempts. */
static int list(struct run_table *listing, struct store *store, const struct store_run_query *query,
                struct rondo_error *err)
{
    bool is_flat = !listing->wants_children;
    int r = store->ops->list_runs(store, query, is_flat ? take_run : keep_run, listing, err);
    for (size_t i = 0; r == 0 && i < listing->run_count; i++) {
        const struct store_run_query children = {.parent = listing->runs[i].id,
                                                 .is_ascending = true,
                                                 .limit = CHILDREN_SHOWN,
                                                 .damaged = take_damaged};
        take_run(&listing->runs[i], listing);
        r = store->ops->list_runs(store, &children, take_run, listing, err);
    }
    return r;
}

static void print_listing(const struct run_table *listing, uint32_t limit)
{
    auto_buf struct buf out = {0};
    if (listing->wants_json) {
        report_output(&listing->json);
        return;
    }
    if (listing->shown == 0) {
        fputs("no runs; start one with `rondo loop -- COMMAND`\n", stderr);
        return;
    }
    table_draw(&listing->table, &listing->style, style_columns(stdout, PIPE_COLUMNS), &out);
    report_output(&out);
    if (listing->shown == limit) {
        fprintf(stderr, "the newest %u; --all shows all\n", limit);
    }
}

/** The others were listed; the exit code shows scripts that some are missing. */
static int report_damaged(const struct run_table *listing, struct rondo_error *err)
{
    if (listing->damaged_count == 0) {
        return 0;
    }
    fputs(buf_string(&listing->damaged), stderr);
    return error_set(err, RONDO_ERR_CORRUPT,
                     "%zu of the runs cannot be read and %s not listed; restore the store from a "
                     "backup to recover %s",
                     listing->damaged_count, listing->damaged_count == 1 ? "is" : "are",
                     listing->damaged_count == 1 ? "it" : "them");
}

static int run_runs(const struct runs_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    if (session_open(&options, &session, &err) < 0) {
        return report_error(&err);
    }
    struct run_table listing = {
        .table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
        .style = style_for(stdout, values->no_colour != 0),
        .store = session.store,
        .wants_json = values->wants_json != 0,
        .wants_children = values->wants_children != 0,
    };
    struct store_run_query query = {
        .agent_id = values->agent,
        .only_running = values->wants_running != 0,
        .is_top_only = values->agent == NULL,
        .limit = values->wants_all ? 0 : (uint32_t)values->limit,
        .damaged = take_damaged,
    };
    int r = assignments_read(session.store, &listing.assignments, &err);
    /* A role of the database with some agents only does not see them: then nothing is said. */
    (void)servers_read(session.store, clock_system(), &listing.servers, &listing.server_count,
                       NULL);
    if (r == 0) {
        r = list(&listing, session.store, &query, &err);
    }
    if (r == 0) {
        print_listing(&listing, query.limit);
        r = report_damaged(&listing, &err);
    }
    assignments_free(listing.assignments);
    free(listing.servers);
    free(listing.runs);
    table_fini(&listing.table);
    buf_fini(&listing.json);
    buf_fini(&listing.damaged);
    session_close(&session);
    return r < 0 ? report_error(&err) : 0;
}

int cmd_runs(const struct invocation *invocation)
{
    struct runs_values values = {.limit = DEFAULT_LIMIT};
    struct option_set set = {.rows = runs_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_runs(&values);
    option_set_fini(&set);
    return exit_code;
}
