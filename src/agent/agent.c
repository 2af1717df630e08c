// SPDX-License-Identifier: Apache-2.0
/*
 * The body of a role agent: what comes next follows from its memory alone, so that the same code
 * continues after a kill as after the previous step.
 */
#include "agent/internal.h"
#include "agent/memory/memories.h"
#include "agent/output.h"
#include "agent/plan/todo.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** One step. @return enum agent_next or a negative code */
static int take_step(struct agent *agent, const char *words, struct rondo_error *err)
{
    const struct agent_memory *memory = &agent->memory;
    if (memory->blocked != NULL) {
        return agent_end_blocked(agent);
    }
    if (memory->finish != FINISH_NONE || memory->is_answered) {
        return AGENT_BODY_OVER;
    }
    if (cancel_is_set(agent_cancel(agent))) {
        return AGENT_BODY_CUT;
    }
    if (memory->call_count > 0) {
        return agent_make_calls(agent, err);
    }
    return agent_ask(agent, words, err);
}

/** Cut the conversation to a window, unless there are calls to answer. */
static void trim_to(struct agent *agent, int64_t most)
{
    const struct history *history = &agent->memory.history;
    size_t room = most > 1 ? (size_t)most : 1;
    /* What was taken over fits the window, and a turn has one iteration only. */
    if (history->count <= room || agent->memory.call_count > 0 || agent->carried > 0) {
        return;
    }
    struct journal_event event = {
        .type = JOURNAL_HISTORY_TRIMMED,
        .history_trimmed = {.iteration = (int64_t)agent->memory.iteration,
                            .window = most,
                            .messages_before = (int64_t)history->count,
                            .dropped = (int64_t)history_droppable(history, most)},
    };
    agent_record(agent, &event);
}

/**
 * After each iteration the conversation is cut to its window, and to what the model's window takes;
 * where a summary of it is due, before the next one, so that nothing is dropped that the summary
 * should have.
 */
static void cut_history(struct agent *agent)
{
    const struct history *history = &agent->memory.history;
    trim_to(agent, agent->config.role->autonomy.max_history_messages);
    if (agent->context_bytes > 0) {
        int64_t window = history_window(history, agent->context_bytes);
        if (window < (int64_t)history->count) {
            trim_to(agent, window);
        }
    }
}

static void trim_history(struct agent *agent)
{
    if (!compaction_is_due(agent)) {
        cut_history(agent);
    }
}

/** Between iterations: the summary, then the window. @return enum agent_next or a negative code */
static int shorten_history(struct agent *agent, struct rondo_error *err)
{
    bool is_between = !agent->memory.has_words && !agent->memory.is_request_open;
    if (agent->compaction.model == NULL || !is_between) {
        return AGENT_CONTINUE;
    }
    int next = compaction_run(agent, err);
    if (next == AGENT_CONTINUE) {
        cut_history(agent);
    }
    return next;
}

/** Append what the person said last, the newest first. @param words not in the journal yet */
static void write_said(const struct agent *agent, const char *words, struct buf *ret_text)
{
    const struct agent_memory *memory = &agent->memory;
    buf_printf(ret_text, "%.*s", AGENT_SAID_BYTES, words == NULL ? "" : words);
    for (size_t i = 0; i < AGENT_SAID && ret_text->len < AGENT_SAID_BYTES; i++) {
        const char *said = memory->said[(memory->said_count + AGENT_SAID - 1 - i) % AGENT_SAID];
        int room = AGENT_SAID_BYTES - (int)ret_text->len;
        buf_printf(ret_text, " %.*s", room, said == NULL ? "" : said);
    }
}

/**
 * A conversation of an agent with memory is resumed with its newest messages, and with memories of
 * what they are about. An answer that was cut off is repeated as it was requested.
 */
static void begin_resumed(struct agent *agent, const char *words)
{
    auto_buf struct buf said = {0};
    int64_t most = agent_memories_resume_messages(agent->memories);
    bool is_between = !agent->memory.has_words && !agent->memory.is_request_open;
    if (agent->is_resumed && agent->config.mode == AGENT_CHAT && most > 0 && is_between) {
        write_said(agent, words, &said);
        agent_memories_recall(agent->memories, buf_string(&said));
        trim_to(agent, most);
    }
    agent->is_resumed = false;
}

