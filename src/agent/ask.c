// SPDX-License-Identifier: Apache-2.0
/*
 * One request to the model: limits and gate before it, the intent committed, the reply recorded.
 */
#include "agent/internal.h"

#include "base/json/json.h"
#include "base/text/plain.h"
#include "journal/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fail(struct agent *agent, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct agent *agent, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(agent->message, sizeof(agent->message), format, arguments);
    va_end(arguments);
    return AGENT_BODY_FAILED;
}

/* ---- Guardrails ----------------------------------------------------------------------------- */

struct token_limit {
    const char *name;
    int64_t limit; /* -1 = none */
    int64_t used;
};

/** What one iteration may read and write, with what it has. */
static void token_limits(const struct agent *agent, struct token_limit ret_limits[3])
{
    const struct role_guardrails *limits = &agent->config.role->guardrails;
    const struct agent_usage *usage = &agent->memory.usage;
    ret_limits[0] =
        (struct token_limit){"max_tokens_per_run", limits->max_tokens_per_run, usage->tokens_out};
    ret_limits[1] =
        (struct token_limit){"input_tokens_limit", limits->input_tokens_limit, usage->tokens_in};
    ret_limits[2] = (struct token_limit){"total_tokens_limit", limits->total_tokens_limit,
                                         usage->tokens_in + usage->tokens_out};
}

/**
 * @param slack 0 after a reply: more than the limit is too much; 1 before a request, which would
 *              use at least one more
 */
static int check_tokens(struct agent *agent, int64_t slack)
{
    struct token_limit limits[3];
    token_limits(agent, limits);
    for (size_t i = 0; i < 3; i++) {
        if (limits[i].limit > 0 && limits[i].used + slack > limits[i].limit) {
            return fail(agent,
                        "Usage limit exceeded: %" PRId64 " tokens in one iteration; %s is %" PRId64,
                        limits[i].used, limits[i].name, limits[i].limit);
        }
    }
    int64_t largest = agent->memory.usage.largest_in;
    int64_t most = agent->config.role->guardrails.per_request_input_tokens_limit;
    if (most > 0 && largest > most) {
        return fail(agent,
                    "Usage limit exceeded: %" PRId64 " input tokens in one request; "
                    "per_request_input_tokens_limit is %" PRId64,
                    largest, most);
    }
    return AGENT_CONTINUE;
}

static int timed_out(struct agent *agent)
{
    return fail(agent,
                "TimeoutError: the iteration took longer than timeout_seconds, %" PRId64 " s",
                agent->config.role->guardrails.timeout_seconds);
}

int agent_check_limits_left(struct agent *agent)
{
    const struct agent_usage *usage = &agent->memory.usage;
    int64_t most = agent->config.role->guardrails.max_request_limit;
    const struct clock *clock = runtime_clock(agent->runtime);
    if (loop_is_time_over(agent->loop)) {
        loop_end_by_time(agent->loop, NULL);
        return AGENT_BODY_CUT;
    }
    if (!agent->memory.is_request_open && usage->requests >= most) {
        return fail(agent,
                    "Usage limit exceeded: %" PRId64
                    " model requests in one iteration; max_request_limit is %" PRId64,
                    usage->requests, most);
    }
    struct agent_deadline deadline = agent_deadline(agent);
    /* A limit of policies is the gate's to judge: others may be in force by now. */
    if (!deadline.is_of_run && clock_monotonic(clock) >= deadline.at_ns) {
        return timed_out(agent);
    }
    return check_tokens(agent, 1);
}

/* ---- The request ---------------------------------------------------------------------------- */

/** Record the intent. A request whose reply was lost keeps its turn and its words. */
static void record_requested(struct agent *agent, const char *words)
{
    const struct agent_memory *memory = &agent->memory;
    auto_buf struct buf prompt = {0};
    struct journal_event event = {
        .type = JOURNAL_MODEL_REQUESTED,
        .model_requested = {.iteration = (int64_t)memory->iteration,
                            .turn = (int64_t)loop_state(agent->loop)->turn +
                                    (memory->is_request_open ? 0 : 1),
                            .attempt = memory->is_request_open ? memory->attempt + 1 : 1,
                            .model = agent->model_id,
                            .messages =
                                (int64_t)memory->history.count + (memory->has_words ? 0 : 1)},
    };
    if (!memory->has_words) {
        agent_write_prompt(agent, words, &prompt);
        event.model_requested.prompt = buf_string(&prompt);
    }
    agent_record(agent, &event);
}

/** A retry must be visible while it is waited for. */
static void on_retry(void *context, unsigned attempt, int64_t delay_ns, const char *why)
{
    struct agent *agent = context;
    struct journal_event event = {
        .type = JOURNAL_MODEL_RETRYING,
        .model_retrying = {.iteration = (int64_t)agent->memory.iteration,
                           .turn = (int64_t)loop_state(agent->loop)->turn,
                           .attempts = attempt,
                           .delay_ns = delay_ns,
                           .message = why},
    };
    agent_record(agent, &event);
    loop_commit(agent->loop, NULL);
}

