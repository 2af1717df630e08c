// SPDX-License-Identifier: Apache-2.0
/*
 * rondo sources: what wakes the agents on duty, and when next. rondo queue: the events that wait,
 * and those that were refused. Both read the store; a daemon need not be asked.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "source/duty/show.h"
#include "source/template.h"

#include <json-c/json.h>
#include <string.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct sources_values {
    char *role;
    int64_t wants_refused;
    int64_t limit;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

#define ROW_ROLE(what)                                                       \
    {                                                                        \
        .name = "role", .letter = 'r', .kind = OPTION_TEXT,                  \
        .offset = offsetof(struct sources_values, role), .argument = "NAME", \
        .help = "Only " what " of this role", .group = "Selection",          \
    }

const struct option_row sources_options[] = {
    ROW_ROLE("sources"),
    OPTION_ROW_STORE(struct sources_values),
    OPTION_ROW_JSON(struct sources_values, "One JSON object per line, one for each source"),
    OPTION_ROW_NO_COLOUR(struct sources_values),
    {0},
};

const struct option_row queue_options[] = {
    ROW_ROLE("events"),
    {.name = "refused",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct sources_values, wants_refused),
     .help = "Events that did not become runs of their own, newest first"},
    {.name = "limit",
     .letter = 'n',
     .kind = OPTION_INT,
     .offset = offsetof(struct sources_values, limit),
     .argument = "N",
     .by_default = "20",
     .help = "At most N",
     .low = 1,
     .high = 1000000},
    OPTION_ROW_STORE(struct sources_values),
    OPTION_ROW_JSON(struct sources_values, "One JSON object per line, one for each event"),
    OPTION_ROW_NO_COLOUR(struct sources_values),
    {0},
};

static const struct table_column source_columns[] = {
    {"ROLE", false, true},  {"TYPE", false, false}, {"WHAT", false, true},
    {"NEXT", false, false}, {"STATE", false, true},
};
static const struct table_column request_columns[] = {
    {"SINCE", false, false}, {"ROLE", false, true},   {"TYPE", false, false},
    {"RUN", false, false},   {"PROMPT", false, true}, {"STATE", false, false},
};
static const struct table_column refusal_columns[] = {
    {"WHEN", false, false},  {"OUTCOME", false, false}, {"ROLE", false, true},
    {"SOURCE", false, true}, {"RUN", false, false},     {"REASON", false, true},
};

struct source_listing {
    const struct sources_values *values;
    struct roles_on_duty roles; /* of events that wait */
    struct table table;
    struct buf json;
    int64_t now_ns;
    int64_t shown;
};

static void add_cell(struct source_listing *listing, const char *text, size_t max)
{
    auto_buf struct buf clean = {0};
    size_t len = strlen(text);
    text_clean(text, len < max ? len : max, &clean);
    table_add(&listing->table, buf_string(&clean));
}

static void add_moment(struct source_listing *listing, int64_t time_ns)
{
    auto_buf struct buf when = {0};
    char utc[CLOCK_UTC_SIZE];
    if (time_ns != 0) {
        clock_format_utc(time_ns, utc);
        text_moment(utc, listing->now_ns, &when);
    }
    add_cell(listing, time_ns == 0 ? "-" : buf_string(&when), SIZE_MAX);
}

static bool is_wanted(const struct source_listing *listing, const char *role)
{
    return listing->values->role == NULL || strcmp(listing->values->role, role) == 0;
}

static bool list_source(const struct source_status *status, void *context)
{
    struct source_listing *listing = context;
    if (!is_wanted(listing, status->role)) {
        return true;
    }
    listing->shown++;
    if (listing->values->wants_json != 0) {
        struct json_writer writer = json_writer(&listing->json);
        json_begin_object(&writer, NULL);
        show_source_members(status, &writer);
        json_end_object(&writer);
        buf_append_string(&listing->json, "\n");
        return true;
    }
    const char *state = status->is_on_duty ? "on duty" : "its daemon is gone";
    add_cell(listing, status->role, SIZE_MAX);
    add_cell(listing, status->type, SIZE_MAX);
    add_cell(listing, status->summary, SIZE_MAX);
    add_moment(listing, status->is_on_duty ? status->due_ns : 0);
    add_cell(listing, status->problem[0] != '\0' ? status->problem : state, SIZE_MAX);
    return true;
}

