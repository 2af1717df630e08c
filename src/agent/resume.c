// SPDX-License-Identifier: Apache-2.0
/*
 * What a checkpoint keeps of an agent: the places of its conversation in the journal, its
 * plan, and a counter. The messages themselves are in the journal once and are never written again,
 * so that a checkpoint costs the same after ten iterations and after ten thousand.
 */
#include "agent/internal.h"

#include "base/error.h"
#include "base/json/json.h"
#include "journal/reader.h"

#include <json-c/json.h>
#include <stdio.h>

/** Format of a state; the second one has a summary in its conversation. */
#define AGENT_STATE_FORMAT 2

int agent_save(struct agent *agent, struct rondo_error *err)
{
    const struct agent_memory *memory = &agent->memory;
    const struct history *history = &memory->history;
    auto_buf struct buf json = {0};
    auto_buf struct buf plan = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", history->head > 0 ? AGENT_STATE_FORMAT : 1);
    json_write_int(&writer, "seq", (int64_t)loop_state(agent->loop)->seq);
    size_t first = agent->carried; /* What was taken over is in the run's options. */
    if (history->count > first) {
        uint64_t behind = loop_state(agent->loop)->seq + 1;
        json_write_int(&writer, "first", (int64_t)history->seqs[first]);
        size_t second = history->head > first ? history->head : first + 1;
        json_write_int(&writer, "from",
                       (int64_t)(history->count > second ? history->seqs[second] : behind));
    }
    if (history->head > 0) {
        json_write_int(&writer, "summary", (int64_t)history->seqs[history->head - 1]);
    }
    json_write_int(&writer, "attempt", memory->is_request_open ? memory->attempt : 0);
    json_write_int(&writer, "iteration", (int64_t)memory->iteration);
    json_write_int(&writer, "tool_calls", memory->usage.tool_calls);
    json_write_int(&writer, "idle", memory->idle);
    json_write_int(&writer, "reflections", memory->reflections);
    if (memory->asked[0] != '\0') {
        json_write_string(&writer, "asked", memory->asked);
        json_write_int(&writer, "evidence_calls", memory->evidence_calls);
    }
    plan_write_json(&memory->plan, &plan);
    json_write_raw(&writer, "plan", buf_string(&plan));
    json_end_object(&writer);
    return loop_set_agent_state(agent->loop, json.data, json.len, err);
}

/** What loading knows while it reads the journal. */
struct conversation_loading {
    struct agent *agent;
    uint64_t first; /* event of the first message; 0 = there is none */
    uint64_t saved; /* last event that the state covers */
    struct json_object *state;
    bool is_behind;  /* of `saved` */
    bool is_summary; /* the one event that is read is the summary of the conversation */
};

/**
 * The journal continues after what the checkpoint covers. What follows from more than the messages
 * of the window is as it was saved.
 */
static void pass_saved(struct conversation_loading *loading)
{
    struct agent_memory *memory = &loading->agent->memory;
    struct json_object *state = loading->state;
    struct json_object *plan = NULL;
    loading->is_behind = true;
    memory->attempt = json_get_int(state, "attempt", 0);
    memory->is_request_open = memory->attempt > 0;
    memory->iteration = (uint64_t)json_get_int(state, "iteration", 0);
    memory->usage.tool_calls = json_get_int(state, "tool_calls", 0);
    memory->idle = json_get_int(state, "idle", 0);
    memory->reflections = json_get_int(state, "reflections", 0);
    snprintf(memory->asked, sizeof(memory->asked), "%s", json_get_string(state, "asked", ""));
    memory->evidence_calls = json_get_int(state, "evidence_calls", 0);
    plan_fini(&memory->plan);
    if (json_object_object_get_ex(state, "plan", &plan)) {
        plan_load(&memory->plan, plan);
    }
}

/** Changes of the conversation that are in its saved form already. */
static bool is_applied(const struct conversation_loading *loading, enum journal_type type)
{
    return !loading->is_behind &&
           (type == JOURNAL_HISTORY_TRIMMED || type == JOURNAL_HISTORY_COMPACTING ||
            type == JOURNAL_HISTORY_COMPACTED);
}

/** The summary of what a turn took over replaces it; another one follows the first message. */
static void load_summary(struct agent *agent, const struct journal_event *event)
{
    if (event->type != JOURNAL_HISTORY_COMPACTED) {
        return;
    }
    if (agent->carried > 0) {
        agent_fold(agent, event);
    } else {
        agent_add_summary(agent, event);
    }
}

static bool load_event(const struct journal_entry *entry, void *context)
{
    struct conversation_loading *loading = context;
    if (!loading->is_behind && entry->event.seq > loading->saved) {
        pass_saved(loading);
    }
    /* The window is what was left after trimming: of what is in it nothing was dropped. */
    if (loading->is_summary && entry->is_known) {
        load_summary(loading->agent, &entry->event);
    } else if (entry->is_known && !is_applied(loading, entry->event.type)) {
        agent_fold(loading->agent, &entry->event);
    }
    return true;
}

static int visit(struct conversation_loading *loading, uint64_t after, uint32_t limit,
                 struct rondo_error *err)
{
    struct agent *agent = loading->agent;
    return journal_visit(runtime_store(loop_runtime(agent->loop)), loop_run_id(agent->loop), after,
                         limit, load_event, loading, err);
}

/** Read the summary that a state names. */
static int visit_summary(struct conversation_loading *loading, struct rondo_error *err)
{
    uint64_t summary = (uint64_t)json_get_int(loading->state, "summary", 0);
    loading->is_summary = true;
    int r = summary > 0 ? visit(loading, summary - 1, 1, err) : 0;
    loading->is_summary = false;
    return r;
}

/** A call without a result may have had its effect, or not. */
static void find_doubts(struct agent_memory *memory)
{
    for (size_t i = 0; i < memory->call_count; i++) {
        struct agent_call *call = &memory->calls[i];
        call->is_in_doubt = call->is_begun && !call->is_answered;
    }
}

static int load_with(struct agent *agent, struct json_object *state, struct rondo_error *err)
{
    struct conversation_loading loading = {
        .agent = agent,
        .first = (uint64_t)json_get_int(state, "first", 0),
        .saved = (uint64_t)json_get_int(state, "seq", 0),
        .state = state,
    };
    uint64_t from = (uint64_t)json_get_int(state, "from", 0);
    bool is_turn = agent->carried > 0;
    int r = is_turn ? visit_summary(&loading, err) : 0;
    if (r == 0 && loading.first > 0) {
        r = visit(&loading, loading.first - 1, 1, err);
    }
    if (r == 0 && !is_turn) {
        r = visit_summary(&loading, err);
    }
    if (r == 0) {
        uint64_t after = from > 0 ? from - 1 : loading.saved;
        r = visit(&loading, after, 0, err);
    }
    if (r == 0 && !loading.is_behind) {
        pass_saved(&loading);
    }
    find_doubts(&agent->memory);
    return r;
}

int agent_load(struct agent *agent, struct rondo_error *err)
{
    const struct buf *saved = loop_agent_state(agent->loop);
    auto_json struct json_object *state = NULL;
    if (saved->len > 0) {
        int r = json_parse(saved->data, saved->len, &state, err);
        if (r == 0 && json_get_int(state, "format", 0) > AGENT_STATE_FORMAT) {
            r = error_set(err, RONDO_ERR_VERSION, "it was saved by a newer Rondo");
        }
        if (r < 0) {
            error_prefix(err, "the agent's state in the checkpoint cannot be read");
            return r;
        }
    }
    return load_with(agent, state, err);
}
