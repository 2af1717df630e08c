// SPDX-License-Identifier: Apache-2.0
/*
 * Cron triggers. The mark is the last time of the schedule that had its turn ("seen"); a time that
 * becomes a request has itself as key. So a restart continues where it was, and a time that comes
 * again, because the clock was set back, starts nothing.
 *
 * Several servers may have the role on duty. Each reads the mark when a time is due, and replaces
 * it on condition that it is still the same: one of them has the turn, and the others follow.
 *
 * Several times that are due at once were missed: the daemon was down, the machine slept, the clock
 * was set forward, or the run of the time before was not over. `catch_up` says what follows.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/time/schedule.h"
#include "os/zone.h"
#include "source/intake/mark.h"
#include "source/source.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct source_type cron_source_type;

/** With `catch_up: none`, a time that is later than this was missed. */
#define LATE_SECONDS 60
/** A clock that is set back further than this was wrong before; its times are due again. */
#define CORRECTION_SECONDS (3 * 3600)
#define RETRY_FULL_NS      (5 * NS_PER_S)
/** Before it is looked whether the run of another server has ended. */
#define RETRY_PENDING_NS NS_PER_S

enum catch_up { CATCH_UP_ONE, CATCH_UP_NONE, CATCH_UP_ALL };

struct cron_source {
    struct source head;
    char *text; /* the schedule */
    char *prompt;
    struct schedule schedule;
    struct zone *zone;
    enum catch_up catch_up;
    int64_t jitter_seconds;
    bool may_overlap;
    int64_t seen;     /* the last time that had its turn, seconds */
    uint64_t version; /* of the mark, when it was read last */
    int64_t next;     /* the time after it; INT64_MAX = there is none */
    int64_t next_due; /* when that is due: with its jitter */
    int64_t retry_ns; /* not before; 0 = at once */
    char run_id[ID_SIZE];
};

/* What is due: the latest time, and how many before it were missed. */
struct backlog {
    int64_t latest;
    int64_t latest_due;
    int64_t missed;
};

static int64_t now_seconds(const struct cron_source *cron)
{
    return clock_now(cron->head.host->clock) / NS_PER_S;
}

/** How much later a time starts: the same after a restart. */
static int64_t jitter_of(const struct cron_source *cron, int64_t time)
{
    unsigned char bytes[DIGEST_SIZE];
    uint64_t number;
    if (cron->jitter_seconds == 0) {
        return 0;
    }
    struct digest digest = digest_begin();
    digest_add(&digest, cron->head.host->id, strlen(cron->head.host->id));
    digest_add_u64(&digest, (uint64_t)time);
    digest_finish(&digest, bytes);
    memcpy(&number, bytes, sizeof(number));
    return (int64_t)(number % ((uint64_t)cron->jitter_seconds + 1));
}

/** A time had its turn, or the source begins there. */
static void advance(struct cron_source *cron, int64_t seen)
{
    cron->seen = seen;
    cron->retry_ns = 0;
    if (schedule_next(&cron->schedule, cron->zone, seen, &cron->next)) {
        cron->next_due = cron->next + jitter_of(cron, cron->next);
    } else {
        cron->next = INT64_MAX;
        cron->next_due = INT64_MAX;
    }
}

static void write_mark(int64_t seen, char ret_mark[48])
{
    snprintf(ret_mark, 48, "{\"seen\":%" PRId64 "}", seen);
}

static int read_settings(struct cron_source *cron, struct json_object *config,
                         struct rondo_error *err)
{
    const char *zone = json_get_string(config, "timezone", "UTC");
    const char *catch_up = json_get_string(config, "catch_up", "one");
    const char *problem = schedule_parse(json_get_string(config, "schedule", ""), &cron->schedule);
    if (problem != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "the schedule is not a cron expression: %s",
                         problem);
    }
    if (!zone_load(zone, &cron->zone)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "this machine has no time zone '%.64s'", zone);
    }
    cron->catch_up = strcmp(catch_up, "none") == 0  ? CATCH_UP_NONE
                     : strcmp(catch_up, "all") == 0 ? CATCH_UP_ALL
                                                    : CATCH_UP_ONE;
    cron->jitter_seconds = json_get_int(config, "jitter_seconds", 0);
    cron->may_overlap = json_get_bool(config, "overlap", false);
    return 0;
}