/** Iterations in a row without a tool call that end the run; 0 = any number may be. */
static bool is_spinning(const struct agent *agent)
{
    const struct agent_memory *memory = &agent->memory;
    int64_t most = agent->config.role->autonomy.max_no_tool_call_iterations;
    return agent->config.mode == AGENT_AUTONOMOUS && memory->finish == FINISH_NONE && most > 0 &&
           memory->usage.tool_calls == 0 && memory->idle + 1 >= most;
}

/** All items of `todo` are done: that completes a run without exit conditions. */
static bool is_list_over(const struct agent *agent)
{
    return agent->config.mode == AGENT_AUTONOMOUS && agent->memory.finish == FINISH_NONE &&
           agent->strategy.has_todo && agent->strategy.rounds == 0 && agent->schema == NULL &&
           loop_spec(agent->loop)->condition_count == 0 && todo_is_over(&agent->memory.plan);
}

static void report_finish(struct agent *agent, struct loop_body_result *result, char *spin_text,
                          size_t size)
{
    const struct agent_memory *memory = &agent->memory;
    result->finish = memory->finish;
    result->summary = memory->summary;
    if (agent->config.mode == AGENT_SINGLE) {
        result->finish = FINISH_COMPLETED;
    } else if (is_list_over(agent)) {
        result->finish = FINISH_COMPLETED;
        snprintf(spin_text, size, "Every item of the list is done.");
        result->summary = spin_text;
    } else if (is_spinning(agent)) {
        result->finish = FINISH_BLOCKED;
        result->is_guarded = true;
        bool is_answer = model_stop_is_answer(memory->stop);
        snprintf(spin_text, size,
                 "Stopped: no tool calls for %" PRId64 " consecutive iterations.%s%s%s",
                 memory->idle + 1, is_answer ? "" : " The last reply: ",
                 is_answer ? "" : model_stop_meaning(memory->stop), is_answer ? "" : ".");
        result->summary = spin_text;
    }
}

struct cancel *agent_cancel(const struct agent *agent)
{
    return agent->interrupt != NULL ? agent->interrupt : loop_cancel(agent->loop);
}

void agent_set_interrupt(struct agent *agent, struct cancel *interrupt)
{
    agent->interrupt = interrupt;
}

/** An answer that a person has interrupted is over: the next words do not continue it. */
static int end_interrupted(struct agent *agent)
{
    static const char text[] = "Error: a person interrupted this call.";
    size_t count = agent->memory.call_count;
    for (size_t i = 0; i < count; i++) {
        if (agent->memory.call_count > 0 && !agent->memory.calls[i].is_answered) {
            agent_answer(agent, i, "error", text, sizeof(text) - 1, 0);
        }
    }
    snprintf(agent->message, sizeof(agent->message), "interrupted");
    return AGENT_BODY_FAILED;
}

/** A conversation continues after a failure: the person may say something else. */
static enum loop_outcome failed_outcome(const struct agent *agent)
{
    return agent->config.mode == AGENT_CHAT ? LOOP_FAILED : LOOP_UNRECOVERABLE;
}

/**
 * A person was promised an answer. What is empty, cut off or refused is none, though it is shown;
 * an autonomous agent is asked again in its next iteration.
 */
static bool is_unanswered(const struct agent *agent, int next)
{
    const struct agent_memory *memory = &agent->memory;
    return next == AGENT_BODY_OVER && agent->config.mode != AGENT_AUTONOMOUS &&
           memory->is_answered && !model_stop_is_answer(memory->stop);
}

static void write_unanswered(struct agent *agent)
{
    enum model_stop stop = agent->memory.stop;
    int n = snprintf(agent->message, sizeof(agent->message), "%s", model_stop_meaning(stop));
    if (stop == MODEL_STOP_LENGTH) {
        snprintf(agent->message + n, sizeof(agent->message) - (size_t)n,
                 " (max_tokens of the role is %" PRId64 ")", agent->config.role->model.max_tokens);
    }
}

/** A program reads the answer: one that does not fit the role's schema fails. */
static bool fits_schema(struct agent *agent, int next)
{
    auto_buf struct buf why = {0};
    bool is_checked = next == AGENT_BODY_OVER && agent->config.mode != AGENT_AUTONOMOUS &&
                      agent->schema != NULL && !agent->config.is_dry_run;
    if (!is_checked || output_check(agent->schema, agent_words(agent), &why)) {
        return true;
    }
    snprintf(agent->message, sizeof(agent->message),
             "the answer does not fit the schema of spec.output: %.400s", buf_string(&why));
    return false;
}

