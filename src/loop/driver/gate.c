// SPDX-License-Identifier: Apache-2.0
/*
 * The driver at its gate: before each step the policies are brought up to date, what happened to
 * them goes into the journal, and then they decide.
 */
#include "loop/driver/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "loop/limits_ahead.h"
#include "loop/policy_request.h"
#include "loop/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int loop_open_gate(struct loop *loop, bool is_policy_named, struct rondo_error *err)
{
    struct watch *watch = runtime_policies(loop->runtime, loop->spec.policy);
    struct policy_run run = loop_policy_run(&loop->spec, loop->run_id);
    int r = runtime_guard_desks(loop->runtime, &loop->spec, err);
    if (r < 0) {
        return r;
    }
    if (runtime_policies_in_reach(loop->runtime, &loop->spec)) {
        bool is_confirming =
            is_policy_named && runtime_policies_are_named(loop->runtime, &loop->spec);
        watch_set_reach(watch, is_confirming ? WATCH_NAMED : WATCH_IN_REACH);
    }
    return policy_gate_open(watch, &run, loop->state.policy_sha256, &loop->gate, err);
}

void loop_set_resources(struct loop *loop, const struct policy_resource *resources, size_t count)
{
    /* While a run waits for one that it gave away, it is asked about that one's. */
    struct loop_family *family = NULL;
    for (struct loop *one = loop; one != NULL; one = one->outer) {
        policy_gate_set_resources(one->gate, resources, count);
        if (one->family != NULL && family == NULL) {
            family = one->family;
            pthread_mutex_lock(&family->lock);
        }
    }
    if (family != NULL) {
        pthread_mutex_unlock(&family->lock);
    }
}

void loop_set_outer(struct loop *loop, struct loop *outer)
{
    loop->outer = outer;
}

void loop_set_family(struct loop *loop, struct loop_family *family)
{
    loop->family = family;
}

void loop_leave_family(struct loop_family *family, int64_t tokens, int64_t cost_micro)
{
    family->tokens -= tokens < family->tokens ? tokens : family->tokens;
    family->cost_micro -= cost_micro < family->cost_micro ? cost_micro : family->cost_micro;
}

void loop_use_limits(struct loop *loop)
{
    struct policy_run run = loop_policy_run(&loop->spec, loop->run_id);
    if (loop->gate != NULL) { /* It is not opened yet where old letters are read. */
        policy_gate_set_limits(loop->gate, &run);
        loop->time_ahead_ns = 0; /* The next verdict has it. */
    }
}

void loop_look_ahead(struct loop *loop)
{
    struct limits_ahead ahead;
    loop->is_limit_ahead_old = false;
    if (limits_ahead_find(loop->runtime, &loop->spec, loop->run_id, &loop->state, &ahead, NULL) <
        0) {
        loop->limit_ahead = (uint64_t)loop->spec.max_iterations;
        return;
    }
    const struct policy_limit *limit = &ahead.limits[RUN_LIMIT_ITERATIONS];
    loop->limit_ahead =
        limit->is_known && limit->limit < LIMIT_MAX_ITERATIONS ? (uint64_t)limit->limit : 0;
}

static void record_change(struct loop *loop, const struct policy_update *update)
{
    char old_sha256[RUN_DIGEST_SIZE]; /* folding the event overwrites the state's */
    snprintf(old_sha256, sizeof(old_sha256), "%s", loop->state.policy_sha256);
    struct journal_event event = {
        .type = JOURNAL_POLICY_CHANGED,
        .policy_changed = {.sha256 = update->sha256[0] == '\0' ? NULL : update->sha256,
                           .old_sha256 = old_sha256[0] == '\0' ? NULL : old_sha256,
                           .source = update->source,
                           .by = update->by,
                           .limits = update->limits,
                           .old_limits = update->old_limits[0] == '\0' ? NULL : update->old_limits},
    };
    loop_record(loop, &event);
}

