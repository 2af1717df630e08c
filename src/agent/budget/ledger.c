// SPDX-License-Identifier: Apache-2.0
/* Reading, writing and the arithmetic of a ledger. */
#include "agent/budget/ledger.h"

#include "agent/budget/period.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1
/** Percent of a limit at which people are warned. */
#define NEAR_PERCENT 80
/** A day after that of every clock of 64 bits of nanoseconds. */
#define LAST_DAY 1000000

const struct budget_kind_row budget_kinds[BUDGET_KIND_COUNT] = {
    [BUDGET_DAY_TOKENS] = {"daemon_daily_token_budget", BUDGET_DAY, false},
    [BUDGET_LIFE_TOKENS] = {"daemon_token_budget", BUDGET_LIFE, false},
    [BUDGET_DAY_COST] = {"daemon_daily_cost_budget", BUDGET_DAY, true},
    [BUDGET_WEEK_COST] = {"daemon_weekly_cost_budget", BUDGET_WEEK, true},
    [BUDGET_LIFE_COST] = {"daemon_cost_budget", BUDGET_LIFE, true},
};

bool budget_is_cost(const char *limit_name)
{
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        if (strcmp(budget_kinds[i].name, limit_name) == 0) {
            return budget_kinds[i].is_cost;
        }
    }
    return false;
}

/** Sum that stays at its largest value: a limit must never come undone. */
static int64_t add_up(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void add_amount(struct budget_amount *sum, struct budget_amount more)
{
    sum->tokens = add_up(sum->tokens, more.tokens);
    sum->cost_micro = add_up(sum->cost_micro, more.cost_micro);
}

static int64_t figure_of(struct budget_amount amount, enum budget_kind kind)
{
    return budget_kinds[kind].is_cost ? amount.cost_micro : amount.tokens;
}

static bool is_in_period(enum budget_period period, int64_t day, int64_t today)
{
    switch (period) {
    case BUDGET_DAY:
        return day == today;
    case BUDGET_WEEK:
        return period_week_begin(day) == period_week_begin(today);
    case BUDGET_LIFE:
        return true;
    }
    return true;
}

/** First day of the period that contains `day`; 0 of a life. */
static int64_t period_of(enum budget_kind kind, int64_t day)
{
    switch (budget_kinds[kind].period) {
    case BUDGET_DAY:
        return day;
    case BUDGET_WEEK:
        return period_week_begin(day);
    case BUDGET_LIFE:
        return 0;
    }
    return 0;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** A figure that is never negative. */
static int64_t natural(struct json_object *object, const char *key)
{
    int64_t value = json_get_int(object, key, 0);
    return value < 0 ? 0 : value;
}

/** Days that no clock shows are not computed with. */
static int64_t read_day(struct json_object *object)
{
    int64_t day = json_get_int(object, "day", 0);
    return day > -LAST_DAY && day < LAST_DAY ? day : 0;
}

static struct budget_amount read_amount(struct json_object *object)
{
    return (struct budget_amount){.tokens = natural(object, "tokens"),
                                  .cost_micro = natural(object, "cost_micro")};
}

/** Items of a list, at most so many. */
static size_t count_items(struct json_object *list, size_t most)
{
    size_t count = json_length(list);
    return count < most ? count : most;
}

static void read_days(struct json_object *list, struct budget_ledger *ledger)
{
    ledger->day_count = count_items(list, LEDGER_DAYS);
    for (size_t i = 0; i < ledger->day_count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        ledger->days[i] = (struct ledger_day){.day = read_day(item), .used = read_amount(item)};
    }
}

static void read_requests(struct json_object *list, struct budget_ledger *ledger)
{
    ledger->request_count = count_items(list, LIMIT_BUDGET_REQUESTS);
    for (size_t i = 0; i < ledger->request_count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        struct ledger_request *request = &ledger->requests[i];
        *request = (struct ledger_request){
            .epoch = (uint64_t)natural(item, "epoch"),
            .number = (uint64_t)natural(item, "number"),
            .day = read_day(item),
            .reserved = read_amount(item),
        };
        snprintf(request->run_id, sizeof(request->run_id), "%s", json_get_string(item, "run", ""));
    }
}

static void read_warned(struct json_object *object, struct budget_ledger *ledger)
{
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        struct json_object *item = json_member(object, budget_kinds[i].name);
        ledger->warned[i] = (struct ledger_warned){.limit = natural(item, "limit"),
                                                   .begin = json_get_int(item, "begin", 0)};
    }
}

static void read_rules(struct json_object *object, struct budget_rules *rules)
{
    struct json_object *limits = json_member(object, "limits");
    snprintf(rules->zone, sizeof(rules->zone), "%s", json_get_string(object, "zone", "UTC"));
    rules->is_refusing = json_get_bool(object, "refuses", false);
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        rules->limits.limits[i] = natural(limits, budget_kinds[i].name);
    }
}

