// SPDX-License-Identifier: Apache-2.0
/*
 * What must be true of a year, from what happened outside, which runs there are and what was
 * recorded. It has its own calendar: summer time of Berlin and New York by their rules.
 *
 * Exactly once: no event has two runs; one that its sender was told of has the run that was named,
 * or a record of what became of it. With the rule `queue` nothing is ever refused, dropped or
 * coalesced, and each time of a schedule has a run, is counted as missed by a later one, or is
 * recorded as skipped.
 */
#include "soak.h"

#include "agent/follow_up.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S    INT64_C(86400)
#define JITTER_S 600
/** Times that come again because the clock was set back are recognised for so long. */
#define AGAIN_NS (5 * SOAK_DAY_NS)

/* ---- Runs as they come ---------------------------------------------------------------------- */

void soak_model_run(struct soak *soak, const struct soak_run *run)
{
    const struct soak_role *role = &soak->roles[run->role];
    uint64_t of_role = 0;
    uint64_t all = 0;
    for (size_t i = soak->first_open_run; i < soak->run_count; i++) {
        all += soak->runs[i].is_ended ? 0 : 1;
        of_role += !soak->runs[i].is_ended && soak->runs[i].role == run->role ? 1 : 0;
    }
    if (of_role > role->queue.max_running || all > soak->max_running) {
        soak_violation(soak, "%llu runs of %s and %llu of all execute", (unsigned long long)of_role,
                       role->name, (unsigned long long)all);
    }
    if (run->talk >= 0) {
        soak_model_talk(soak, run);
    }
    soak_say(soak, "run %s of %s: %.40s %s", run->id, run->source,
             strrchr(run->prompt, '\n') == NULL ? run->prompt : strrchr(run->prompt, '\n') + 1,
             run->context);
}

/* ---- Records -------------------------------------------------------------------------------- */

struct record {
    enum refusal_kind kind;
    char run_id[ID_SIZE];
    char source[SOURCE_ID_SIZE];
    size_t role;
    int64_t times; /* that were skipped */
};

struct records {
    const struct soak *soak;
    struct record *items;
    size_t count;
    size_t sure;    /* those that upkeep is known to have deleted */
    size_t to_skip; /* of those that are read now */
};

static bool take_record(const struct start_refusal *refusal, void *context)
{
    struct records *records = context;
    if (records->to_skip > 0) {
        records->to_skip--;
        return true;
    }
    records->items = memory_resize(records->items, records->count + 1, sizeof(*records->items));
    struct record *record = &records->items[records->count++];
    *record = (struct record){.kind = refusal->kind};
    memcpy(record->run_id, refusal->run_id, sizeof(record->run_id));
    memcpy(record->source, refusal->source, sizeof(record->source));
    if (strstr(refusal->reason, "skipped") != NULL) {
        record->times = strtoll(refusal->reason, NULL, 10);
    }
    while (record->role < records->soak->role_count &&
           strcmp(records->soak->roles[record->role].name, refusal->role) != 0) {
        record->role++;
    }
    return true;
}

/** The store keeps the newest records only; the others are kept here. */
void soak_model_before_upkeep(struct soak *soak)
{
    soak->records =
        soak->records == NULL ? memory_new_zero(1, sizeof(*soak->records)) : soak->records;
    soak->records->soak = soak;
    soak->records->to_skip = LIMIT_REFUSALS_KEPT;
    refusals_read(soak->memory, NULL, 0, take_record, soak->records, NULL);
}

static bool count_one(const struct start_refusal *refusal, void *context)
{
    size_t *count = context;
    (void)refusal;
    *count += 1;
    return true;
}

void soak_model_after_upkeep(struct soak *soak)
{
    size_t count = 0;
    if (soak->records->count > soak->records->sure) {
        refusals_read(soak->memory, NULL, 0, count_one, &count, NULL);
    }
    bool was_deleted = count <= LIMIT_REFUSALS_KEPT;
    soak->records->count = was_deleted ? soak->records->count : soak->records->sure;
    soak->records->sure = soak->records->count;
}