static void record_refusal(struct loop *loop, const struct policy_update *update)
{
    struct journal_event event = {
        .type = JOURNAL_POLICY_REFUSED,
        .policy_refused = {.sha256 = update->sha256,
                           .source = update->source,
                           .by = update->by,
                           .message = update->message},
    };
    loop_record(loop, &event);
}

/** @param relies whether policies that the store shares may be older than those that it has now */
static struct policy_request begin_request_by(struct loop *loop, bool relies)
{
    loop_note_skipped_time(loop);
    struct policy_request request = loop_policy_request(&loop->state, &loop->spec, loop_now(loop),
                                                        clock_now(runtime_clock(loop->runtime)));
    struct policy_update update;
    policy_gate_refresh(loop->gate, &request, relies, &update);
    if (update.news == WATCH_CHANGED) {
        record_change(loop, &update);
    } else if (update.news == WATCH_REFUSED) {
        record_refusal(loop, &update);
    }
    return request;
}

/** The request for the next iteration, before policies that are up to date. */
static struct policy_request begin_request(struct loop *loop)
{
    return begin_request_by(loop, false);
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/** How strict an outcome is. */
static int strictness(enum verdict_outcome outcome)
{
    return outcome == VERDICT_ALLOW ? 0 : outcome == VERDICT_ASK ? 1 : 2;
}

/** Take what a run that gave this one away decides, where it is stricter. */
static void take_stricter(const struct policy_verdict *outer, struct policy_verdict *verdict)
{
    if (strictness(outer->outcome) > strictness(verdict->outcome)) {
        *verdict = *outer;
        verdict->deciding = -1; /* It is no policy of this run's rules. */
        return;
    }
    struct policy_limit *cost = &verdict->limits[RUN_LIMIT_COST];
    if (!cost->is_known) {
        *cost = outer->limits[RUN_LIMIT_COST]; /* Under it, each cost must be known. */
    }
}

/** Count what this run has used, with runs inside of it, and learn what all of the family have. */
static void count_in_family(struct loop *loop, int64_t *tokens, int64_t *cost_micro)
{
    struct loop_family *family = loop->family;
    family->tokens = add_saturating(family->tokens, *tokens - loop->family_tokens);
    family->cost_micro = add_saturating(family->cost_micro, *cost_micro - loop->family_cost_micro);
    loop->family_tokens = *tokens;
    loop->family_cost_micro = *cost_micro;
    *tokens = family->tokens;
    *cost_micro = family->cost_micro;
}

/** Decide: what this run may do, and what those it was given away by may do. */
static void decide(struct loop *loop, const struct policy_request *request,
                   struct policy_verdict *ret_verdict)
{
    int64_t tokens = loop->state.tokens;
    int64_t cost_micro = loop->state.cost_micro;
    policy_gate_decide(loop->gate, request, ret_verdict);
    struct loop *inner = loop;
    struct loop_family *family = NULL; /* There is one at most: a PRD's run is in no other one. */
    for (struct loop *outer = loop->outer; outer != NULL && ret_verdict->outcome != VERDICT_DENY;
         outer = outer->outer) {
        if (inner->family != NULL && family == NULL) {
            family = inner->family;
            pthread_mutex_lock(&family->lock);
            count_in_family(inner, &tokens, &cost_micro);
        }
        inner = outer;
        struct policy_request asked = begin_request(outer);
        struct policy_verdict verdict;
        asked.action = request->action;
        asked.resource = request->resource;
        asked.condition = request->condition;
        asked.input = request->input;
        asked.raw = request->raw;
        asked.is_approved = request->is_approved;
        tokens = asked.tokens = add_saturating(asked.tokens, tokens);
        cost_micro = asked.cost_micro = add_saturating(asked.cost_micro, cost_micro);
        policy_gate_decide(outer->gate, &asked, &verdict);
        take_stricter(&verdict, ret_verdict);
    }
    if (family != NULL) {
        pthread_mutex_unlock(&family->lock);
    }
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

static void record_warning(struct loop *loop, enum run_limit counter, struct journal_event event)
{
    struct event_limit_warning *warning = &event.limit_warning;
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
    loop_record(loop, &event);
}

/** A single answer of a role is one iteration by its nature; that it reaches it is no news. */
static bool is_single_answer(const struct loop_spec *spec, enum run_limit counter,
                             const struct policy_limit *limit)
{
    return counter == RUN_LIMIT_ITERATIONS && limit->limit == 1 && spec->max_iterations == 1 &&
           spec->agent != NULL;
}

static void warn_of_limits(struct loop *loop, const struct policy_limit limits[RUN_LIMIT_COUNT],
                           bool begins)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        struct journal_event event;
        if (!is_single_answer(&loop->spec, i, &limits[i]) &&
            loop_step_warning(&loop->state, i, &limits[i], begins, &event)) {
            record_warning(loop, i, event);
        }
    }
}

