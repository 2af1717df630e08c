// SPDX-License-Identifier: Apache-2.0
/* One run: all about it, its conditions, limits and checkpoints. */
#include "base/auto.h"
#include "base/memory.h"
#include "base/parse.h"
#include "journal/backward.h"
#include "journal/checkpoint_json.h"
#include "journal/describe.h"
#include "journal/event.h"
#include "loop/limits_ahead.h"
#include "loop/owner.h"
#include "loop/summary.h"
#include "server/answer/run_json.h"
#include "server/api/handlers.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Events that are looked through for something that happened once. */
#define MAX_LOOKED_AT 20000
#define WINDOW        500
/** Entries of a condition's history. */
#define HISTORY_MAX  100
#define DEFAULT_PAGE 50
#define MAX_PAGE     500

static bool load(struct call *call, struct store_run *run, struct summary *summary)
{
    struct rondo_error err = {0};
    if (!call_find_run(call, run)) {
        return false;
    }
    if (summary_load(call_store(call), run->id, summary, &err) == 0) {
        return true;
    }
    call_error(call, &err);
    return false;
}

/** Writes the members of an answer. @return 0 or a negative code, with the object still whole */
typedef int write_fn(struct call *call, const struct summary *summary, struct json_writer *writer,
                     struct rondo_error *err);

/** Answer with an object about the run. @return that of `write`; 0 when there is no run */
static int answer(struct call *call, write_fn *write, struct rondo_error *err)
{
    struct store_run run;
    struct summary summary;
    if (!load(call, &run, &summary)) {
        return 0;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    int r = write(call, &summary, &writer, err);
    json_end_object(&writer);
    summary_fini(&summary);
    return r;
}

/* ---- Limits --------------------------------------------------------------------------------- */

/** A figure in the unit that clients get: cost in dollars. */
static void write_figure(struct json_writer *writer, const char *key, enum run_limit limit,
                         int64_t value)
{
    if (limit == RUN_LIMIT_COST) {
        call_write_money(writer, key, value);
    } else {
        json_write_int(writer, key, value);
    }
}

static void write_limit(struct json_writer *writer, enum run_limit which,
                        const struct policy_limit *limit, const char *policy)
{
    int64_t left = limit->limit > limit->value ? limit->limit - limit->value : 0;
    json_begin_object(writer, NULL);
    json_write_string(writer, "name", run_limit_name(which));
    write_figure(writer, "value", which, limit->value);
    if (limit->is_known) {
        write_figure(writer, "limit", which, limit->limit);
        json_write_int(writer, "percent", policy_limit_percent(limit));
        write_figure(writer, "remaining", which, left);
    } else {
        json_write_null(writer, "limit");
        json_write_null(writer, "percent");
        json_write_null(writer, "remaining");
    }
    json_write_int(writer, "warn_at", limit->warn_at);
    json_write_bool(writer, "is_estimated", limit->is_estimated);
    json_write_string(writer, "source", limit_source_name(limit->source));
    json_write_string(writer, "policy", policy[0] == '\0' ? NULL : policy);
    json_end_object(writer);
}

/** @return 0, or why the policies cannot be asked; then the list is empty */
static int write_limits(struct call *call, const struct summary *summary,
                        struct json_writer *writer, struct rondo_error *err)
{
    struct limits_ahead ahead = {0};
    int r = limits_ahead_find(call->server->options.runtime, &summary->spec, summary->run.id,
                              &summary->state, &ahead, err);
    json_begin_array(writer, "limits");
    for (enum run_limit i = 0; r == 0 && i < RUN_LIMIT_COUNT; i++) {
        write_limit(writer, i, &ahead.limits[i], ahead.policies[i]);
    }
    json_end_array(writer);
    return r;
}

void handle_limits(struct call *call)
{
    struct rondo_error err = {0};
    if (answer(call, write_limits, &err) < 0) {
        call_problem(call, PROBLEM_CONFLICT, "the policies cannot be evaluated: %s", err.message);
    }
}

/* ---- Conditions ----------------------------------------------------------------------------- */

struct status_history {
    struct json_writer *writers; /* one for each condition */
    struct buf *texts;
    size_t *counts;
    const struct summary *summary;
    size_t full;
};

static void write_evaluation(struct json_writer *writer, const struct journal_event *event)
{
    const struct event_condition_evaluated *result = &event->condition_evaluated;
    auto_buf struct buf reason = {0};
    bool is_met = result->status != NULL && strcmp(result->status, "met") == 0;
    event_condition_reason(result, &reason);
    json_begin_object(writer, NULL);
    json_write_int(writer, "iteration", result->iteration);
    call_write_time(writer, "time", event->time_ns);
    json_write_string(writer, "status", is_met ? "met" : "not_met");
    json_write_string(writer, "reason", is_met ? "" : buf_string(&reason));
    json_write_int(writer, "exit_code", result->exit_code);
    json_write_int(writer, "duration_ns", result->duration_ns);
    json_write_int(writer, "seq", (int64_t)event->seq);
    json_end_object(writer);
}

static bool take_evaluation(const struct store_event *stored, void *context)
{
    struct status_history *history = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0) {
        return true;
    }
    for (size_t i = 0; i < history->summary->condition_count; i++) {
        const char *name = event.condition_evaluated.condition;
        bool is_this = name != NULL && strcmp(history->summary->conditions[i].name, name) == 0;
        if (is_this && history->counts[i] < HISTORY_MAX) {
            write_evaluation(&history->writers[i], &event);
            history->full += ++history->counts[i] == HISTORY_MAX;
        }
    }
    return history->full < history->summary->condition_count;
}