/** The last time that had its turn, by a mark. */
static int parse_mark(const struct cron_source *cron, const char *mark, int64_t *ret_seen,
                      struct rondo_error *err)
{
    auto_json struct json_object *object = NULL;
    int r = json_parse(mark, strlen(mark), &object, err);
    if (r == 0) {
        *ret_seen = json_get_int(object, "seen", now_seconds(cron));
    }
    return r;
}

/** Continue after a time. Its run may still be executing. */
static int continue_after(struct cron_source *cron, int64_t seen, struct rondo_error *err)
{
    char key[24];
    int64_t now = now_seconds(cron);
    snprintf(key, sizeof(key), "%" PRId64, seen);
    int r = intake_find_run(cron->head.host->intake, cron->head.host->id, key, cron->run_id, err);
    advance(cron, seen < now - LIMIT_CATCH_UP_S ? now - LIMIT_CATCH_UP_S : seen);
    return r < 0 ? r : 0;
}

static int read_mark(struct cron_source *cron, const char *mark, struct rondo_error *err)
{
    int64_t seen = 0;
    int r = parse_mark(cron, mark, &seen, err);
    return r < 0 ? r : continue_after(cron, seen, err);
}

/** A new trigger: its times count from now on, also if the daemon ends before the first. */
static int begin_mark(struct cron_source *cron, struct rondo_error *err)
{
    char text[48];
    auto_free char *mark = NULL;
    const struct source_host *host = cron->head.host;
    write_mark(now_seconds(cron), text);
    int r = intake_begin_mark(host->intake, host->id, text, &mark, err);
    return r < 0 ? r : read_mark(cron, mark == NULL ? text : mark, err);
}

/** Something is due: another server may have been faster. A mark that is far ahead is of a clock
 * that was wrong. */
static int follow_mark(struct cron_source *cron, struct rondo_error *err)
{
    auto_free char *mark = NULL;
    int64_t seen = cron->seen;
    const struct source_host *host = cron->head.host;
    int r = source_mark_read(host->store, host->id, &mark, &cron->version, err);
    r = r < 0 || mark == NULL ? r : parse_mark(cron, mark, &seen, err);
    bool is_ahead = seen > now_seconds(cron) + CORRECTION_SECONDS;
    return r < 0 || is_ahead || seen <= cron->seen ? r : continue_after(cron, seen, err);
}

static void cron_close(struct source *source)
{
    struct cron_source *cron = (struct cron_source *)source;
    zone_free(cron->zone);
    free(cron->text);
    free(cron->prompt);
    free(cron);
}

static int cron_open(struct json_object *config, const struct source_host *host, const char *mark,
                     struct source **ret_source, struct rondo_error *err)
{
    struct cron_source *cron = memory_new_zero(1, sizeof(*cron));
    cron->head = (struct source){.type = &cron_source_type, .host = host};
    cron->text = memory_dup_string(json_get_string(config, "schedule", ""));
    cron->prompt = memory_dup_string(json_get_string(config, "prompt", ""));
    int r = read_settings(cron, config, err);
    if (r == 0) {
        r = mark == NULL ? begin_mark(cron, err) : read_mark(cron, mark, err);
    }
    if (r < 0) {
        cron_close(&cron->head);
        return r;
    }
    *ret_source = &cron->head;
    return 0;
}

/** Whether the run of the last time is not over, and the next one must not begin. */
static bool is_running(const struct cron_source *cron)
{
    return !cron->may_overlap && cron->run_id[0] != '\0' &&
           intake_is_pending(cron->head.host->intake, cron->run_id);
}

static int64_t cron_next_due(struct source *source)
{
    struct cron_source *cron = (struct cron_source *)source;
    int64_t now = now_seconds(cron);
    if (cron->seen > now + CORRECTION_SECONDS) {
        advance(cron, now);
    }
    if (cron->next_due > INT64_MAX / NS_PER_S) {
        return SOURCE_NEVER;
    }
    int64_t due_ns = cron->next_due * NS_PER_S;
    if (due_ns <= clock_now(cron->head.host->clock) && is_running(cron)) {
        return SOURCE_NEVER; /* until it has ended */
    }
    return due_ns < cron->retry_ns ? cron->retry_ns : due_ns;
}

/** What is due; with `all` only the first of it. */
static struct backlog find_backlog(const struct cron_source *cron, int64_t now)
{
    struct backlog backlog = {.latest = cron->next, .latest_due = cron->next_due};
    int64_t time = cron->next;
    while (cron->catch_up != CATCH_UP_ALL &&
           schedule_next(&cron->schedule, cron->zone, time, &time)) {
        int64_t due = time + jitter_of(cron, time);
        if (due > now) {
            break;
        }
        backlog.latest = time;
        backlog.latest_due = due;
        backlog.missed++;
    }
    return backlog;
}