void loop_warn_at_end(struct loop *loop)
{
    struct policy_request request = begin_request(loop);
    struct policy_limit limits[RUN_LIMIT_COUNT];
    policy_gate_find_limits(loop->gate, &request, limits);
    warn_of_limits(loop, limits, false);
}

static void keep_violation(struct loop *loop, const struct policy_verdict *verdict)
{
    free(loop->violation);
    loop->violation = memory_new(sizeof(*loop->violation));
    *loop->violation = *verdict;
}

static void record_verdict(struct loop *loop, const struct policy_verdict *verdict)
{
    bool is_allowed = verdict->outcome == VERDICT_ALLOW;
    if (verdict->outcome != VERDICT_ASK) {
        /* Also of a limit that was jumped over, which no warning came before. */
        warn_of_limits(loop, verdict->limits, is_allowed);
    }
    struct journal_event event = loop_step_gate(&loop->state, verdict);
    loop_record(loop, &event);
    if (!is_allowed) {
        keep_violation(loop, verdict);
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

static void deny_unpriced(const char *model, struct policy_verdict *verdict)
{
    auto_buf struct buf message = {0};
    loop_explain_unpriced(model, &message);
    verdict->outcome = VERDICT_DENY;
    verdict->reason = VERDICT_COST_UNKNOWN;
    verdict->counter = RUN_LIMIT_COST;
    snprintf(verdict->message, sizeof(verdict->message), "%s", buf_string(&message));
}

/** Under a cost limit nothing of unknown cost continues. Changes the verdict to that. */
static void deny_unknown_cost(const struct loop *loop, struct policy_verdict *verdict)
{
    bool is_known = loop->unpriced_model == NULL && !loop->state.is_cost_unknown;
    bool is_limited = verdict->limits[RUN_LIMIT_COST].is_known;
    if (verdict->outcome == VERDICT_ALLOW && is_limited && !is_known) {
        deny_unpriced(loop->unpriced_model, verdict);
    }
}

static void decide_iteration(struct loop *loop, const struct policy_request *request,
                             struct policy_verdict *ret_verdict)
{
    decide(loop, request, ret_verdict);
    deny_unknown_cost(loop, ret_verdict);
}

/** Decide by what is known here. @return false: that is not enough for a verdict */
static bool decide_relying(struct loop *loop, struct policy_verdict *ret_verdict)
{
    struct store_premise premise = {0};
    bool relies = policy_gate_rely(loop->gate, &premise);
    struct policy_request request = begin_request_by(loop, relies);
    loop_rely(loop, &premise);
    decide_iteration(loop, &request, ret_verdict);
    if (ret_verdict->outcome != VERDICT_ALLOW) {
        loop_forget_reliance(loop);
        loop->must_look = true;
    }
    return ret_verdict->outcome == VERDICT_ALLOW;
}

void loop_ask_to_iterate(struct loop *loop)
{
    struct policy_verdict verdict;
    if (loop_can_rely(loop)) {
        if (decide_relying(loop, &verdict)) {
            record_verdict(loop, &verdict);
        }
        return;
    }
    struct policy_request request = begin_request(loop);
    decide_iteration(loop, &request, &verdict);
    record_verdict(loop, &verdict);
    loop->must_look = false;
}

bool loop_is_denied_already(struct loop *loop)
{
    struct policy_verdict verdict;
    struct policy_request request = begin_request(loop);
    decide_iteration(loop, &request, &verdict);
    if (verdict.outcome != VERDICT_ALLOW) {
        record_verdict(loop, &verdict);
    }
    return verdict.outcome != VERDICT_ALLOW;
}

static void record_denied(struct loop *loop, const struct policy_request *request,
                          const struct policy_verdict *verdict)
{
    struct journal_event event = loop_step_denied(&loop->state, request->action, verdict);
    event.step_denied.resource =
        request->condition != NULL ? request->condition : request->resource;
    loop_record(loop, &event);
}

bool loop_ask(struct loop *loop, enum vocabulary_action action, const char *what,
              struct policy_verdict *ret_verdict)
{
    struct policy_request request = begin_request(loop);
    struct policy_verdict verdict;
    request.action = action;
    request.condition = what;
    decide(loop, &request, &verdict);
    bool is_allowed = verdict.outcome == VERDICT_ALLOW;
    if (!is_allowed) {
        record_denied(loop, &request, &verdict);
    }
    if (ret_verdict != NULL) {
        *ret_verdict = verdict;
    }
    return is_allowed;
}

/** A denial inside a body that ends the run. @param limit_name NULL = as the verdict says */
static bool end_denied(struct loop *loop, enum vocabulary_action action,
                       const struct policy_verdict *verdict, const char *limit_name)
{
    struct journal_event event = loop_step_gate(&loop->state, verdict);
    event.gate_denied.iteration = (int64_t)run_current_iteration(&loop->state);
    event.gate_denied.action = vocabulary_action_name(action);
    event.gate_denied.limit_name = limit_name != NULL ? limit_name : event.gate_denied.limit_name;
    loop_record(loop, &event);
    keep_violation(loop, verdict);
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
    struct policy_verdict verdict;
    policy_verdict_init(&verdict);
    verdict.reason = VERDICT_FORBIDDEN;
    verdict.counter = RUN_LIMIT_TIME;
    verdict.limits[RUN_LIMIT_TIME] = (struct policy_limit){
        .is_known = true,
        .limit = is_option ? spec->time_limit_ns : loop->time_ahead_ns,
        .value = loop_step_active_ns(&loop->state, loop_now(loop)),
    };
    format_duration(verdict.limits[RUN_LIMIT_TIME].limit, limit);
    if (why == NULL) {
        snprintf(verdict.message, sizeof(verdict.message),
                 "the time limit of the run, %s, is used up", limit);
    } else {
        snprintf(verdict.message, sizeof(verdict.message),
                 "the time limit of the run, %s, leaves no time: %s", limit, why);
    }
    end_denied(loop, ACTION_CALL_MODEL, &verdict, NULL);
}

void loop_end_by_budget(struct loop *loop, const struct loop_budget *budget)
{
    struct policy_verdict verdict;
    policy_verdict_init(&verdict);
    verdict.reason = VERDICT_BUDGET_EXHAUSTED;
    verdict.counter = budget->is_cost ? RUN_LIMIT_COST : RUN_LIMIT_TOKENS;
    verdict.limits[verdict.counter] =
        (struct policy_limit){.is_known = true, .limit = budget->limit, .value = budget->used};
    snprintf(verdict.message, sizeof(verdict.message), "%s", budget->message);
    end_denied(loop, ACTION_CALL_MODEL, &verdict, budget->name);
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

void loop_wait_for_decision(struct loop *loop, const char *handoffs)
{
    if (loop_can_record(loop, NULL) == 0 && !loop->state.is_paused) {
        struct journal_event event = {.type = JOURNAL_RUN_PAUSED,
                                      .run_paused = {.handoffs = handoffs}};
        loop_record(loop, &event);
    }
}

/** A limit of time that policies set holds for what is under way as well. */
static void keep_time_ahead(struct loop *loop, const struct policy_verdict *verdict)
{
    const struct policy_limit *limit = &verdict->limits[RUN_LIMIT_TIME];
    loop->time_ahead_ns = limit->is_known ? limit->limit : 0;
}

bool loop_ask_model(struct loop *loop, const char *model)
{
    loop_take_mail(loop);
    if (loop->state.is_stop_requested) {
        return false;
    }
    struct policy_request request = begin_request(loop);
    struct policy_verdict verdict;
    decide(loop, &request, &verdict);
    deny_unknown_cost(loop, &verdict);
    bool is_allowed = verdict.outcome == VERDICT_ALLOW;
    if (!is_allowed && loop_look_for_mail(loop)) {
        return loop_ask_model(loop, model); /* Each letter is read once, so this ends. */
    }
    if (!is_allowed) {
        return end_denied(loop, request.action, &verdict, NULL);
    }
    warn_of_limits(loop, verdict.limits, true);
    keep_time_ahead(loop, &verdict);
    request.action = ACTION_CALL_MODEL;
    request.resource = model;
    decide(loop, &request, &verdict);
    return verdict.outcome == VERDICT_ALLOW || end_denied(loop, request.action, &verdict, NULL);
}

enum verdict_outcome loop_ask_tool(struct loop *loop, const char *tool, const char *input,
                                   const char *raw, bool is_approved,
                                   struct policy_verdict *ret_verdict)
{
    struct policy_request request = begin_request(loop);
    request.action = ACTION_CALL_TOOL;
    request.resource = tool;
    request.input = input;
    request.raw = raw;
    request.is_approved = is_approved;
    decide(loop, &request, ret_verdict);
    bool is_refused = ret_verdict->outcome == VERDICT_ASK && is_approved;
    return is_refused ? VERDICT_DENY : ret_verdict->outcome;
}

void loop_deny_tool(struct loop *loop, const char *tool, const struct policy_verdict *verdict)
{
    struct policy_request request = {.action = ACTION_CALL_TOOL, .resource = tool};
    record_denied(loop, &request, verdict);
}

bool loop_ask_memory(struct loop *loop, const struct loop_memory *memory,
                     struct policy_verdict *ret_verdict)
{
    auto_buf struct buf input = {0};
    struct json_writer writer = json_writer(&input);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", memory->kind);
    json_write_string(&writer, "category", memory->category);
    json_end_object(&writer);
    struct policy_request request = begin_request(loop);
    request.action = memory->is_recalled ? ACTION_RECALL : ACTION_REMEMBER;
    request.resource = memory->owner;
    request.input = buf_string(&input);
    decide(loop, &request, ret_verdict);
    if (ret_verdict->outcome != VERDICT_ALLOW) {
        record_denied(loop, &request, ret_verdict);
    }
    return ret_verdict->outcome == VERDICT_ALLOW;
}

/** Limits are those of the next iteration: policies may not name them for models. */
static bool is_cost_limited(struct loop *loop)
{
    struct policy_request request = begin_request(loop);
    struct policy_verdict verdict;
    decide(loop, &request, &verdict);
    return verdict.limits[RUN_LIMIT_COST].is_known;
}

bool loop_ask_other_model(struct loop *loop, const char *model, bool is_priced,
                          struct policy_verdict *ret_verdict)
{
    struct policy_request request = begin_request(loop);
    request.action = ACTION_CALL_MODEL;
    request.resource = model;
    decide(loop, &request, ret_verdict);
    if (ret_verdict->outcome == VERDICT_ALLOW && !is_priced && is_cost_limited(loop)) {
        deny_unpriced(model, ret_verdict);
    }
    if (ret_verdict->outcome != VERDICT_ALLOW) {
        record_denied(loop, &request, ret_verdict);
    }
    return ret_verdict->outcome == VERDICT_ALLOW;
}
