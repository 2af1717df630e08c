// SPDX-License-Identifier: Apache-2.0
/* Ledgers as people and programs see them. */
#include "agent/budget/show.h"

#include "agent/budget/period.h"
#include "base/text/plain.h"
#include "base/time/calendar.h"

#include <inttypes.h>
#include <stdio.h>

static const char *state_name(enum budget_state state)
{
    static const char *const names[BUDGET_STATE_COUNT] = {"unlimited", "left", "nearly_used",
                                                          "used_up"};
    return names[state];
}

static bool is_near(const struct budget_view *view)
{
    const struct budget_limits *limits = &view->ledger->rules.limits;
    for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        if (ledger_is_nearly_used(view->ledger, limits, kind, view->day)) {
            return true;
        }
    }
    return false;
}

struct budget_view budget_view(const char *agent_id, const struct budget_ledger *ledger,
                               int64_t now_ns)
{
    const struct budget_rules *rules = &ledger->rules;
    struct budget_view view = {.agent_id = agent_id, .ledger = ledger};
    if (!period_day(rules->zone, now_ns, &view.day)) {
        (void)period_day("UTC", now_ns, &view.day);
    }
    view.standing = ledger_standing(ledger, &rules->limits, view.day, NULL);
    if (!budget_rules_are_set(rules)) {
        view.state = BUDGET_UNLIMITED;
    } else if (view.standing.verdict == BUDGET_EXHAUSTED) {
        view.state = BUDGET_USED_UP;
        view.until_ns = budget_period_end_ns(rules, view.standing.kind, view.day);
    } else {
        view.state = is_near(&view) ? BUDGET_NEARLY_USED : BUDGET_LEFT;
    }
    return view;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_day(struct json_writer *writer, int64_t day)
{
    char text[40];
    int64_t year;
    int month;
    int day_of_month;
    calendar_date(day, &year, &month, &day_of_month);
    snprintf(text, sizeof(text), "%04" PRId64 "-%02d-%02d", year, month, day_of_month);
    json_write_string(writer, "day", text);
}

/** A figure of a limit: tokens, or dollars. */
static void write_figure(struct json_writer *writer, const char *name, enum budget_kind kind,
                         int64_t figure)
{
    auto_buf struct buf json = {0};
    if (budget_kinds[kind].is_cost) {
        text_cost_json(figure, &json);
    } else {
        buf_printf(&json, "%" PRId64, figure);
    }
    json_write_raw(writer, name, buf_string(&json));
}

static void write_amount(struct json_writer *writer, struct budget_amount amount)
{
    json_write_int(writer, "tokens", amount.tokens);
    write_figure(writer, "cost", BUDGET_LIFE_COST, amount.cost_micro);
}

static void write_limits(const struct budget_view *view, struct json_writer *writer)
{
    static const char *const periods[] = {
        [BUDGET_DAY] = "day", [BUDGET_WEEK] = "week", [BUDGET_LIFE] = "life"};
    const struct budget_rules *rules = &view->ledger->rules;
    json_begin_array(writer, "limits");
    for (enum budget_kind kind = 0; kind < BUDGET_KIND_COUNT; kind++) {
        if (rules->limits.limits[kind] <= 0) {
            continue;
        }
        json_begin_object(writer, NULL);
        json_write_string(writer, "name", budget_kinds[kind].name);
        json_write_string(writer, "period", periods[budget_kinds[kind].period]);
        json_write_string(writer, "unit", budget_kinds[kind].is_cost ? "dollars" : "tokens");
        write_figure(writer, "limit", kind, rules->limits.limits[kind]);
        write_figure(writer, "used", kind, ledger_used(view->ledger, kind, view->day));
        write_figure(writer, "reserved", kind,
                     ledger_reserved(view->ledger, kind, view->day, NULL));
        json_write_time(writer, "ends", budget_period_end_ns(rules, kind, view->day));
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_days(const struct budget_view *view, struct json_writer *writer)
{
    const struct budget_ledger *ledger = view->ledger;
    json_begin_array(writer, "days");
    for (int64_t day = view->day - LEDGER_DAYS + 1; day <= view->day; day++) {
        struct budget_amount used = {0};
        for (size_t i = 0; i < ledger->day_count; i++) {
            used = ledger->days[i].day == day ? ledger->days[i].used : used;
        }
        json_begin_object(writer, NULL);
        write_day(writer, day);
        write_amount(writer, used);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void budget_show_members(const struct budget_view *view, struct json_writer *writer)
{
    const struct budget_rules *rules = &view->ledger->rules;
    json_write_string(writer, "role", view->agent_id);
    json_write_string(writer, "state", state_name(view->state));
    json_write_time(writer, "until", view->until_ns);
    json_write_string(writer, "when_exhausted", rules->is_refusing ? "refuse" : "wait");
    json_write_string(writer, "timezone", rules->zone);
    write_limits(view, writer);
    json_write_int(writer, "requests", (int64_t)view->ledger->request_count);
    json_begin_object(writer, "life");
    write_amount(writer, view->ledger->life);
    json_end_object(writer);
    write_days(view, writer);
}