static void write_context(const struct cron_source *cron, const struct backlog *backlog,
                          struct buf *ret_json)
{
    char time[CLOCK_UTC_SIZE];
    struct json_writer writer = json_writer(ret_json);
    clock_format_utc(backlog->latest * NS_PER_S, time);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "schedule", cron->text);
    json_write_string(&writer, "scheduled_for", time);
    if (backlog->missed > 0) {
        json_write_int(&writer, "missed", backlog->missed);
    }
    json_end_object(&writer);
}

static int submit(struct cron_source *cron, const struct backlog *backlog, int64_t now_ns,
                  struct rondo_error *err)
{
    char mark[48];
    char key[24];
    auto_buf struct buf context = {0};
    struct intake_result result = {0};
    write_mark(backlog->latest, mark);
    write_context(cron, backlog, &context);
    snprintf(key, sizeof(key), "%" PRId64, backlog->latest);
    struct intake_event event = {
        .prompt = cron->prompt,
        .key = key,
        .context = buf_string(&context),
        .mark = mark,
        .mark_version = cron->version,
        .due_ns = backlog->latest_due * NS_PER_S,
        .missed = backlog->missed,
    };
    int r = source_submit(&cron->head, &event, &result, err);
    if (r < 0) {
        return r;
    }
    if (result.outcome == INTAKE_OVERTAKEN) {
        return 0; /* The mark is read again at once. */
    }
    if (result.outcome == INTAKE_FULL) {
        cron->retry_ns = now_ns + RETRY_FULL_NS;
        return 0;
    }
    memcpy(cron->run_id, result.run_id, sizeof(cron->run_id));
    advance(cron, backlog->latest);
    return 0;
}

/** Nothing is started for what was missed, and people are told. */
static int skip(struct cron_source *cron, const struct backlog *backlog, struct rondo_error *err)
{
    const struct source_host *host = cron->head.host;
    char mark[48];
    char reason[80];
    int64_t count = backlog->missed + 1;
    write_mark(backlog->latest, mark);
    snprintf(reason, sizeof(reason), "%" PRId64 " time%s passed and %s skipped", count,
             count == 1 ? "" : "s", count == 1 ? "is" : "are");
    struct intake_event event = {
        .source = host->id, .role = host->role, .mark = mark, .mark_version = cron->version};
    int r = intake_skip(host->intake, &event, reason, err);
    if (r == 0) {
        advance(cron, backlog->latest);
    }
    return r;
}

/** Whether the run of the last time is of another server, and not over: 1, 0, or a code. */
static int is_running_elsewhere(const struct cron_source *cron, struct rondo_error *err)
{
    return cron->may_overlap || cron->run_id[0] == '\0'
               ? 0
               : intake_is_pending_anywhere(cron->head.host->intake, cron->run_id, err);
}

static int cron_fire(struct source *source, int64_t now_ns, struct rondo_error *err)
{
    struct cron_source *cron = (struct cron_source *)source;
    int64_t now = now_ns / NS_PER_S;
    if (cron_next_due(source) > now_ns) {
        return 0;
    }
    int r = follow_mark(cron, err);
    if (r < 0 || cron_next_due(source) > now_ns) {
        return r;
    }
    r = is_running_elsewhere(cron, err);
    if (r != 0) {
        cron->retry_ns = now_ns + RETRY_PENDING_NS;
        return r < 0 ? r : 0;
    }
    if (now - cron->seen > LIMIT_CATCH_UP_S) {
        advance(cron, now - LIMIT_CATCH_UP_S);
    }
    struct backlog backlog = find_backlog(cron, now);
    if (cron->catch_up == CATCH_UP_NONE && now - backlog.latest_due > LATE_SECONDS) {
        return skip(cron, &backlog, err);
    }
    return submit(cron, &backlog, now_ns, err);
}

static const char *const identity[] = {"schedule", "timezone", "prompt", NULL};
static const char *const summary[] = {"schedule", NULL};

const struct source_type cron_source_type = {
    .name = "cron",
    .identity = identity,
    .summary = summary,
    .open = cron_open,
    .close = cron_close,
    .next_due = cron_next_due,
    .fire = cron_fire,
};
