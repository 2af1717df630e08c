// SPDX-License-Identifier: Apache-2.0
/* rondo budgets: what agents have used of the budgets of their roles. rondo budgets reset. */
#include "agent/budget/show.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text/plain.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/line_input.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Columns assumed where the output is no terminal: nothing is cut. */
#define PIPE_COLUMNS 1000

struct budgets_values {
    int64_t says_yes;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row budgets_options[] = {
    OPTION_ROW_STORE(struct budgets_values),
    OPTION_ROW_JSON(struct budgets_values, "One JSON object per line, one for each role"),
    OPTION_ROW_NO_COLOUR(struct budgets_values),
    {0},
};

static const struct option_row reset_options[] = {
    {.name = "yes",
     .letter = 'y',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct budgets_values, says_yes),
     .help = "Reset without asking",
     .group = "What to do"},
    OPTION_ROW_STORE(struct budgets_values),
    OPTION_ROW_JSON(struct budgets_values, "As a JSON object, after the reset"),
    OPTION_ROW_NO_COLOUR(struct budgets_values),
    {0},
};

static const struct table_column budget_columns[] = {
    {"ROLE", false, true},  {"BUDGET", false, true}, {"USED", true, false},  {"OF", true, false},
    {"SHARE", true, false}, {"ENDS", false, false},  {"STATE", false, true},
};

/* ---- Listing -------------------------------------------------------------------------------- */

struct budget_listing {
    const struct budgets_values *values;
    const char *role; /* NULL = all */
    struct table table;
    struct buf json;
    int64_t now_ns;
    size_t found;
};

static void add_figure(struct budget_listing *listing, enum budget_kind kind, int64_t figure)
{
    auto_buf struct buf text = {0};
    if (budget_kinds[kind].is_cost) {
        buf_append_string(&text, "$");
        text_money(figure, &text);
    } else {
        text_count(figure, &text);
    }
    table_add(&listing->table, buf_string(&text));
}

static void add_moment(struct budget_listing *listing, int64_t time_ns)
{
    char utc[CLOCK_UTC_SIZE];
    auto_buf struct buf when = {0};
    if (time_ns != 0) {
        clock_format_utc(time_ns, utc);
        text_moment(utc, listing->now_ns, &when);
    }
    table_add(&listing->table, time_ns == 0 ? "never" : buf_string(&when));
}

static const char *state_of(const struct budget_view *view, enum budget_kind kind, int64_t used)
{
    const struct budget_rules *rules = &view->ledger->rules;
    if (used >= rules->limits.limits[kind]) {
        bool is_refusing = rules->is_refusing || budget_kinds[kind].period == BUDGET_LIFE;
        return is_refusing ? "used up, events are refused" : "used up, events wait";
    }
    return ledger_is_nearly_used(view->ledger, &rules->limits, kind, view->day) ? "nearly used up"
                                                                                : "left";
}

static void add_row(struct budget_listing *listing, const struct budget_view *view,
                    enum budget_kind kind)
{
    const struct budget_rules *rules = &view->ledger->rules;
    int64_t limit = rules->limits.limits[kind];
    int64_t used = ledger_used(view->ledger, kind, view->day);
    char share[32];
    snprintf(share, sizeof(share), "%.0f %%", 100.0 * (double)used / (double)limit);
    table_add(&listing->table, view->agent_id);
    table_add(&listing->table, budget_kinds[kind].name);
    add_figure(listing, kind, used);
    add_figure(listing, kind, limit);
    table_add(&listing->table, share);
    add_moment(listing, budget_period_end_ns(rules, kind, view->day));
    table_add(&listing->table, state_of(view, kind, used));
}

/** What an agent has used whose role has no budgets any more. */
static void add_unlimited(struct budget_listing *listing, const struct budget_view *view)
{
    table_add(&listing->table, view->agent_id);
    table_add(&listing->table, "-");
    add_figure(listing, BUDGET_LIFE_TOKENS, view->ledger->life.tokens);
    table_add(&listing->table, "-");
    table_add(&listing->table, "-");
    add_moment(listing, 0);
    table_add(&listing->table, "no budgets");
}

static void add_json(struct budget_listing *listing, const struct budget_view *view)
{
    struct json_writer writer = json_writer(&listing->json);
    json_begin_object(&writer, NULL);
    budget_show_members(view, &writer);
    json_end_object(&writer);
    buf_append_string(&listing->json, "\n");
}

