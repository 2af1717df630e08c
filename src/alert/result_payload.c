// SPDX-License-Identifier: Apache-2.0
/* The payload of role sinks, with the members that InitRunner's have. */
#include "alert/result_payload.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text/plain.h"
#include "journal/backward.h"
#include "journal/event.h"
#include "journal/run_answer.h"
#include "store/store.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Events of a journal that are read at a time. */
#define WINDOW 500
/** Where a run is found in the dashboard. */
#define RUN_PAGE "/#/runs/"

struct result_totals {
    int64_t tokens_in;
    int64_t tokens_out;
    char *message; /**< of the end; owned */
    bool has_end;
};

static bool take_created(const struct store_event *event, void *context)
{
    struct result_run *run = context;
    if (event->seq == 1) {
        json_parse(event->data, event->data_len, &run->created, NULL);
    }
    return false;
}

static bool add_event(const struct store_event *stored, void *context)
{
    struct result_totals *totals = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0) {
        return true;
    }
    if (event.type == JOURNAL_RUN_FINISHED && !totals->has_end) {
        const char *message = event.run_finished.message;
        totals->message = message == NULL ? NULL : memory_dup_string(message);
        totals->has_end = true;
    } else if (event.type == JOURNAL_MODEL_REPLIED) {
        totals->tokens_in += event.model_replied.tokens_in > 0 ? event.model_replied.tokens_in : 0;
        totals->tokens_out +=
            event.model_replied.tokens_out > 0 ? event.model_replied.tokens_out : 0;
    } else if (event.type == JOURNAL_MODEL_EMBEDDED) {
        totals->tokens_in += event.model_embedded.tokens > 0 ? event.model_embedded.tokens : 0;
    } else if (event.type == JOURNAL_HISTORY_COMPACTED) {
        const struct event_history_compacted *compacted = &event.history_compacted;
        totals->tokens_in += compacted->tokens_in > 0 ? compacted->tokens_in : 0;
        totals->tokens_out += compacted->tokens_out > 0 ? compacted->tokens_out : 0;
    }
    return true;
}

static int add_up(struct store *store, const struct store_run *row, struct result_totals *totals,
                  struct rondo_error *err)
{
    static const char *const types[] = {"run.finished", "model.replied", "model.embedded",
                                        "history.compacted", NULL};
    const struct backward backward = {
        .run_id = row->id,
        .before = row->last_seq + 1,
        .types = types,
        .window = WINDOW,
    };
    uint64_t reached = 0;
    return backward_visit(store, &backward, add_event, totals, &reached, err);
}

struct json_object *result_run_agent(const struct result_run *run)
{
    return json_member(json_member(run->created, "spec"), "agent");
}

/* ---- Writing -------------------------------------------------------------------------------- */

/** "provider" and "model" as the run used them: given beside the role, or the role's. */
static void write_model(struct json_writer *writer, struct json_object *agent)
{
    struct json_object *spec = json_member(json_member(agent, "role"), "spec");
    struct json_object *model = json_member(spec, "model");
    const char *given = json_get_string(agent, "model", NULL);
    const char *colon = given == NULL ? NULL : strchr(given, ':');
    if (colon != NULL) {
        json_write_string(writer, "model", colon + 1);
        json_write_string_len(writer, "provider", given, (size_t)(colon - given));
    } else {
        json_write_string(writer, "model", json_get_string(model, "name", NULL));
        json_write_string(writer, "provider", json_get_string(model, "provider", NULL));
    }
}

/** What a trigger knew of its event, as texts. */
static void write_trigger(struct json_writer *writer, struct json_object *origin)
{
    struct json_object *context = json_member(origin, "context");
    json_write_string(writer, "trigger_type", json_get_string(origin, "kind", NULL));
    json_begin_object(writer, "trigger_metadata");
    if (json_object_is_type(context, json_type_object)) {
        struct json_object_iterator at = json_object_iter_begin(context);
        struct json_object_iterator end = json_object_iter_end(context);
        for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
            json_write_string(writer, json_object_iter_peek_name(&at),
                              json_object_get_string(json_object_iter_peek_value(&at)));
        }
    }
    json_end_object(writer);
}

