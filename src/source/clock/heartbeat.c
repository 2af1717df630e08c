// SPDX-License-Identifier: Apache-2.0
/*
 * Heartbeat triggers: in intervals the agent gets a checklist, while the list has open items. The
 * mark is the last beat that had its turn. Beats outside of the active hours are left out; of those
 * that were missed only the last counts. Of several servers with the role on duty one has a beat,
 * as with cron triggers.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "base/time/schedule.h"
#include "os/file_untrusted.h"
#include "os/zone.h"
#include "source/intake/mark.h"
#include "source/source.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct source_type heartbeat_source_type;

#define CORRECTION_SECONDS (3 * 3600)
#define RETRY_NS           (5 * NS_PER_S)
/** Beginnings of active hours that are looked at to find a beat within them. */
#define ACTIVE_TRIES 400

struct heartbeat {
    struct source head;
    char *file;
    char *prompt_prefix;
    int64_t interval_seconds;
    struct zone *zone;
    bool has_active_hours;
    int active_from, active_until;
    struct schedule active_begin; /* each day */
    int64_t last;                 /* the last beat that had its turn, seconds */
    uint64_t version;             /* of the mark, when it was read last */
    int64_t next;                 /* the one after it within active hours; INT64_MAX = none */
    int64_t retry_ns;
    char run_id[ID_SIZE];
    char problem[SOURCE_PROBLEM_SIZE]; /* of the checklist, at the last beat; "" = none */
};

static bool is_active(const struct heartbeat *heartbeat, int64_t unix_seconds)
{
    struct zone_span span;
    if (!heartbeat->has_active_hours) {
        return true;
    }
    zone_span_at(heartbeat->zone, unix_seconds, &span);
    int64_t local = unix_seconds + span.moment.offset_seconds;
    int hour = (int)(local / 3600 % 24);
    int from = heartbeat->active_from;
    int until = heartbeat->active_until;
    return from <= until ? hour >= from && hour < until : hour >= from || hour < until;
}

/** The first beat after a time that is within active hours. */
static int64_t beat_after(const struct heartbeat *heartbeat, int64_t after)
{
    int64_t interval = heartbeat->interval_seconds;
    int64_t passed = after < heartbeat->last ? 0 : (after - heartbeat->last) / interval;
    int64_t beat = heartbeat->last + (passed + 1) * interval;
    for (int i = 0; !is_active(heartbeat, beat); i++) {
        int64_t begin;
        if (i == ACTIVE_TRIES ||
            !schedule_next(&heartbeat->active_begin, heartbeat->zone, beat, &begin)) {
            return INT64_MAX;
        }
        beat += (begin - beat + interval - 1) / interval * interval;
    }
    return beat;
}

static int read_active_hours(struct heartbeat *heartbeat, struct json_object *config,
                             struct rondo_error *err)
{
    const char *zone = json_get_string(config, "timezone", "UTC");
    struct json_object *hours = json_member(config, "active_hours");
    char text[32];
    if (!zone_load(zone, &heartbeat->zone)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "this machine has no time zone '%.64s'", zone);
    }
    if (hours == NULL || json_object_array_length(hours) != 2) {
        return 0;
    }
    heartbeat->has_active_hours = true;
    heartbeat->active_from = json_object_get_int(json_object_array_get_idx(hours, 0));
    heartbeat->active_until = json_object_get_int(json_object_array_get_idx(hours, 1));
    snprintf(text, sizeof(text), "0 %d * * *", heartbeat->active_from);
    const char *problem = schedule_parse(text, &heartbeat->active_begin);
    return problem == NULL ? 0 : error_set(err, RONDO_ERR_INVALID, "active_hours: %s", problem);
}

static int64_t now_seconds(const struct heartbeat *heartbeat)
{
    return clock_now(heartbeat->head.host->clock) / NS_PER_S;
}

static void write_mark(int64_t last, char ret_mark[48])
{
    snprintf(ret_mark, 48, "{\"last\":%" PRId64 "}", last);
}

/** The last beat that had its turn, by a mark. */
static int parse_mark(const struct heartbeat *heartbeat, const char *mark, int64_t *ret_last,
                      struct rondo_error *err)
{
    auto_json struct json_object *object = NULL;
    int r = json_parse(mark, strlen(mark), &object, err);
    if (r == 0) {
        *ret_last = json_get_int(object, "last", now_seconds(heartbeat));
    }
    return r;
}

/** Continue after a beat. Its run may still be executing. */
static int continue_after(struct heartbeat *heartbeat, int64_t last, struct rondo_error *err)
{
    char key[24];
    heartbeat->last = last;
    heartbeat->next = beat_after(heartbeat, last);
    snprintf(key, sizeof(key), "%" PRId64, last);
    int r = intake_find_run(heartbeat->head.host->intake, heartbeat->head.host->id, key,
                            heartbeat->run_id, err);
    return r < 0 ? r : 0;
}