static void on_text(void *context, const char *text, size_t len)
{
    const struct agent *agent = context;
    if (agent->parts.watcher->on_text != NULL) {
        agent->parts.watcher->on_text(agent->parts.watcher->context, text, len);
    }
}

static void on_thinking(void *context, const char *text, size_t len)
{
    const struct agent *agent = context;
    if (agent->parts.watcher->on_thinking != NULL) {
        agent->parts.watcher->on_thinking(agent->parts.watcher->context, text, len);
    }
}

static int send(struct agent *agent, int64_t deadline_ns, struct model_reply *ret_reply,
                struct rondo_error *err)
{
    bool is_watched = agent->parts.watcher != NULL;
    bool is_shown = is_watched && !content_has_patterns(agent->content);
    char key[ID_SIZE + 32];
    uint64_t turn = loop_state(agent->loop)->turn;
    char parent[TRACE_PARENT_SIZE];
    trace_parent(loop_run_id(agent->loop), TRACE_MODEL, turn, (uint64_t)agent->memory.attempt,
                 parent);
    snprintf(key, sizeof(key), "%s-%" PRIu64, loop_run_id(agent->loop), turn);
    struct model_watcher watcher = {
        .on_text = is_shown ? on_text : NULL,
        .on_thinking = is_shown ? on_thinking : NULL,
        .on_retry = on_retry,
        .context = agent,
    };
    struct model_request request = {
        .messages = agent->memory.history.messages,
        .message_count = agent->memory.history.count,
        .turn = turn,
        .deadline_ns = deadline_ns,
        .cancel = agent_cancel(agent),
        .is_streaming = is_watched,
        .watcher = &watcher,
        .idempotency_key = key,
        .traceparent = parent,
    };
    return model_ask(agent->model, &request, ret_reply, err);
}

/* ---- The reply ------------------------------------------------------------------------------ */

static void write_calls(const struct model_reply *reply, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    model_reply_write_calls(reply, &writer);
    json_end_array(&writer);
}

static const char *unless_empty(const char *text)
{
    return text == NULL || text[0] == '\0' ? NULL : text;
}

static void record_replied(struct agent *agent, const struct model_reply *reply)
{
    auto_buf struct buf calls = {0};
    if (reply->call_count > 0) {
        write_calls(reply, &calls);
    }
    bool is_ok = reply->failure == MODEL_OK;
    struct journal_event event = {
        .type = JOURNAL_MODEL_REPLIED,
        .model_replied = {.iteration = (int64_t)agent->memory.iteration,
                          .turn = (int64_t)loop_state(agent->loop)->turn,
                          .outcome = is_ok ? "ok" : model_failure_name(reply->failure),
                          .stop = is_ok ? model_stop_name(reply->stop) : NULL,
                          .text = unless_empty(reply->text),
                          .thinking = unless_empty(reply->thinking),
                          .calls = calls.len > 0 ? calls.data : NULL,
                          .native = reply->native,
                          .tokens = reply->usage.input + reply->usage.output,
                          .tokens_in = reply->usage.input,
                          .tokens_out = reply->usage.output,
                          .tokens_cached = reply->usage.cached,
                          .tokens_reasoning = reply->usage.reasoning,
                          .cost_micro = reply->has_cost ? reply->cost_micro : COST_UNKNOWN,
                          .duration_ns = reply->duration_ns,
                          .attempts = reply->attempts,
                          .request_id = reply->request_id,
                          .response_model = reply->model_name,
                          .message = reply->message},
    };
    agent_record(agent, &event);
}

/** These calls are never made, not even by a resume. */
static void refuse_calls(struct agent *agent, const char *text)
{
    size_t count = agent->memory.call_count;
    for (size_t i = 0; i < count; i++) {
        agent_answer(agent, i, "denied", text, strlen(text), 0);
    }
}

static int check_calls(struct agent *agent)
{
    int64_t most = agent->config.role->guardrails.max_tool_calls;
    int64_t wanted = agent->memory.usage.tool_calls;
    if (wanted <= most) {
        return AGENT_CONTINUE;
    }
    refuse_calls(agent, "Error: it was not called, because the iteration had no calls left.");
    return fail(agent,
                "Usage limit exceeded: %" PRId64
                " tool calls in one iteration; max_tool_calls is %" PRId64,
                wanted, most);
}

/** No time for the request, or for another attempt at it. */
static int end_late(struct agent *agent, const struct agent_deadline *deadline,
                    const struct model_reply *reply)
{
    if (!deadline->is_of_run) {
        return timed_out(agent);
    }
    /* Whether the run may continue is checked before the next attempt: it may have more time by
     * now. */
    if (clock_monotonic(runtime_clock(agent->runtime)) >= deadline->at_ns) {
        return AGENT_CONTINUE;
    }
    loop_end_by_time(agent->loop, reply->message);
    return AGENT_BODY_CUT;
}

/* ---- What the role filters ------------------------------------------------------------------ */