static void write_url(struct json_writer *writer, const char *base_url, const char *run_id)
{
    if (base_url != NULL) {
        auto_buf struct buf url = {0};
        size_t len = strlen(base_url);
        buf_append(&url, base_url, len - (len > 0 && base_url[len - 1] == '/'));
        buf_printf(&url, RUN_PAGE "%s", run_id);
        json_write_string(writer, "run_url", buf_string(&url));
    }
}

static void write_payload(const struct store_run *row, const struct result_totals *totals,
                          const char *base_url, struct result_run *run)
{
    struct json_writer writer = json_writer(&run->payload);
    struct json_object *spec = json_member(run->created, "spec");
    int64_t duration_ns = row->ended_ns - row->created_ns;
    char time[CLOCK_UTC_SIZE];
    clock_format_utc(row->ended_ns, time);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "agent_name", row->agent_id);
    json_write_string(&writer, "run_id", row->id);
    json_write_string(&writer, "prompt", json_get_string(spec, "prompt", ""));
    json_write_string_len(&writer, "output", buf_string(&run->output), run->output.len);
    json_write_bool(&writer, "success", run->is_success);
    json_write_string(&writer, "error", run->error.len == 0 ? NULL : buf_string(&run->error));
    json_write_int(&writer, "tokens_in", totals->tokens_in);
    json_write_int(&writer, "tokens_out", totals->tokens_out);
    json_write_int(&writer, "duration_ms", duration_ns < 0 ? 0 : duration_ns / NS_PER_MS);
    write_model(&writer, result_run_agent(run));
    write_trigger(&writer, json_member(run->created, "origin"));
    json_write_string(&writer, "timestamp", time);
    json_write_string(&writer, "status", rondo_status_name(row->summary.status));
    json_write_int(&writer, "iterations", (int64_t)row->summary.iteration);
    write_url(&writer, base_url, row->id);
    json_end_object(&writer);
}

/** "[2026-11-21T08:03:00.000Z] fixer | OK | what it said", always one line. */
static void write_line(const struct store_run *row, struct result_run *run)
{
    auto_buf struct buf text = {0};
    char time[CLOCK_UTC_SIZE];
    clock_format_utc(row->ended_ns, time);
    if (!run->is_success) {
        buf_printf(&text, "ERROR: %s | ", buf_string(&run->error));
    } else {
        buf_append_string(&text, "OK | ");
    }
    buf_append(&text, buf_string(&run->output), run->output.len);
    buf_printf(&run->line, "[%s] %s | ", time, row->agent_id);
    text_clean(buf_string(&text), text.len, &run->line);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int read_result(struct store *store, const struct store_run *row, const char *base_url,
                       struct result_run *run, struct rondo_error *err)
{
    struct result_totals totals = {0};
    struct run_answer answer = {0};
    int r = add_up(store, row, &totals, err);
    r = r < 0 ? r : run_answer_read(store, row->id, &answer, err);
    if (r == 0) {
        run->is_success = row->summary.status == RONDO_COMPLETED;
        run->output = answer.text;
        answer.text = (struct buf){0};
        if (!run->is_success) {
            buf_append_string(&run->error, totals.message != NULL
                                               ? totals.message
                                               : rondo_status_name(row->summary.status));
        }
        write_payload(row, &totals, base_url, run);
        write_line(row, run);
    }
    run_answer_fini(&answer);
    free(totals.message);
    return r;
}

int result_run_read(struct store *store, const char *run_id, const char *base_url,
                    struct result_run *ret_run, struct rondo_error *err)
{
    struct store_run row;
    *ret_run = (struct result_run){0};
    int r = store->ops->get_run(store, run_id, &row, err);
    r = r < 0 ? r : store->ops->read_events(store, run_id, 0, 1, take_created, ret_run, err);
    if (r < 0) {
        return r;
    }
    if (result_run_agent(ret_run) == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "the run has no role");
    }
    const char *workspace =
        json_get_string(json_member(ret_run->created, "spec"), "workspace", "/");
    ret_run->workspace = memory_dup_string(workspace);
    return read_result(store, &row, base_url, ret_run, err);
}

void result_run_fini(struct result_run *run)
{
    json_object_put(run->created);
    free(run->workspace);
    buf_fini(&run->output);
    buf_fini(&run->error);
    buf_fini(&run->payload);
    buf_fini(&run->line);
}