int ledger_read(const char *data, size_t len, struct budget_ledger *ret_ledger,
                struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    memset(ret_ledger, 0, sizeof(*ret_ledger));
    read_rules(NULL, &ret_ledger->rules);
    if (data == NULL) {
        return 0;
    }
    int r = json_parse(data, len, &root, err);
    if (r < 0) {
        return r;
    }
    int64_t format = json_get_int(root, "format", 0);
    if (format != FORMAT) {
        return error_set(err, RONDO_ERR_CORRUPT,
                         "the record of a budget has the format %lld; this version reads %d",
                         (long long)format, FORMAT);
    }
    ret_ledger->life = read_amount(json_member(root, "life"));
    read_days(json_member(root, "days"), ret_ledger);
    read_requests(json_member(root, "requests"), ret_ledger);
    read_warned(json_member(root, "warned"), ret_ledger);
    read_rules(json_member(root, "role"), &ret_ledger->rules);
    return 0;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_amount(struct json_writer *writer, struct budget_amount amount)
{
    json_write_int(writer, "tokens", amount.tokens);
    json_write_int(writer, "cost_micro", amount.cost_micro);
}

static void write_requests(const struct budget_ledger *ledger, struct json_writer *writer)
{
    json_begin_array(writer, "requests");
    for (size_t i = 0; i < ledger->request_count; i++) {
        const struct ledger_request *request = &ledger->requests[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "run", request->run_id);
        json_write_int(writer, "epoch", (int64_t)request->epoch);
        json_write_int(writer, "number", (int64_t)request->number);
        json_write_int(writer, "day", request->day);
        write_amount(writer, request->reserved);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_warned(const struct budget_ledger *ledger, struct json_writer *writer)
{
    json_begin_object(writer, "warned");
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        if (ledger->warned[i].limit > 0) {
            json_begin_object(writer, budget_kinds[i].name);
            json_write_int(writer, "limit", ledger->warned[i].limit);
            json_write_int(writer, "begin", ledger->warned[i].begin);
            json_end_object(writer);
        }
    }
    json_end_object(writer);
}

static void write_rules(const struct budget_rules *rules, struct json_writer *writer)
{
    json_begin_object(writer, "role");
    json_write_string(writer, "zone", rules->zone);
    json_write_bool(writer, "refuses", rules->is_refusing);
    json_begin_object(writer, "limits");
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        if (rules->limits.limits[i] > 0) {
            json_write_int(writer, budget_kinds[i].name, rules->limits.limits[i]);
        }
    }
    json_end_object(writer);
    json_end_object(writer);
}

void ledger_write(const struct budget_ledger *ledger, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_begin_object(&writer, "life");
    write_amount(&writer, ledger->life);
    json_end_object(&writer);
    json_begin_array(&writer, "days");
    for (size_t i = 0; i < ledger->day_count; i++) {
        json_begin_object(&writer, NULL);
        json_write_int(&writer, "day", ledger->days[i].day);
        write_amount(&writer, ledger->days[i].used);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    write_requests(ledger, &writer);
    write_warned(ledger, &writer);
    write_rules(&ledger->rules, &writer);
    json_end_object(&writer);
}

/* ---- What is used and reserved -------------------------------------------------------------- */

int64_t ledger_used(const struct budget_ledger *ledger, enum budget_kind kind, int64_t day)
{
    enum budget_period period = budget_kinds[kind].period;
    if (period == BUDGET_LIFE) {
        return figure_of(ledger->life, kind);
    }
    int64_t sum = 0;
    for (size_t i = 0; i < ledger->day_count; i++) {
        if (is_in_period(period, ledger->days[i].day, day)) {
            sum = add_up(sum, figure_of(ledger->days[i].used, kind));
        }
    }
    return sum;
}

int64_t ledger_reserved(const struct budget_ledger *ledger, enum budget_kind kind, int64_t day,
                        const char *but_run_id)
{
    int64_t sum = 0;
    for (size_t i = 0; i < ledger->request_count; i++) {
        const struct ledger_request *request = &ledger->requests[i];
        bool is_own = but_run_id != NULL && strcmp(request->run_id, but_run_id) == 0;
        if (!is_own && is_in_period(budget_kinds[kind].period, request->day, day)) {
            sum = add_up(sum, figure_of(request->reserved, kind));
        }
    }
    return sum;
}

struct budget_standing ledger_standing(const struct budget_ledger *ledger,
                                       const struct budget_limits *limits, int64_t day,
                                       const char *run_id)
{
    struct budget_standing standing = {.verdict = BUDGET_FREE};
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        int64_t limit = limits->limits[i];
        int64_t used = limit > 0 ? ledger_used(ledger, i, day) : 0;
        int64_t reserved = limit > 0 ? ledger_reserved(ledger, i, day, run_id) : 0;
        enum budget_verdict verdict = limit <= 0 || add_up(used, reserved) < limit ? BUDGET_FREE
                                      : used < limit                               ? BUDGET_RESERVED
                                                     : BUDGET_EXHAUSTED;
        /* Of several that are used up, the one that lasts longest decides. */
        bool is_longer = verdict == standing.verdict && verdict == BUDGET_EXHAUSTED &&
                         budget_kinds[i].period > budget_kinds[standing.kind].period;
        if (verdict > standing.verdict || is_longer) {
            standing = (struct budget_standing){
                .verdict = verdict, .kind = i, .limit = limit, .used = used};
        }
    }
    return standing;
}

/* ---- Changes -------------------------------------------------------------------------------- */

static void drop_request(struct budget_ledger *ledger, size_t i)
{
    ledger->request_count--;
    memmove(&ledger->requests[i], &ledger->requests[i + 1],
            (ledger->request_count - i) * sizeof(ledger->requests[0]));
}

static size_t find_request(const struct budget_ledger *ledger, const char *run_id)
{
    size_t i = 0;
    while (i < ledger->request_count && strcmp(ledger->requests[i].run_id, run_id) != 0) {
        i++;
    }
    return i;
}

/** Make room by forgetting a request whose process was found dead. @return whether there is room */
static bool make_room(struct budget_ledger *ledger)
{
    for (size_t i = 0; ledger->request_count == LIMIT_BUDGET_REQUESTS && i < ledger->request_count;
         i++) {
        const struct budget_amount *reserved = &ledger->requests[i].reserved;
        if (reserved->tokens == 0 && reserved->cost_micro == 0) {
            drop_request(ledger, i);
        }
    }
    return ledger->request_count < LIMIT_BUDGET_REQUESTS;
}

enum budget_verdict ledger_reserve(struct budget_ledger *ledger, const struct budget_limits *limits,
                                   const struct ledger_request *request)
{
    size_t i = find_request(ledger, request->run_id);
    if (i < ledger->request_count) {
        drop_request(ledger, i);
    }
    enum budget_verdict verdict =
        ledger_standing(ledger, limits, request->day, request->run_id).verdict;
    if (verdict == BUDGET_FREE && !make_room(ledger)) {
        return BUDGET_RESERVED;
    }
    if (verdict == BUDGET_FREE) {
        ledger->requests[ledger->request_count++] = *request;
    }
    return verdict;
}

/** The day to forget when there are too many: the one farthest from that which comes. */
static size_t farthest_day(const struct budget_ledger *ledger, int64_t day)
{
    size_t farthest = 0;
    for (size_t i = 1; i < ledger->day_count; i++) {
        if (llabs(ledger->days[i].day - day) > llabs(ledger->days[farthest].day - day)) {
            farthest = i;
        }
    }
    return farthest;
}

void ledger_add(struct budget_ledger *ledger, int64_t day, struct budget_amount used)
{
    size_t i = 0;
    while (i < ledger->day_count && ledger->days[i].day != day) {
        i++;
    }
    if (i == LEDGER_DAYS) {
        i = farthest_day(ledger, day);
        ledger->days[i] = (struct ledger_day){.day = day};
    } else if (i == ledger->day_count) {
        ledger->days[i] = (struct ledger_day){.day = day};
        ledger->day_count++;
    }
    add_amount(&ledger->days[i].used, used);
    add_amount(&ledger->life, used);
}

void ledger_settle(struct budget_ledger *ledger, const char *run_id, uint64_t number,
                   struct budget_amount used)
{
    size_t i = find_request(ledger, run_id);
    if (i < ledger->request_count && ledger->requests[i].number == number) {
        ledger_add(ledger, ledger->requests[i].day, used);
        drop_request(ledger, i);
    }
}

/** Whether a limit is used up to NEAR_PERCENT, with `more`. */
static bool is_at_percent(const struct budget_ledger *ledger, int64_t limit, enum budget_kind kind,
                          int64_t day, int64_t more)
{
    __extension__ typedef __int128 wide;
    int64_t used = add_up(ledger_used(ledger, kind, day), more);
    return limit > 0 && (wide)used * 100 >= (wide)limit * NEAR_PERCENT;
}

bool ledger_is_nearly_used(const struct budget_ledger *ledger, const struct budget_limits *limits,
                           enum budget_kind kind, int64_t day)
{
    return is_at_percent(ledger, limits->limits[kind], kind, day, 0);
}

bool ledger_is_near(const struct budget_ledger *ledger, const struct budget_limits *limits,
                    enum budget_kind kind, int64_t day, struct budget_amount more)
{
    int64_t limit = limits->limits[kind];
    const struct ledger_warned *warned = &ledger->warned[kind];
    return is_at_percent(ledger, limit, kind, day, figure_of(more, kind)) &&
           (warned->limit != limit || warned->begin != period_of(kind, day));
}

void ledger_note_warned(struct budget_ledger *ledger, const struct budget_limits *limits,
                        enum budget_kind kind, int64_t day)
{
    ledger->warned[kind] =
        (struct ledger_warned){.limit = limits->limits[kind], .begin = period_of(kind, day)};
}