void soak_model_fini(struct soak *soak)
{
    if (soak->records != NULL) {
        free(soak->records->items);
        free(soak->records);
    }
}

static size_t count_records(const struct records *records, enum refusal_kind kind,
                            const char *run_id, const char *source)
{
    size_t count = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->items[i];
        count += record->kind == kind && (run_id == NULL || strcmp(record->run_id, run_id) == 0) &&
                         (source == NULL || strcmp(record->source, source) == 0)
                     ? 1
                     : 0;
    }
    return count;
}

/* ---- Events --------------------------------------------------------------------------------- */

static const struct soak_run *find_run(const struct soak *soak, const char *id)
{
    for (size_t i = 0; i < soak->run_count; i++) {
        if (strcmp(soak->runs[i].id, id) == 0) {
            return &soak->runs[i];
        }
    }
    return NULL;
}

static size_t count_runs(const struct soak *soak, const char *prompt)
{
    size_t count = 0;
    for (size_t i = 0; i < soak->run_count; i++) {
        count += strstr(soak->runs[i].prompt, prompt) != NULL ? 1 : 0;
    }
    return count;
}

/** A sender was told which run its request becomes. */
static void check_told(const struct soak *soak, const struct records *records,
                       const struct soak_event *event, size_t runs)
{
    const struct soak_run *run = find_run(soak, event->run_id);
    size_t dropped = count_records(records, REFUSAL_DROPPED, event->run_id, NULL);
    size_t coalesced = count_records(records, REFUSAL_COALESCED, event->run_id, NULL);
    if ((run != NULL) == (dropped > 0)) {
        soak_violation(soak, "%s: its run %s %s", event->prompt, event->run_id,
                       run == NULL ? "was lost" : "exists and was dropped");
    }
    if (run != NULL && runs == 1 && strstr(run->prompt, event->prompt) == NULL) {
        soak_violation(soak, "%s has another run than %s", event->prompt, event->run_id);
    }
    if (run != NULL && runs == 0 && coalesced == 0) {
        soak_violation(soak, "%s: its run %s has another prompt", event->prompt, event->run_id);
    }
}

static void check_event(const struct soak *soak, const struct records *records,
                        const struct soak_event *event)
{
    size_t runs = count_runs(soak, event->prompt);
    bool is_told =
        soak_event_is_sent(event) && event->is_told && !event->is_refused && !event->is_given_up;
    if (runs > 1) {
        soak_violation(soak, "%s has %zu runs", event->prompt, runs);
    }
    if (runs == 0 && soak->roles[event->role].queue.rule == QUEUE_WAIT && !event->is_given_up) {
        soak_violation(soak, "%s has no run", event->prompt);
    }
    if (is_told && event->kind == SOAK_TURN &&
        count_records(records, REFUSAL_COALESCED, event->run_id, NULL) > 0) {
        soak_violation(soak, "the turn %s was coalesced", event->prompt);
    }
    if (is_told) {
        check_told(soak, records, event, runs);
    } else if (event->is_refused && runs > 0) {
        soak_violation(soak, "%s was refused and has a run", event->prompt);
    }
}

/** Events of a source are as many as its runs and records. */
static void check_source(const struct soak *soak, const struct records *records, size_t role,
                         const char *id, enum soak_event_kind kind)
{
    size_t events = 0;
    size_t runs = 0;
    for (size_t i = 0; i < soak->event_count; i++) {
        bool is_of = soak->events[i].role == role && soak->events[i].kind == kind;
        events += is_of ? 1 : 0;
    }
    for (size_t i = 0; i < soak->run_count; i++) {
        runs += strcmp(soak->runs[i].source, id) == 0 ? 1 : 0;
    }
    size_t refused = count_records(records, REFUSAL_REFUSED, NULL, id);
    size_t others = count_records(records, REFUSAL_DROPPED, NULL, id) +
                    count_records(records, REFUSAL_COALESCED, NULL, id);
    if (runs + refused + others < events) {
        soak_violation(soak, "%s: of %zu events %zu are runs and %zu are recorded", id, events,
                       runs, refused + others);
    }
}