static void report(struct agent *agent, int next)
{
    const struct agent_memory *memory = &agent->memory;
    const struct run_state *state = loop_state(agent->loop);
    const char *words = agent_words(agent);
    char spin_text[192];
    size_t len = strlen(words);
    struct loop_body_result result = {
        .outcome = next == AGENT_BODY_CUT      ? LOOP_INTERRUPTED
                   : next == AGENT_BODY_FAILED ? failed_outcome(agent)
                   : agent->has_failed         ? LOOP_FAILED
                                               : LOOP_OK,
        .duration_ns = clock_monotonic(runtime_clock(agent->runtime)) - agent->started_ns,
        .tokens = state->body_tokens,
        .cost_micro = state->is_body_cost_unknown ? COST_UNKNOWN : state->body_cost_micro,
        .message = agent->has_failed ? agent->message : NULL,
        .output = memory->is_answered ? words : NULL,
        .output_len = !memory->is_answered              ? 0
                      : len < LIMIT_WORKER_OUTPUT_BYTES ? len
                                                        : LIMIT_WORKER_OUTPUT_BYTES,
        .output_total = memory->is_answered ? len : 0,
    };
    if (next == AGENT_BODY_OVER && !agent->has_failed) {
        report_finish(agent, &result, spin_text, sizeof(spin_text));
    }
    loop_report(agent->loop, &result);
}

static int end_body(struct agent *agent, int next, struct rondo_error *err)
{
    int r = 0;
    if (next != AGENT_BODY_CUT) {
        trim_history(agent);
        r = agent_save(agent, err);
    }
    agent->has_failed = next == AGENT_BODY_FAILED || is_unanswered(agent, next);
    if (is_unanswered(agent, next)) {
        write_unanswered(agent);
    } else if (!fits_schema(agent, next)) {
        agent->has_failed = true;
    }
    if (next == AGENT_BODY_OVER && !agent->has_failed && agent->config.mode == AGENT_SINGLE) {
        agent_memories_record_answer(agent->memories, agent_words(agent));
    }
    report(agent, next);
    if (r == 0 && agent->config.mode == AGENT_CHAT) {
        loop_end_body(agent->loop); /* The next words may take hours. */
        r = loop_commit(agent->loop, err);
    }
    if (next != AGENT_BODY_CUT) {
        agent_end_iteration(&agent->memory);
    }
    return r;
}

void agent_offer_memories(struct agent *agent)
{
    auto_buf struct buf system = {0};
    buf_append_string(&system, agent->config.system);
    if (agent_memories_write_sections(agent->memories, &system)) {
        model_set_system(agent->model, buf_string(&system));
    }
}

int agent_run(struct agent *agent, const char *words, struct rondo_error *err)
{
    agent_begin_iteration(&agent->memory, loop_state(agent->loop)->iteration);
    agent->started_ns = clock_monotonic(runtime_clock(agent->runtime));
    int next = shorten_history(agent, err);
    begin_resumed(agent, words);
    agent_offer_memories(agent);
    while (next == AGENT_CONTINUE) {
        next = take_step(agent, words, err);
    }
    if (next < 0) {
        return next;
    }
    bool is_interrupted = agent->interrupt != NULL && !cancel_is_set(loop_cancel(agent->loop));
    if (next == AGENT_BODY_CUT && is_interrupted && cancel_is_set(agent->interrupt)) {
        next = end_interrupted(agent);
    }
    return end_body(agent, next, err);
}

void agent_note_wait(struct agent *agent, int64_t waited_ns)
{
    if (loop_time_left_ns(agent->loop) != INT64_MAX) {
        loop_record_wait(agent->loop, NULL, "words", waited_ns);
    }
}

const char *agent_words(const struct agent *agent)
{
    return agent->memory.words == NULL ? "" : agent->memory.words;
}

bool agent_is_cut_off(const struct agent *agent)
{
    const struct agent_memory *memory = &agent->memory;
    return memory->has_words && memory->iteration > loop_state(agent->loop)->finished;
}

const char *agent_failure(const struct agent *agent)
{
    return agent->has_failed ? agent->message : NULL;
}

const char *agent_stop(const struct agent *agent)
{
    const struct agent_memory *memory = &agent->memory;
    return memory->is_answered && !model_stop_is_answer(memory->stop)
               ? model_stop_name(memory->stop)
               : NULL;
}

enum agent_mode agent_mode(const struct agent *agent)
{
    return agent->config.mode;
}
