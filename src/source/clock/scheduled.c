// SPDX-License-Identifier: Apache-2.0
/*
 * Follow-ups (agent/follow_up.h) as a source: each agent with `spec.autonomy` has one, without a
 * trigger in its role. A follow-up that is due is submitted with its id as key and mark, in one
 * transaction, and is settled after that; what a crash leaves pending between the two is found by
 * the mark, however long the daemon was down.
 */
#include "agent/follow_up.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "source/source.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct source_type scheduled_source_type;

#define RETRY_FULL_NS (5 * NS_PER_S)
/** Another look when the store has failed. */
#define RETRY_FAILED_NS (5 * NS_PER_S)
/** How often pending follow-ups are looked at, which other processes may change. */
#define LOOK_NS (60 * NS_PER_S)
/** Settled ones are deleted no more often: it reads all of the agent. */
#define PURGE_NS (INT64_C(3600) * NS_PER_S)

struct scheduled_source {
    struct source head;
    int64_t due_ns; /* of the next follow-up; SOURCE_NEVER = there is none */
    int64_t retry_ns;
    int64_t purge_ns; /* when settled ones are looked for again */
};

/** Look what is due first. @param ret_first follow_up_fini(), zero when there is none; or NULL */
static int look(struct scheduled_source *scheduled, struct follow_up *ret_first,
                struct rondo_error *err)
{
    struct follow_up first = {0};
    const struct source_host *host = scheduled->head.host;
    int r = follow_up_find_first(host->store, host->role, &first, err);
    if (r < 0) {
        return r;
    }
    scheduled->due_ns = r == 0 ? SOURCE_NEVER : first.due_ns;
    if (ret_first == NULL) {
        follow_up_fini(&first);
    } else {
        *ret_first = first;
    }
    return 0;
}

/** It became a start request, or was refused as one. @param run_id or "" */
static int settle(struct scheduled_source *scheduled, const char *id, const char *run_id,
                  struct rondo_error *err)
{
    struct store *store = scheduled->head.host->store;
    int r = 0;
    bool is_settled = false;
    while (r == 0 && !is_settled) {
        struct follow_up follow_up = {0};
        r = follow_up_find(store, id, &follow_up, err);
        is_settled = r == 0 || follow_up.state == FOLLOW_UP_STARTED;
        if (r > 0 && !is_settled) {
            follow_up.state = FOLLOW_UP_STARTED;
            snprintf(follow_up.run_id, sizeof(follow_up.run_id), "%s", run_id);
            r = follow_up_update(store, &follow_up, err);
            is_settled = r > 0;
        }
        follow_up_fini(&follow_up);
        r = r > 0 ? 0 : r;
    }
    return r;
}

static int scheduled_open(struct json_object *config, const struct source_host *host,
                          const char *mark, struct source **ret_source, struct rondo_error *err)
{
    (void)config;
    auto_json struct json_object *last = NULL;
    struct scheduled_source *scheduled = memory_new_zero(1, sizeof(*scheduled));
    scheduled->head = (struct source){.type = &scheduled_source_type, .host = host};
    int r = 0;
    if (mark != NULL && json_parse(mark, strlen(mark), &last, NULL) == 0) {
        char run_id[ID_SIZE] = "";
        const char *id = json_get_string(last, "last", "");
        r = intake_find_run(host->intake, host->id, id, run_id, err);
        r = r < 0 ? r : settle(scheduled, id, run_id, err);
    }
    r = r < 0 ? r : follow_ups_list_due(host->store, host->role, err);
    r = r < 0 ? r : look(scheduled, NULL, err);
    if (r < 0) {
        free(scheduled);
        return r;
    }
    *ret_source = &scheduled->head;
    return 0;
}

static void scheduled_close(struct source *source)
{
    free(source);
}

static int64_t scheduled_next_due(struct source *source)
{
    struct scheduled_source *scheduled = (struct scheduled_source *)source;
    if (look(scheduled, NULL, NULL) < 0) { /* Who asks next may come much later. */
        return clock_now(source->host->clock) + RETRY_FAILED_NS;
    }
    if (scheduled->due_ns == SOURCE_NEVER) {
        return SOURCE_NEVER;
    }
    int64_t look_ns = clock_now(source->host->clock) + LOOK_NS;
    int64_t due_ns =
        scheduled->due_ns < scheduled->retry_ns ? scheduled->retry_ns : scheduled->due_ns;
    return due_ns < look_ns ? due_ns : look_ns;
}

