// SPDX-License-Identifier: Apache-2.0
/*
 * The driver at its gate: before each step the policies are brought up to date, what happened to
 * them goes into the journal, and then they are asked.
 */
#include "loop/driver/internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "loop/limits_ahead.h"
#include "loop/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int loop_open_gate(struct loop *loop, bool is_policy_named, struct rondo_error *err)
{
    if (loop->gate.decide != NULL) {
        return 0;
    }
    int r = policy_gate_new(loop->runtime, &loop->spec, loop->run_id, loop->state.policy_sha256,
                            is_policy_named, &loop->policy_gate, err);
    if (r == 0) {
        loop->gate = policy_gate_as_gate(loop->policy_gate);
    }
    return r;
}

void loop_set_resources(struct loop *loop, const struct subject_resource *resources, size_t count)
{
    if (loop->policy_gate != NULL) {
        policy_gate_set_resources(loop->policy_gate, &loop->spec, loop->run_id, resources, count);
    }
}

void loop_use_limits(struct loop *loop)
{
    if (loop->policy_gate != NULL) {
        policy_gate_set_limits(loop->policy_gate, &loop->spec, loop->run_id);
        loop->time_ahead_ns = 0; /* The next decision says it anew. */
    }
}

void loop_look_ahead(struct loop *loop)
{
    struct outlook outlook;
    struct outlook_run run = {
        .run_id = loop->run_id,
        .agent_id = loop->spec.agent_id,
        .spec = &loop->spec,
        .state = &loop->state,
    };
    bool is_others_gate = loop->gate.decide != NULL && loop->policy_gate == NULL;
    if (is_others_gate || outlook_find_for(loop->runtime, &run, &outlook, NULL) < 0) {
        loop->limit_ahead = (uint64_t)loop->spec.max_iterations;
        return;
    }
    const struct outlook_limit *limit = &outlook.limits[RUN_LIMIT_ITERATIONS];
    loop->limit_ahead =
        limit->is_known && limit->limit < LIMIT_MAX_ITERATIONS ? (uint64_t)limit->limit : 0;
}

static void record_change(struct loop *loop, const struct gate_news *news)
{
    char old_sha256[RUN_DIGEST_SIZE]; /* folding the event overwrites the state's */
    snprintf(old_sha256, sizeof(old_sha256), "%s", loop->state.policy_sha256);
    struct journal_event event = {
        .type = JOURNAL_POLICY_CHANGED,
        .policy_changed = {.sha256 = news->sha256[0] == '\0' ? NULL : news->sha256,
                           .old_sha256 = old_sha256[0] == '\0' ? NULL : old_sha256,
                           .source = news->source,
                           .by = news->by,
                           .limits = news->limits,
                           .old_limits = news->old_limits[0] == '\0' ? NULL : news->old_limits},
    };
    loop_record(loop, &event);
}

static void record_refusal(struct loop *loop, const struct gate_news *news)
{
    struct journal_event event = {
        .type = JOURNAL_POLICY_REFUSED,
        .policy_refused = {.sha256 = news->sha256,
                           .source = news->source,
                           .by = news->by,
                           .message = news->message},
    };
    loop_record(loop, &event);
}

/** What is asked about the run, with policies that are up to date. */
static struct gate_request begin_asking(struct loop *loop)
{
    loop_note_skipped_time(loop);
    struct gate_request request =
        loop_step_request(&loop->state, &loop->spec, loop->run_id, loop_now(loop));
    request.now_ns = clock_now(runtime_clock(loop->runtime));
    struct gate_news news = {.kind = GATE_NO_NEWS};
    if (loop->gate.refresh != NULL) {
        loop->gate.refresh(&loop->gate, &request, &news);
    }
    if (news.kind == GATE_CHANGED) {
        record_change(loop, &news);
    } else if (news.kind == GATE_REFUSED) {
        record_refusal(loop, &news);
    }
    return request;
}