static int read_mark(struct heartbeat *heartbeat, const char *mark, struct rondo_error *err)
{
    int64_t last = 0;
    int r = parse_mark(heartbeat, mark, &last, err);
    return r < 0 ? r : continue_after(heartbeat, last, err);
}

static int begin_mark(struct heartbeat *heartbeat, struct rondo_error *err)
{
    char text[48];
    auto_free char *mark = NULL;
    const struct source_host *host = heartbeat->head.host;
    write_mark(now_seconds(heartbeat), text);
    int r = intake_begin_mark(host->intake, host->id, text, &mark, err);
    return r < 0 ? r : read_mark(heartbeat, mark == NULL ? text : mark, err);
}

/** A beat is due: another server may have been faster. */
static int follow_mark(struct heartbeat *heartbeat, struct rondo_error *err)
{
    auto_free char *mark = NULL;
    int64_t last = heartbeat->last;
    const struct source_host *host = heartbeat->head.host;
    int r = source_mark_read(host->store, host->id, &mark, &heartbeat->version, err);
    r = r < 0 || mark == NULL ? r : parse_mark(heartbeat, mark, &last, err);
    bool is_ahead = last > now_seconds(heartbeat) + CORRECTION_SECONDS;
    return r < 0 || is_ahead || last <= heartbeat->last ? r : continue_after(heartbeat, last, err);
}

static void heartbeat_close(struct source *source)
{
    struct heartbeat *heartbeat = (struct heartbeat *)source;
    zone_free(heartbeat->zone);
    free(heartbeat->file);
    free(heartbeat->prompt_prefix);
    free(heartbeat);
}

static int heartbeat_open(struct json_object *config, const struct source_host *host,
                          const char *mark, struct source **ret_source, struct rondo_error *err)
{
    struct heartbeat *heartbeat = memory_new_zero(1, sizeof(*heartbeat));
    heartbeat->head = (struct source){.type = &heartbeat_source_type, .host = host};
    heartbeat->file = memory_dup_string(json_get_string(config, "file", ""));
    heartbeat->prompt_prefix = memory_dup_string(json_get_string(config, "prompt_prefix", ""));
    heartbeat->interval_seconds = json_get_int(config, "interval_seconds", 3600);
    if (heartbeat->interval_seconds > LIMIT_CATCH_UP_S) {
        heartbeat->interval_seconds = LIMIT_CATCH_UP_S;
    }
    int r = read_active_hours(heartbeat, config, err);
    if (r == 0) {
        r = mark == NULL ? begin_mark(heartbeat, err) : read_mark(heartbeat, mark, err);
    }
    if (r < 0) {
        heartbeat_close(&heartbeat->head);
        return r;
    }
    *ret_source = &heartbeat->head;
    return 0;
}

static int64_t heartbeat_next_due(struct source *source)
{
    struct heartbeat *heartbeat = (struct heartbeat *)source;
    int64_t now = now_seconds(heartbeat);
    if (heartbeat->last > now + CORRECTION_SECONDS) {
        heartbeat->last = now; /* the clock was wrong before */
        heartbeat->next = beat_after(heartbeat, now);
    }
    if (heartbeat->next > INT64_MAX / NS_PER_S) {
        return SOURCE_NEVER;
    }
    int64_t due_ns = heartbeat->next * NS_PER_S;
    return due_ns < heartbeat->retry_ns ? heartbeat->retry_ns : due_ns;
}

/** The checklist cannot be used at this beat. */
static void note_problem(struct heartbeat *heartbeat, const char *message)
{
    const struct source_host *host = heartbeat->head.host;
    snprintf(heartbeat->problem, sizeof(heartbeat->problem), "%.*s", SOURCE_PROBLEM_SIZE - 1,
             message);
    char line[SOURCE_ID_SIZE + RONDO_ERROR_MESSAGE_SIZE];
    snprintf(line, sizeof(line), "%s: %s", host->id, message);
    if (host->log != NULL) {
        host->log(host->context, line);
    }
}

static bool is_text(const struct buf *bytes)
{
    const char *text = bytes->data;
    size_t step = 1;
    for (size_t at = 0; at < bytes->len && step > 0; at += step) {
        step = text[at] == '\0' ? 0 : utf8_sequence_len(text + at, bytes->len - at);
    }
    return step > 0;
}

/** Lines that begin with "- [ ]". */
static int64_t count_open_items(const char *text)
{
    int64_t count = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        count += strncmp(line, "- [ ]", 5) == 0;
    }
    return count;
}