static int64_t scheduled_shown_due(struct source *source)
{
    return ((const struct scheduled_source *)source)->due_ns;
}

static void write_context(const struct follow_up *follow_up, struct buf *ret_json)
{
    char time[CLOCK_UTC_SIZE];
    struct json_writer writer = json_writer(ret_json);
    clock_format_utc(follow_up->due_ns, time);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "scheduled_task_id", follow_up->id);
    json_write_string(&writer, "scheduled_by_run", follow_up->asked_by);
    json_write_string(&writer, "scheduled_for", time);
    json_write_int(&writer, "depth", follow_up->depth);
    json_end_object(&writer);
}

/** Settle one as it was read; when it was changed since, as it is now. */
static int settle_first(struct scheduled_source *scheduled, struct follow_up *follow_up,
                        const char *run_id, struct rondo_error *err)
{
    follow_up->state = FOLLOW_UP_STARTED;
    snprintf(follow_up->run_id, sizeof(follow_up->run_id), "%s", run_id);
    int r = follow_up_update(scheduled->head.host->store, follow_up, err);
    return r == 0 ? settle(scheduled, follow_up->id, run_id, err) : r < 0 ? r : 0;
}

static int purge(struct scheduled_source *scheduled, int64_t now_ns, struct rondo_error *err)
{
    const struct source_host *host = scheduled->head.host;
    if (now_ns < scheduled->purge_ns && scheduled->purge_ns - now_ns <= PURGE_NS) {
        return 0;
    }
    scheduled->purge_ns = now_ns + PURGE_NS;
    return follow_ups_purge(host->store, host->role, now_ns - FOLLOW_UP_KEPT_NS, err);
}

static int submit(struct scheduled_source *scheduled, struct follow_up *follow_up, int64_t now_ns,
                  struct rondo_error *err)
{
    char mark[FOLLOW_UP_ID_SIZE + 16];
    auto_buf struct buf context = {0};
    struct intake_result result = {0};
    snprintf(mark, sizeof(mark), "{\"last\":\"%s\"}", follow_up->id);
    write_context(follow_up, &context);
    struct intake_event event = {
        .prompt = follow_up->prompt,
        .key = follow_up->id,
        .group = follow_up->id,
        .context = buf_string(&context),
        .mark = mark,
        .due_ns = follow_up->due_ns,
    };
    int r = source_submit(&scheduled->head, &event, &result, err);
    if (r < 0) {
        return r;
    }
    if (result.outcome == INTAKE_FULL) {
        scheduled->retry_ns = now_ns + RETRY_FULL_NS;
        return 0;
    }
    return settle_first(scheduled, follow_up, result.run_id, err);
}

static int scheduled_fire(struct source *source, int64_t now_ns, struct rondo_error *err)
{
    struct scheduled_source *scheduled = (struct scheduled_source *)source;
    struct follow_up first = {0};
    int r = look(scheduled, &first, err);
    if (r == 0 && scheduled->due_ns <= now_ns && scheduled->retry_ns <= now_ns) {
        r = submit(scheduled, &first, now_ns, err);
        r = r < 0 ? r : purge(scheduled, now_ns, err);
    }
    follow_up_fini(&first);
    return r;
}

static void scheduled_describe(struct source *source, struct json_writer *writer)
{
    int64_t pending = 0;
    if (follow_ups_count(source->host->store, source->host->role, &pending, NULL) == 0) {
        json_write_int(writer, "pending", pending);
    }
}

static const char *const no_settings[] = {NULL};

const struct source_type scheduled_source_type = {
    .name = "scheduled",
    .identity = no_settings,
    .summary = no_settings,
    .about = "follow-ups",
    .open = scheduled_open,
    .close = scheduled_close,
    .next_due = scheduled_next_due,
    .shown_due = scheduled_shown_due,
    .fire = scheduled_fire,
    .describe = scheduled_describe,
};