static void check_role(const struct soak *soak, const struct records *records, size_t number)
{
    const struct soak_role *role = &soak->roles[number];
    for (size_t at = 0; at < role->source_count; at++) {
        const char *type = json_get_string(role->configs[at], "type", "");
        if (strcmp(type, "scheduled") == 0) {
            check_source(soak, records, number, role->ids[at], SOAK_FOLLOW_UP);
        } else if (strcmp(type, "file_watch") == 0) {
            check_source(soak, records, number, role->ids[at], SOAK_FILE);
        }
    }
    for (size_t i = 0; role->queue.rule == QUEUE_WAIT && i < records->count; i++) {
        const struct record *record = &records->items[i];
        if (record->role == number && record->kind != REFUSAL_FULL &&
            record->kind != REFUSAL_LATE) {
            soak_violation(soak, "an event of %s, whose queue loses nothing, was %s", role->name,
                           refusal_kind_name(record->kind));
        }
    }
}

/* ---- Schedules ------------------------------------------------------------------------------ */

/** The n-th Sunday of a month (0 = the last one), as days since 1970. */
static int64_t sunday(int year, int month, int n)
{
    struct tm day = {.tm_year = year - 1900, .tm_mon = n == 0 ? month : month - 1, .tm_mday = 1};
    int64_t first = timegm(&day) / DAY_S;
    int64_t weekday = (first + 4) % 7;
    return n == 0 ? first - (weekday == 0 ? 7 : weekday)
                  : first + (7 - weekday) % 7 + INT64_C(7) * (n - 1);
}

struct summer {
    int64_t begin_s, end_s; /* UTC */
    int64_t winter_s;       /* offset */
};

static struct summer summer_of(int zone, int year)
{
    if (zone == 1) {
        return (struct summer){sunday(year, 3, 0) * DAY_S + 3600,
                               sunday(year, 10, 0) * DAY_S + 3600, 3600};
    }
    if (zone == 2) {
        return (struct summer){sunday(year, 3, 2) * DAY_S + 7 * 3600,
                               sunday(year, 11, 1) * DAY_S + 6 * 3600, -5 * 3600};
    }
    return (struct summer){0, 0, zone == 3 ? 19800 : 0};
}

static int year_of(int64_t unix_s)
{
    struct tm date;
    time_t time = unix_s;
    gmtime_r(&time, &date);
    return date.tm_year + 1900;
}

int64_t soak_model_offset(int zone, int64_t unix_s)
{
    struct summer summer = summer_of(zone, year_of(unix_s));
    return summer.winter_s + (unix_s >= summer.begin_s && unix_s < summer.end_s ? 3600 : 0);
}

/** When a local time is due: once, where the clock arrives if it does not exist. */
static int64_t due_at(int zone, int64_t local_s)
{
    struct summer summer = summer_of(zone, year_of(local_s));
    int64_t standard = local_s - summer.winter_s;
    if (summer.begin_s == 0 || standard < summer.begin_s) {
        return standard;
    }
    if (standard < summer.begin_s + 3600) {
        return summer.begin_s; /* skipped */
    }
    return standard - 3600 < summer.end_s ? standard - 3600 : standard;
}

/** Times of a schedule after one moment, up to another. */
static int64_t count_times(const struct soak_times *times, int64_t from_s, int64_t to_s)
{
    int64_t count = 0;
    for (int64_t day = from_s / DAY_S - 2; day <= to_s / DAY_S + 2; day++) {
        for (int hour = 0; hour < 24; hour++) {
            int64_t due = due_at(times->zone,
                                 day * DAY_S + INT64_C(3600) * hour + INT64_C(60) * times->minute);
            count += (times->hours >> hour & 1U) != 0 && due > from_s && due <= to_s ? 1 : 0;
        }
    }
    return count;
}

static bool is_time(const struct soak_times *times, int64_t unix_s)
{
    return count_times(times, unix_s - 1, unix_s) == 1;
}

static int64_t parse_time(const char *text)
{
    struct tm date = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &date);
    return end == NULL ? 0 : timegm(&date);
}