static void write_figure(enum run_limit counter, int64_t value, char *ret_text, size_t size)
{
    if (counter == RUN_LIMIT_COST) {
        snprintf(ret_text, size, "%.15g", (double)value / 1e6);
    } else if (counter == RUN_LIMIT_TIME) {
        format_duration(value, ret_text);
    } else {
        snprintf(ret_text, size, "%" PRId64, value);
    }
}

static void record_warning(struct loop *loop, enum run_limit counter, struct journal_event *event)
{
    struct event_limit_warning *warning = &event->limit_warning;
    char reached[FORMAT_DURATION_SIZE];
    char limit[FORMAT_DURATION_SIZE];
    char left[FORMAT_DURATION_SIZE];
    char message[160];
    int64_t remaining = warning->limit > warning->value ? warning->limit - warning->value : 0;
    write_figure(counter, warning->value, reached, sizeof(reached));
    write_figure(counter, warning->limit, limit, sizeof(limit));
    write_figure(counter, remaining, left, sizeof(left));
    snprintf(message, sizeof(message), "%s of %s %s, %s left", reached, limit,
             counter == RUN_LIMIT_COST ? "cost" : run_limit_name(counter), left);
    warning->message = message;
    loop_record(loop, event);
}

/** Policies see whole seconds, rounded up; the run ends by its own clock. */
static void use_exact_time(const struct loop_spec *spec, struct gate_limit *limit)
{
    if (spec->time_limit_ns > 0 && limit->is_known && limit->limit > spec->time_limit_ns) {
        limit->limit = spec->time_limit_ns;
    }
}

/** A single answer of a role is one iteration by its nature; that it reaches it is no news. */
static bool is_single_answer(const struct loop_spec *spec, enum run_limit counter,
                             const struct gate_limit *limit)
{
    return counter == RUN_LIMIT_ITERATIONS && limit->limit == 1 && spec->max_iterations == 1 &&
           spec->agent != NULL;
}

static void warn_of_limits(struct loop *loop, const struct gate_limit limits[RUN_LIMIT_COUNT],
                           bool begins)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        struct journal_event event;
        struct gate_limit limit = limits[i];
        if (i == RUN_LIMIT_TIME) {
            use_exact_time(&loop->spec, &limit);
        }
        if (!is_single_answer(&loop->spec, i, &limit) &&
            loop_step_warning(&loop->state, i, &limit, begins, &event)) {
            record_warning(loop, i, &event);
        }
    }
}

void loop_warn_at_end(struct loop *loop)
{
    if (loop->gate.find_limits == NULL) {
        return;
    }
    struct gate_request request = begin_asking(loop);
    struct gate_limit limits[RUN_LIMIT_COUNT] = {0};
    loop->gate.find_limits(&loop->gate, &request, limits);
    warn_of_limits(loop, limits, false);
}

static void keep_violation(struct loop *loop, const struct gate_decision *decision)
{
    free(loop->violation);
    loop->violation = memory_new(sizeof(*loop->violation));
    *loop->violation = *decision;
}

static void record_decision(struct loop *loop, const struct gate_decision *decision)
{
    /* Also of one that was jumped over: nobody was told of that before. */
    warn_of_limits(loop, decision->limits, decision->is_allowed);
    struct journal_event event = loop_step_gate(&loop->state, decision);
    loop_record(loop, &event);
    if (!decision->is_allowed) {
        keep_violation(loop, decision);
    }
}

void loop_set_unpriced(struct loop *loop, const char *model)
{
    free(loop->unpriced_model);
    loop->unpriced_model = memory_dup_string(model);
}

void loop_explain_unpriced(const char *model, struct buf *ret_text)
{
    if (model == NULL) {
        buf_append_string(ret_text, "the cost limit cannot be enforced, because the cost so far is "
                                    "not known. Give the run another model or remove the limit");
        return;
    }
    buf_printf(ret_text,
               "the cost limit cannot be enforced, because no price is known for %s. Give its "
               "price with `price` under spec.model of the role or with --prices FILE, or remove "
               "the limit",
               model);
}