static void write_condition(struct json_writer *writer, const struct summary *summary, size_t i,
                            const char *history)
{
    const struct summary_condition *condition = &summary->conditions[i];
    const struct loop_condition *asked = &summary->spec.conditions[i];
    json_begin_object(writer, NULL);
    json_write_string(writer, "name", condition->name);
    json_write_string(writer, "command", asked->command);
    json_write_string(writer, "origin", asked->origin);
    json_write_string(writer, "tool", asked->tool);
    json_write_string(writer, "status", condition->is_met ? "met" : "not_met");
    json_write_bool(writer, "is_evaluated", condition->is_evaluated);
    json_write_string(writer, "reason", condition->reason);
    if (condition->is_evaluated) {
        json_write_int(writer, "exit_code", condition->exit_code);
        json_write_int(writer, "iteration", condition->iteration);
    } else {
        json_write_null(writer, "exit_code");
        json_write_null(writer, "iteration");
    }
    json_write_int(writer, "duration_ns", condition->duration_ns);
    json_write_string_len(writer, "output", condition->output == NULL ? "" : condition->output,
                          condition->output_len);
    call_write_time(writer, "time", condition->time_ns);
    if (history != NULL) {
        json_write_raw(writer, "history", history);
    }
    json_end_object(writer);
}

static int write_conditions(struct call *call, const struct summary *summary,
                            struct json_writer *writer, struct rondo_error *err)
{
    static const char *const types[] = {"condition.evaluated", NULL};
    struct json_writer writers[LIMIT_CONDITIONS];
    struct buf texts[LIMIT_CONDITIONS] = {0};
    size_t counts[LIMIT_CONDITIONS] = {0};
    struct status_history history = {writers, texts, counts, summary, 0};
    uint64_t reached = 0;
    struct backward backward = {
        .run_id = summary->run.id,
        .before = summary->run.last_seq + 1,
        .types = types,
        .window = WINDOW,
        .most = MAX_LOOKED_AT,
    };
    for (size_t i = 0; i < summary->condition_count; i++) {
        writers[i] = json_writer(&texts[i]);
        json_begin_array(&writers[i], NULL);
    }
    int r =
        summary->condition_count == 0
            ? 0
            : backward_visit(call_store(call), &backward, take_evaluation, &history, &reached, err);
    json_begin_array(writer, "conditions");
    for (size_t i = 0; i < summary->condition_count; i++) {
        json_end_array(&writers[i]);
        write_condition(writer, summary, i, buf_string(&texts[i]));
        buf_fini(&texts[i]);
    }
    json_end_array(writer);
    return r;
}

void handle_conditions(struct call *call)
{
    struct rondo_error err = {0};
    if (answer(call, write_conditions, &err) < 0) {
        call_error(call, &err);
    }
}

/* ---- All about it --------------------------------------------------------------------------- */

static bool take_data(const struct store_event *event, void *context)
{
    char **data = context;
    *data = memory_dup_bytes(event->data, event->data_len);
    return false;
}

/** The source of an agent's plan: the event that changed it last, or a later checkpoint. */
struct plan_source {
    char *data;
    bool is_checkpoint;
};

static bool take_plan(const struct store_event *event, void *context)
{
    struct plan_source *source = context;
    source->is_checkpoint = strcmp(event->type, "checkpoint.saved") == 0;
    return source->is_checkpoint ? false : take_data(event, &source->data);
}

/** The JSON that has the plan among its members; NULL = there is none. Owned. */
static char *find_plan(struct call *call, const struct summary *summary, const char *const *types)
{
    struct plan_source source = {0};
    struct checkpoint checkpoint;
    uint64_t reached = 0;
    struct backward backward = {
        .run_id = summary->run.id,
        .before = summary->run.last_seq + 1,
        .types = types,
        .window = WINDOW,
        .most = MAX_LOOKED_AT,
    };
    backward_visit(call_store(call), &backward, take_plan, &source, &reached, NULL);
    if (source.is_checkpoint &&
        checkpoint_load(call_store(call), summary->run.id, 0, &checkpoint, NULL) == 0) {
        source.data = memory_dup_string(buf_string(&checkpoint.agent_state));
        checkpoint_fini(&checkpoint);
    }
    return source.data;
}