/** A time for which there is a run. */
struct seen_time {
    int64_t time;
    int64_t created_ns;
};

/** Check each run of a schedule. @return the times that the runs account for */
static int64_t check_cron_runs(const struct soak *soak, const struct soak_role *role,
                               const char *id)
{
    int64_t got = 0;
    struct seen_time *seen = NULL;
    size_t seen_count = 0;
    for (size_t i = 0; i < soak->run_count; i++) {
        const struct soak_run *run = &soak->runs[i];
        if (strcmp(run->source, id) != 0) {
            continue;
        }
        auto_json struct json_object *context = NULL;
        json_parse(run->context, strlen(run->context), &context, NULL);
        int64_t time = parse_time(json_get_string(context, "scheduled_for", ""));
        if (!is_time(&role->times, time)) {
            soak_violation(soak, "%s has a run for %lld, which is not of its schedule", id,
                           (long long)time);
        }
        for (size_t j = 0; j < seen_count; j++) {
            if (seen[j].time == time &&
                (!soak->has_jumps || run->created_ns - seen[j].created_ns < AGAIN_NS)) {
                soak_violation(soak, "%s has two runs for %lld", id, (long long)time);
            }
        }
        seen = memory_resize(seen, seen_count + 1, sizeof(*seen));
        seen[seen_count++] = (struct seen_time){time, run->created_ns};
        got += 1 + json_get_int(context, "missed", 0);
    }
    free(seen);
    return got;
}

static void check_cron(const struct soak *soak, const struct records *records,
                       const struct soak_role *role)
{
    const char *id = NULL;
    for (size_t at = 0; at < role->source_count; at++) {
        if (strcmp(json_get_string(role->configs[at], "type", ""), "cron") == 0) {
            id = role->ids[at];
        }
    }
    int64_t got = check_cron_runs(soak, role, id);
    for (size_t i = 0; i < records->count; i++) {
        got += strcmp(records->items[i].source, id) == 0 ? records->items[i].times : 0;
    }
    int64_t end_s = soak_wall(soak) / NS_PER_S;
    int64_t most = count_times(&role->times, role->cron_from_s, end_s);
    int64_t least = count_times(&role->times, role->cron_from_s, end_s - JITTER_S);
    bool is_exact = soak->counters->failures == 0; /* of this seed alone */
    if (role->queue.rule == QUEUE_WAIT && !soak->has_jumps &&
        (got < least || (is_exact && got > most))) {
        soak_violation(soak, "%s: %lld of %lld times are accounted for", id, (long long)got,
                       (long long)most);
    }
}

/* ---- The end -------------------------------------------------------------------------------- */

static bool count_document(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

static bool count_pending(const struct follow_up *follow_up, void *context)
{
    *(size_t *)context += follow_up->state == FOLLOW_UP_PENDING ? 1 : 0;
    return true;
}

static void check_leftovers(const struct soak *soak)
{
    size_t waiting = 0;
    size_t pending = 0;
    struct store_document_query query = {.collection = START_REQUEST_COLLECTION};
    soak->memory->ops->read_documents(soak->memory, &query, count_document, &waiting, NULL);
    follow_ups_read(soak->memory, NULL, count_pending, &pending, NULL);
    if (waiting > 0 || pending > 0) {
        soak_violation(soak, "at the end %zu requests wait, and %zu follow-ups", waiting, pending);
    }
}

void soak_model_check(struct soak *soak)
{
    soak_model_before_upkeep(soak); /* so there are records */
    struct records records = *soak->records;
    records.count = records.sure;
    records.to_skip = 0;
    check_leftovers(soak);
    refusals_read(soak->memory, NULL, 0, take_record, &records, NULL);
    for (size_t i = 0; i < soak->event_count; i++) {
        check_event(soak, &records, &soak->events[i]);
    }
    for (size_t i = 0; i < soak->role_count; i++) {
        check_role(soak, &records, i);
        if (soak->roles[i].has_cron) {
            check_cron(soak, &records, &soak->roles[i]);
        }
    }
    soak->records->items = records.items;
    soak_model_check_beats(soak);
    soak_model_check_memories(soak);
}