/** Read the checklist. @return open items; 0 also where there is no usable file */
static int64_t read_list(struct heartbeat *heartbeat, struct buf *ret_text)
{
    const char *file = heartbeat->file;
    const char *agent_folders[SOURCE_AGENT_FOLDERS];
    struct rondo_error err = {0};
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s%s%s", file[0] == '/' ? "" : heartbeat->head.host->folder,
               file[0] == '/' ? "" : "/", file);
    source_agent_folders(heartbeat->head.host, agent_folders);
    heartbeat->problem[0] = '\0';
    if (file_read_named(agent_folders, buf_string(&path), LIMIT_HEARTBEAT_BYTES, ret_text, &err) <
        0) {
        note_problem(heartbeat, err.message);
        return 0;
    }
    if (!is_text(ret_text)) {
        note_problem(heartbeat, "the checklist is not text in UTF-8");
        return 0;
    }
    return count_open_items(buf_string(ret_text));
}

static void write_context(const struct heartbeat *heartbeat, int64_t beat, int64_t items,
                          struct buf *ret_json)
{
    char time[CLOCK_UTC_SIZE];
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    clock_format_utc(beat * NS_PER_S, time);
    json_write_string(&writer, "file", heartbeat->file);
    json_write_string(&writer, "scheduled_for", time);
    json_write_int(&writer, "item_count", items);
    json_write_int(&writer, "interval_seconds", heartbeat->interval_seconds);
    json_end_object(&writer);
}

/** @return 1 when the beat had its turn, 0 when it is to be tried again, or a code */
static int submit(struct heartbeat *heartbeat, int64_t beat, int64_t items, const char *list,
                  struct rondo_error *err)
{
    char mark[48];
    char key[24];
    auto_buf struct buf prompt = {0};
    auto_buf struct buf context = {0};
    struct intake_result result = {0};
    write_mark(beat, mark);
    write_context(heartbeat, beat, items, &context);
    snprintf(key, sizeof(key), "%" PRId64, beat);
    buf_printf(&prompt, "%s\n\n%s", heartbeat->prompt_prefix, list);
    struct intake_event event = {
        .prompt = buf_string(&prompt),
        .key = key,
        .context = buf_string(&context),
        .mark = mark,
        .mark_version = heartbeat->version,
    };
    int r = source_submit(&heartbeat->head, &event, &result, err);
    if (r < 0 || result.outcome == INTAKE_FULL || result.outcome == INTAKE_OVERTAKEN) {
        return r;
    }
    memcpy(heartbeat->run_id, result.run_id, sizeof(heartbeat->run_id));
    return 1;
}

/** The last beat up to now. */
static int64_t last_beat(const struct heartbeat *heartbeat, int64_t now)
{
    int64_t interval = heartbeat->interval_seconds;
    return heartbeat->last + (now - heartbeat->last) / interval * interval;
}

static int heartbeat_fire(struct source *source, int64_t now_ns, struct rondo_error *err)
{
    struct heartbeat *heartbeat = (struct heartbeat *)source;
    if (heartbeat_next_due(source) > now_ns) {
        return 0;
    }
    int r = follow_mark(heartbeat, err);
    if (r < 0 || heartbeat_next_due(source) > now_ns) {
        return r;
    }
    r = heartbeat->run_id[0] == '\0'
            ? 0
            : intake_is_pending_anywhere(heartbeat->head.host->intake, heartbeat->run_id, err);
    if (r < 0) {
        return r;
    }
    bool is_busy = r == 1;
    int64_t beat = last_beat(heartbeat, now_ns / NS_PER_S);
    if (!is_busy && is_active(heartbeat, now_ns / NS_PER_S)) {
        auto_buf struct buf list = {0};
        int64_t items = read_list(heartbeat, &list);
        r = items == 0 ? 1 : submit(heartbeat, beat, items, buf_string(&list), err);
        if (r <= 0) {
            heartbeat->retry_ns = now_ns + RETRY_NS;
            return r;
        }
    }
    heartbeat->last = beat;
    heartbeat->retry_ns = 0;
    heartbeat->next = beat_after(heartbeat, beat);
    return 0;
}

static const char *heartbeat_problem(struct source *source)
{
    return ((const struct heartbeat *)source)->problem;
}

static const char *const identity[] = {"file", "timezone", NULL};
static const char *const summary[] = {"file", NULL};

const struct source_type heartbeat_source_type = {
    .name = "heartbeat",
    .identity = identity,
    .summary = summary,
    .open = heartbeat_open,
    .close = heartbeat_close,
    .next_due = heartbeat_next_due,
    .fire = heartbeat_fire,
    .problem = heartbeat_problem,
};