static bool list_request(const struct start_request *request, const char *id, void *context)
{
    struct source_listing *listing = context;
    auto_buf struct buf prompt = {0};
    (void)id;
    if (request == NULL || !is_wanted(listing, request->role)) {
        return true;
    }
    listing->shown++;
    if (listing->values->wants_json != 0) {
        struct json_writer writer = json_writer(&listing->json);
        json_begin_object(&writer, NULL);
        show_request_members(request, &listing->roles, &writer);
        json_end_object(&writer);
        buf_append_string(&listing->json, "\n");
    } else {
        add_moment(listing, request->received_ns);
        add_cell(listing, request->role, SIZE_MAX);
        add_cell(listing, request->kind, SIZE_MAX);
        add_cell(listing, request->id, SHORT_ID_LEN);
        template_show(request->prompt, SHOWN_PROMPT_BYTES, &prompt);
        add_cell(listing, buf_string(&prompt), SIZE_MAX);
        add_cell(listing,
                 roles_on_duty_have(&listing->roles, request->role)
                     ? "waits for its turn"
                     : "no daemon has the role on duty",
                 SIZE_MAX);
    }
    return listing->shown < listing->values->limit;
}

static bool list_refusal(const struct start_refusal *refusal, void *context)
{
    struct source_listing *listing = context;
    if (!is_wanted(listing, refusal->role)) {
        return true;
    }
    listing->shown++;
    if (listing->values->wants_json != 0) {
        struct json_writer writer = json_writer(&listing->json);
        json_begin_object(&writer, NULL);
        show_refusal_members(refusal, &writer);
        json_end_object(&writer);
        buf_append_string(&listing->json, "\n");
    } else {
        add_moment(listing, refusal->time_ns);
        add_cell(listing, refusal_kind_name(refusal->kind), SIZE_MAX);
        add_cell(listing, refusal->role, SIZE_MAX);
        add_cell(listing, refusal->source, SIZE_MAX);
        add_cell(listing, refusal->run_id, SHORT_ID_LEN);
        add_cell(listing, refusal->reason, SIZE_MAX);
    }
    return listing->shown < listing->values->limit;
}

/* ---- The commands --------------------------------------------------------------------------- */

/** What a command lists. */
struct source_listing_kind {
    const struct table_column *columns;
    size_t column_count;
    const char *none; /**< when there is nothing */
    int (*read)(struct store *store, struct source_listing *listing, struct rondo_error *err);
};

static int read_sources(struct store *store, struct source_listing *listing,
                        struct rondo_error *err)
{
    return source_statuses_read(store, list_source, listing, err);
}

static int read_requests(struct store *store, struct source_listing *listing,
                         struct rondo_error *err)
{
    int r = roles_on_duty_read(store, &listing->roles, err);
    return r < 0 ? r : start_requests_read(store, NULL, list_request, listing, err);
}

static int read_refusals(struct store *store, struct source_listing *listing,
                         struct rondo_error *err)
{
    return refusals_read(store, NULL, 0, list_refusal, listing, err);
}

static const struct source_listing_kind sources_kind = {
    source_columns, sizeof(source_columns) / sizeof(source_columns[0]),
    "no sources; `rondo daemon` keeps roles with triggers on duty", read_sources};
static const struct source_listing_kind requests_kind = {
    request_columns, sizeof(request_columns) / sizeof(request_columns[0]), "nothing waits",
    read_requests};
static const struct source_listing_kind refusals_kind = {
    refusal_columns, sizeof(refusal_columns) / sizeof(refusal_columns[0]), "nothing was refused",
    read_refusals};

static void print_listing(const struct source_listing *listing, const char *none)
{
    auto_buf struct buf out = {0};
    if (listing->values->wants_json != 0) {
        report_output(&listing->json);
    } else if (listing->shown == 0) {
        fprintf(stderr, "%s\n", none);
    } else {
        struct style style = style_for(stdout, listing->values->no_colour != 0);
        table_draw(&listing->table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
        report_output(&out);
    }
}

static int list_kind(const struct sources_values *values, const struct source_listing_kind *kind)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    struct source_listing listing = {
        .values = values,
        .table = {.columns = kind->columns, .column_count = kind->column_count},
        .now_ns = clock_now(clock_system()),
    };
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = kind->read(session.store, &listing, &err);
        session_close(&session);
    }
    if (r == 0) {
        print_listing(&listing, kind->none);
    }
    table_fini(&listing.table);
    roles_on_duty_fini(&listing.roles);
    buf_fini(&listing.json);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : 0;
}

int cmd_sources(const struct invocation *invocation)
{
    struct sources_values values = {0};
    struct option_set set = {.rows = sources_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (!parsed.is_over) {
        parsed.exit_code = list_kind(&values, &sources_kind);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}

int cmd_queue(const struct invocation *invocation)
{
    struct sources_values values = {.limit = 20};
    struct option_set set = {.rows = queue_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (!parsed.is_over) {
        parsed.exit_code =
            list_kind(&values, values.wants_refused != 0 ? &refusals_kind : &requests_kind);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