/** Under a limit of cost nothing goes on whose cost is not known. Changes the decision to that. */
static void deny_unknown_cost(const struct loop *loop, struct gate_decision *decision)
{
    const struct gate_limit *limit = &decision->limits[RUN_LIMIT_COST];
    bool is_known = loop->unpriced_model == NULL && !loop->state.is_cost_unknown;
    if (!decision->is_allowed || !limit->is_known || is_known) {
        return;
    }
    auto_buf struct buf message = {0};
    loop_explain_unpriced(loop->unpriced_model, &message);
    decision->is_allowed = false;
    decision->status = RONDO_BUDGET_EXCEEDED;
    decision->limit = limit->limit;
    decision->value = loop->state.cost_micro;
    snprintf(decision->limit_name, sizeof(decision->limit_name), "cost");
    snprintf(decision->reason, sizeof(decision->reason), "cost_unknown");
    snprintf(decision->message, sizeof(decision->message), "%s", buf_string(&message));
}

void loop_ask_to_iterate(struct loop *loop)
{
    struct gate_request request = begin_asking(loop);
    struct gate_decision decision = {0};
    loop->gate.decide(&loop->gate, &request, &decision);
    deny_unknown_cost(loop, &decision);
    record_decision(loop, &decision);
}

bool loop_is_denied_already(struct loop *loop)
{
    struct gate_request request = begin_asking(loop);
    struct gate_decision decision = {0};
    loop->gate.decide(&loop->gate, &request, &decision);
    deny_unknown_cost(loop, &decision);
    if (!decision.is_allowed) {
        record_decision(loop, &decision);
    }
    return !decision.is_allowed;
}

/** Decide about a step, with the request that begin_asking made and the step completed. */
static bool decide(struct loop *loop, const struct gate_request *request,
                   struct gate_decision *ret_decision)
{
    *ret_decision = (struct gate_decision){0};
    loop->gate.decide(&loop->gate, request, ret_decision);
    return ret_decision->is_allowed;
}

static void record_denied(struct loop *loop, const struct gate_request *request,
                          const struct gate_decision *decision)
{
    struct journal_event event = loop_step_denied(&loop->state, request->action, decision);
    event.step_denied.resource =
        request->condition != NULL ? request->condition : request->resource;
    loop_record(loop, &event);
}

bool loop_ask(struct loop *loop, enum vocabulary_action action, const char *what,
              struct gate_decision *ret_decision)
{
    if (loop->policy_gate == NULL) {
        return true; /* A gate that was given decides about iterations only. */
    }
    struct gate_request request = begin_asking(loop);
    struct gate_decision decision;
    request.action = action;
    request.condition = what;
    bool is_allowed = decide(loop, &request, &decision);
    if (!is_allowed) {
        record_denied(loop, &request, &decision);
    }
    if (ret_decision != NULL) {
        *ret_decision = decision;
    }
    return is_allowed;
}

/** A denial inside a body that ends the run. */
static bool end_denied(struct loop *loop, const struct gate_request *request,
                       const struct gate_decision *decision)
{
    struct journal_event event = loop_step_gate(&loop->state, decision);
    event.gate_denied.iteration = (int64_t)run_current_iteration(&loop->state);
    event.gate_denied.action = vocabulary_action_name(request->action);
    loop_record(loop, &event);
    keep_violation(loop, decision);
    return false;
}

/** Waiting for a person that is shorter than this is not worth an event. */
#define SHORTEST_WAIT_NS (NS_PER_S / 100)

int64_t loop_time_left_ns(const struct loop *loop)
{
    int64_t now_ns = loop_now(loop);
    int64_t left_ns = loop_step_time_left_ns(&loop->state, &loop->spec, now_ns);
    if (loop->time_ahead_ns > 0) {
        int64_t policy_ns = loop->time_ahead_ns - loop_step_active_ns(&loop->state, now_ns);
        left_ns = policy_ns < left_ns ? policy_ns : left_ns;
    }
    return left_ns > 0 ? left_ns : 0;
}