static bool list_ledger(const char *agent_id, const struct budget_ledger *ledger, void *context)
{
    struct budget_listing *listing = context;
    if (listing->role != NULL && strcmp(listing->role, agent_id) != 0) {
        return true;
    }
    struct budget_view view = budget_view(agent_id, ledger, listing->now_ns);
    listing->found++;
    if (listing->values->wants_json != 0) {
        add_json(listing, &view);
        return true;
    }
    if (view.state == BUDGET_UNLIMITED) {
        add_unlimited(listing, &view);
    }
    for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        if (ledger->rules.limits.limits[kind] > 0) {
            add_row(listing, &view, kind);
        }
    }
    return true;
}

static void print_listing(const struct budget_listing *listing)
{
    auto_buf struct buf out = {0};
    if (listing->values->wants_json != 0) {
        report_output(&listing->json);
    } else if (listing->found == 0) {
        fputs("no budgets; set one in a role's `guardrails`, such as daemon_daily_token_budget\n",
              stderr);
    } else {
        struct style style = style_for(stdout, listing->values->no_colour != 0);
        table_draw(&listing->table, &style, style_columns(stdout, PIPE_COLUMNS), &out);
        report_output(&out);
    }
}

/** @param role NULL = all */
static int list(struct store *store, const struct budgets_values *values, const char *role,
                struct rondo_error *err)
{
    struct budget_listing listing = {
        .values = values,
        .role = role,
        .table = {.columns = budget_columns,
                  .column_count = sizeof(budget_columns) / sizeof(budget_columns[0])},
        .now_ns = clock_now(clock_system()),
    };
    int r = budget_list(store, list_ledger, &listing, err);
    if (r == 0 && role != NULL && listing.found == 0) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "no role %s has used a budget", role);
    }
    if (r == 0) {
        print_listing(&listing);
    }
    table_fini(&listing.table);
    buf_fini(&listing.json);
    return r;
}

int cmd_budgets(const struct invocation *invocation)
{
    struct session session;
    struct rondo_error err = {0};
    struct budgets_values values = {0};
    struct option_set set = {.rows = budgets_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    struct session_options options = {.store = values.store, .access = STORE_READING};
    if (!parsed.is_over) {
        int r = session_open(&options, &session, &err);
        if (r == 0) {
            r = list(session.store, &values, parsed.argc == 1 ? parsed.argv[0] : NULL, &err);
            session_close(&session);
        }
        parsed.exit_code = r < 0 ? report_error_as(&err, values.wants_json != 0) : EXIT_OK;
    }
    option_set_fini(&set);
    return parsed.exit_code;
}

/* ---- Reset ---------------------------------------------------------------------------------- */

/** Whether the person agrees. @return EXIT_OK, or the exit code of a refusal */
static int ask_consent(const char *role, const struct budgets_values *values)
{
    struct line_input input;
    if (values->says_yes != 0) {
        return EXIT_OK;
    }
    line_input_init(&input, STDIN_FILENO, stderr, values->no_colour != 0);
    enum line_consent consent = line_input_ask(
        &input, "Forget what this role has used today, this week and in its lifetime?", NULL);
    line_input_fini(&input);
    if (consent == LINE_NOBODY) {
        return report_failure(EXIT_USAGE,
                              "the budgets of %s were not reset: there is no terminal to confirm "
                              "it at; give --yes",
                              role);
    }
    return consent == LINE_YES
               ? EXIT_OK
               : report_failure(EXIT_OTHER, "the budgets of %s were not reset", role);
}

static int reset(const struct budgets_values *values, const char *role)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store};
    const struct budgets_values shown = {.no_colour = values->no_colour};
    int exit_code = EXIT_OK;
    int r = session_open(&options, &session, &err);
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    if (values->says_yes == 0) {
        r = list(session.store, &shown, role, &err);
        exit_code = r < 0 ? EXIT_OK : ask_consent(role, values);
    }
    if (r == 0 && exit_code == EXIT_OK) {
        r = budget_reset(session.store, role, &err);
        r = r < 0 ? r : list(session.store, values, role, &err);
    }
    session_close(&session);
    return r < 0 ? report_error_as(&err, values->wants_json != 0) : exit_code;
}

static int cmd_budgets_reset(const struct invocation *invocation)
{
    struct budgets_values values = {0};
    struct option_set set = {.rows = reset_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : reset(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}

const struct command budgets_commands[] = {
    {
        .name = "budgets reset",
        .synopsis = "[OPTION...] ROLE",
        .help = "Forget what a role has used of its budgets",
        .description =
            "Forgets what all runs of a role have used today, this week and in its lifetime. "
            "Requests in progress count after the reset. Events that wait for the budget are "
            "started within a minute. To enlarge a budget, change the role; no reset is needed.",
        .options = reset_options,
        .run = cmd_budgets_reset,
    },
    {0},
};