static void record_filtered(void *context, const char *subject, const char *action,
                            const char *message)
{
    struct agent *agent = context;
    struct journal_event event = {
        .type = JOURNAL_CONTENT_FILTERED,
        .content_filtered = {.iteration = (int64_t)agent->memory.iteration,
                             .subject = subject,
                             .action = action,
                             .message = message},
    };
    agent_record(agent, &event);
}

/** A prompt that is refused is no request. */
static int check_prompt(struct agent *agent, const char *words)
{
    auto_buf struct buf why = {0};
    const char *given = agent->memory.has_words ? NULL : agent_given_prompt(agent, words);
    if (given == NULL || content_accepts(agent->content, given, &why)) {
        return AGENT_CONTINUE;
    }
    record_filtered(agent, "prompt", "blocked", buf_string(&why));
    return fail(agent, "%.400s", buf_string(&why));
}

int agent_end_blocked(struct agent *agent)
{
    refuse_calls(agent, "Error: it was not called, because the answer of its reply was blocked.");
    return fail(agent, "%.400s", agent->memory.blocked);
}

/** A watcher who could not be shown a reply while it came. */
static void show_filtered(const struct agent *agent, const struct model_reply *reply)
{
    if (agent->parts.watcher == NULL || !content_has_patterns(agent->content)) {
        return;
    }
    if (agent->parts.watcher->on_thinking != NULL && reply->thinking != NULL) {
        on_thinking((void *)agent, reply->thinking, strlen(reply->thinking));
    }
    if (reply->text != NULL) {
        on_text((void *)agent, reply->text, strlen(reply->text));
    }
}

static int take_reply(struct agent *agent, const struct agent_deadline *deadline,
                      struct model_reply *reply, struct rondo_error *err)
{
    content_filter_reply(agent->content, reply, record_filtered, agent);
    show_filtered(agent, reply);
    record_replied(agent, reply);
    int r = spending_settle(agent, reply, err);
    if (r < 0) {
        return r;
    }
    if (reply->failure == MODEL_CANCELLED) {
        return AGENT_BODY_CUT;
    }
    bool is_late = clock_monotonic(runtime_clock(agent->runtime)) >= deadline->at_ns;
    if ((reply->failure == MODEL_TIMED_OUT && is_late) ||
        (reply->is_out_of_time && (is_late || deadline->is_of_run))) {
        return end_late(agent, deadline, reply);
    }
    int taken = reply->failure == MODEL_OK ? 0 : fallback_take_over(agent, reply, err);
    if (taken != 0) {
        return taken < 0 ? taken : AGENT_CONTINUE;
    }
    if (reply->failure != MODEL_OK) {
        return fail(agent, "Model API error: %s", reply->message == NULL ? "" : reply->message);
    }
    if (agent->memory.blocked != NULL) {
        return AGENT_CONTINUE; /* agent_end_blocked() is next, also after a kill. */
    }
    int next = check_tokens(agent, 0);
    return next == AGENT_CONTINUE ? check_calls(agent) : next;
}

/** Servers may have changed their tools: model and policies learn of it, and so does the journal.
 */
static int refresh_tools(struct agent *agent, struct rondo_error *err)
{
    auto_buf struct buf news = {0};
    auto_buf struct buf attributes = {0};
    bool is_changed = toolbox_refresh(agent->toolbox, &news);
    if (is_changed || agent->offers_answers != agent_has_questions(agent)) {
        agent_offer_tools(agent);
    }
    if (!is_changed) {
        return 0;
    }
    agent_tell_policies(agent);
    struct json_writer writer = json_writer(&attributes);
    json_begin_object(&writer, NULL);
    json_write_string_len(&writer, "changes", buf_string(&news), news.len - 1);
    json_end_object(&writer);
    return loop_note(agent->loop, "tools_changed", buf_string(&attributes), err);
}

int agent_ask(struct agent *agent, const char *words, struct rondo_error *err)
{
    int next = check_prompt(agent, words);
    next = next == AGENT_CONTINUE ? agent_check_limits_left(agent) : next;
    if (next != AGENT_CONTINUE) {
        return next;
    }
    int refreshed = refresh_tools(agent, err);
    if (refreshed < 0) {
        return refreshed;
    }
    if (!loop_ask_model(agent->loop, agent->config.model)) {
        return AGENT_BODY_CUT;
    }
    next = spending_wait(agent, err);
    if (next != AGENT_CONTINUE) {
        return next;
    }
    record_requested(agent, words);
    const struct history *history = &agent->memory.history;
    spending_reserve(agent, agent->model, history->messages, history->count);
    int r = loop_commit(agent->loop, err);
    if (r == 0) {
        r = spending_confirm(agent, err);
    }
    if (r != AGENT_CONTINUE) {
        return r;
    }
    struct model_reply reply = {0};
    struct agent_deadline deadline = agent_deadline(agent);
    r = send(agent, deadline.at_ns, &reply, err);
    if (r == 0) {
        r = take_reply(agent, &deadline, &reply, err);
    }
    model_reply_fini(&reply);
    return r;
}