bool loop_is_time_over(struct loop *loop)
{
    bool is_over = loop_step_time_left_ns(&loop->state, &loop->spec, loop_now(loop)) == 0;
    if (is_over && loop_look_for_mail(loop)) {
        is_over = loop_step_time_left_ns(&loop->state, &loop->spec, loop_now(loop)) == 0;
    }
    return is_over;
}

void loop_end_by_time(struct loop *loop, const char *why)
{
    const struct loop_spec *spec = &loop->spec;
    bool is_option = spec->time_limit_ns > 0 &&
                     (loop->time_ahead_ns <= 0 || spec->time_limit_ns <= loop->time_ahead_ns);
    char limit[FORMAT_DURATION_SIZE];
    struct gate_decision decision = {
        .status = RONDO_TIMEOUT,
        .limit_name = "time",
        .reason = "forbidden",
        .limit = is_option ? spec->time_limit_ns : loop->time_ahead_ns,
        .value = loop_step_active_ns(&loop->state, loop_now(loop)),
    };
    format_duration(decision.limit, limit);
    if (why == NULL) {
        snprintf(decision.message, sizeof(decision.message),
                 "the time limit of the run, %s, is used up", limit);
    } else {
        snprintf(decision.message, sizeof(decision.message),
                 "the time limit of the run, %s, leaves no time: %s", limit, why);
    }
    struct gate_request request = {.action = ACTION_CALL_MODEL};
    end_denied(loop, &request, &decision);
}

void loop_record_wait(struct loop *loop, const char *name, const char *answer, int64_t waited_ns)
{
    if (waited_ns < SHORTEST_WAIT_NS || loop_can_record(loop, NULL) < 0) {
        return;
    }
    struct journal_event event = {
        .type = JOURNAL_PERSON_ANSWERED,
        .person_answered = {.iteration = (int64_t)run_current_iteration(&loop->state),
                            .tool = name,
                            .answer = answer,
                            .waited_ns = waited_ns},
    };
    loop_record(loop, &event);
}

/** A limit of time that policies set holds for what is under way as well. */
static void keep_time_ahead(struct loop *loop, const struct gate_decision *decision)
{
    const struct gate_limit *limit = &decision->limits[RUN_LIMIT_TIME];
    loop->time_ahead_ns = limit->is_known ? limit->limit : 0;
}

bool loop_ask_model(struct loop *loop, const char *model)
{
    loop_take_mail(loop);
    if (loop->state.is_stop_requested) {
        return false;
    }
    struct gate_request request = begin_asking(loop);
    struct gate_decision decision;
    decide(loop, &request, &decision);
    deny_unknown_cost(loop, &decision);
    bool is_allowed = decision.is_allowed;
    if (!is_allowed && loop_look_for_mail(loop)) {
        return loop_ask_model(loop, model); /* Each letter is read once, so this ends. */
    }
    if (!is_allowed) {
        return end_denied(loop, &request, &decision);
    }
    warn_of_limits(loop, decision.limits, true);
    keep_time_ahead(loop, &decision);
    request.action = ACTION_CALL_MODEL;
    request.resource = model;
    if (loop->policy_gate != NULL && !decide(loop, &request, &decision)) {
        return end_denied(loop, &request, &decision);
    }
    return true;
}

enum loop_answer loop_ask_tool(struct loop *loop, const char *tool, const char *input,
                               const char *raw, bool is_approved,
                               struct gate_decision *ret_decision)
{
    if (loop->policy_gate == NULL) {
        return LOOP_ALLOWED;
    }
    struct gate_request request = begin_asking(loop);
    request.action = ACTION_CALL_TOOL;
    request.resource = tool;
    request.input = input;
    request.raw = raw;
    request.is_approved = is_approved;
    if (decide(loop, &request, ret_decision)) {
        return LOOP_ALLOWED;
    }
    return ret_decision->needs_approval && !is_approved ? LOOP_ASKS : LOOP_DENIED;
}

void loop_deny_tool(struct loop *loop, const char *tool, const struct gate_decision *decision)
{
    struct gate_request request = {.action = ACTION_CALL_TOOL, .resource = tool};
    record_denied(loop, &request, decision);
}