/** The plan that an agent made last. */
static void write_plan(struct call *call, const struct summary *summary, struct json_writer *writer)
{
    /* Checkpoints hold the plan, so that a long journal without one need not be read. */
    static const char *const near[] = {"plan.updated", "checkpoint.saved", NULL};
    static const char *const all[] = {"plan.updated", NULL};
    auto_free char *data = NULL;
    auto_json struct json_object *object = NULL;
    struct json_object *plan = NULL;
    if (summary->spec.agent != NULL) {
        data = find_plan(call, summary, near);
        data = data != NULL ? data : find_plan(call, summary, all); /* a damaged checkpoint */
    }
    if (data != NULL && json_parse(data, strlen(data), &object, NULL) == 0) {
        json_object_object_get_ex(object, "plan", &plan);
    }
    json_write_raw(writer, "plan",
                   plan == NULL ? "null"
                                : json_object_to_json_string_ext(plan, JSON_C_TO_STRING_PLAIN));
}

/** Where a fork comes from: in its first event. */
static void write_fork(struct call *call, const char *run_id, struct json_writer *writer)
{
    auto_free char *data = NULL;
    auto_json struct json_object *object = NULL;
    struct store *store = call_store(call);
    store->ops->read_events(store, run_id, 0, 1, take_data, &data, NULL);
    const char *from = NULL;
    if (data != NULL && json_parse(data, strlen(data), &object, NULL) == 0) {
        from = json_get_string(object, "forked_from", NULL);
    }
    if (from == NULL) {
        json_write_null(writer, "forked_from");
        return;
    }
    json_begin_object(writer, "forked_from");
    json_write_string(writer, "run_id", from);
    json_write_int(writer, "checkpoint", json_get_int(object, "checkpoint", 0));
    json_write_int(writer, "seq", json_get_int(object, "forked_seq", 0));
    json_end_object(writer);
}

static void write_violation(const struct summary *summary, struct json_writer *writer)
{
    if (summary->policy == NULL) {
        json_write_null(writer, "violation");
        return;
    }
    enum run_limit which = RUN_LIMIT_ITERATIONS;
    for (int i = 0; i < RUN_LIMIT_COUNT; i++) {
        bool is_this = strcmp(run_limit_name((enum run_limit)i), summary->limit_name) == 0;
        which = is_this ? (enum run_limit)i : which;
    }
    if (strstr(summary->limit_name, "cost") != NULL) {
        which = RUN_LIMIT_COST; /* also a budget of the role */
    }
    json_begin_object(writer, "violation");
    json_write_string(writer, "policy", summary->policy);
    json_write_string(writer, "limit_name", summary->limit_name);
    write_figure(writer, "limit", which, summary->limit);
    write_figure(writer, "value", which, summary->value);
    summary_json_denial(summary, writer);
    json_end_object(writer);
}

/** "provider:name" of the model that an agent uses; null for others. */
static void write_model(const struct loop_spec *spec, struct json_writer *writer)
{
    auto_json struct json_object *agent = NULL;
    struct json_object *model = NULL;
    auto_buf struct buf name = {0};
    if (spec->agent == NULL || json_parse(spec->agent, strlen(spec->agent), &agent, NULL) < 0) {
        json_write_null(writer, "model");
        return;
    }
    const char *given = json_get_string(agent, "model", NULL);
    json_object_object_get_ex(agent, "role", &model);
    json_object_object_get_ex(model, "spec", &model);
    if (given == NULL && json_object_object_get_ex(model, "model", &model)) {
        buf_printf(&name, "%s:%s", json_get_string(model, "provider", "?"),
                   json_get_string(model, "name", "?"));
    }
    json_write_string(writer, "model", given != NULL ? given : name.len > 0 ? name.data : NULL);
}

/** What may be asked of the run now, scopes aside. */
static void write_can(const struct summary *summary, struct json_writer *writer)
{
    const struct store_run *run = &summary->run;
    bool is_running = run->summary.status == RONDO_RUNNING;
    bool is_library = strcmp(summary->spec.kind, "library") == 0;
    json_begin_object(writer, "can");
    json_write_bool(writer, "stop", is_running);
    json_write_bool(writer, "pause", is_running && !run->summary.is_paused);
    json_write_bool(writer, "continue", is_running && run->summary.is_paused);
    json_write_bool(writer, "resume",
                    !is_library && !run_is_executed(run, clock_now(clock_system())) &&
                        !run->summary.is_paused && run->summary.status != RONDO_COMPLETED);
    json_write_bool(writer, "raise", is_running);
    json_end_object(writer);
}

static int write_detail(struct call *call, const struct summary *summary,
                        struct json_writer *writer, struct rondo_error *err)
{
    const struct loop_spec *spec = &summary->spec;
    const struct run_state *state = &summary->state;
    auto_buf struct buf options = {0};
    const char *person = call->grant.person[0] == '\0' ? NULL : call->grant.person;
    bool is_hidden = server_hides_content(call->server, person, summary->run.agent_id);
    loop_spec_encode(spec, &options);
    run_json_members(&summary->run, spec->kind, call->server->options.orchestrator,
                     call->server->store_label, writer);
    json_write_string(writer, "message", summary->message);
    json_write_string(writer, "summary", is_hidden ? NULL : summary->words);
    json_write_int(writer, "exit_code", rondo_status_exit_code(summary->run.summary.status));
    json_write_string(writer, "prompt", spec->prompt);
    write_model(spec, writer);
    json_write_string(writer, "workspace", spec->workspace);
    json_write_int(writer, "active_ns", state->active_ns);
    json_write_int(writer, "checkpoint", (int64_t)state->checkpoint_number);
    json_write_string(writer, "policy_sha256",
                      state->policy_sha256[0] == '\0' ? NULL : state->policy_sha256);
    write_violation(summary, writer);
    if (is_hidden) {
        json_write_null(writer, "plan"); /* The agent's own words, as its summary. */
    } else {
        write_plan(call, summary, writer);
    }
    write_limits(call, summary, writer, err);
    json_write_string(writer, "limits_problem", err->message[0] == '\0' ? NULL : err->message);
    json_begin_array(writer, "conditions");
    for (size_t i = 0; i < summary->condition_count; i++) {
        write_condition(writer, summary, i, NULL);
    }
    json_end_array(writer);
    json_write_raw(writer, "options", buf_string(&options));
    write_fork(call, summary->run.id, writer);
    write_can(summary, writer);
    return 0;
}

void handle_get_run(struct call *call)
{
    struct rondo_error err = {0};
    (void)answer(call, write_detail, &err);
}

/* ---- Checkpoints ---------------------------------------------------------------------------- */

struct checkpoint_list {
    struct json_writer *writer;
    uint64_t before;
    int64_t limit;
    int64_t shown;
    uint64_t last;
    bool is_more;
};

static bool take_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    struct checkpoint_list *list = context;
    auto_buf struct buf row = {0};
    if (checkpoint->number >= list->before) {
        return true;
    }
    list->is_more = list->shown == list->limit;
    if (list->is_more) {
        return false;
    }
    checkpoint_row_json(checkpoint, &row);
    json_write_raw(list->writer, NULL, buf_string(&row));
    list->shown++;
    list->last = checkpoint->number;
    return true;
}

void handle_checkpoints(struct call *call)
{
    struct store_run run;
    struct rondo_error err = {0};
    struct checkpoint_list list = {0};
    int64_t before = 0;
    if (!call_find_run(call, &run) ||
        !call_query_int(call, "before", 1, INT64_MAX, INT64_MAX, &before) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &list.limit)) {
        return;
    }
    struct store *store = call_store(call);
    struct json_writer writer = call_json(call, 200);
    list.writer = &writer;
    list.before = (uint64_t)before;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "checkpoints");
    int r = store->ops->list_checkpoints(store, run.id, take_checkpoint, &list, &err);
    json_end_array(&writer);
    if (list.is_more) {
        json_write_int(&writer, "next", (int64_t)list.last);
    } else {
        json_write_null(&writer, "next");
    }
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}

bool handler_checkpoint_number(struct call *call, int64_t *ret_number)
{
    const char *text = call_value(call, "number");
    *ret_number = 0;
    if (strcmp(text, "latest") == 0 || parse_int(text, 1, INT64_MAX, ret_number, NULL) == 0) {
        return true;
    }
    call_problem(call, PROBLEM_NOT_FOUND, "a checkpoint is a number, or `latest`");
    return false;
}

void handle_checkpoint(struct call *call)
{
    struct store_run run;
    struct rondo_error err = {0};
    struct checkpoint checkpoint;
    int64_t number = 0;
    if (!call_find_content(call, &run) || !handler_checkpoint_number(call, &number)) {
        return;
    }
    if (checkpoint_load(call_store(call), run.id, (uint64_t)number, &checkpoint, &err) < 0) {
        if (err.code == RONDO_ERR_CORRUPT) {
            call_problem(call, PROBLEM_CONFLICT, "the checkpoint is damaged: %s", err.message);
        } else {
            call_error(call, &err);
        }
        return;
    }
    call_json(call, 200);
    checkpoint_json(&checkpoint, &call->answer);
    checkpoint_fini(&checkpoint);
}
