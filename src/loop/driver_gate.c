// SPDX-License-Identifier: Apache-2.0
/*
 * The driver at its gate: before each step the policies are brought up to date, what happened to
 * them goes into the journal, and then they are asked.
 */
#include "loop/driver_internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "loop/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int loop_open_gate(struct loop *loop, struct rondo_error *err)
{
    if (loop->gate.decide != NULL) {
        return 0;
    }
    int r = policy_gate_new(loop->runtime, &loop->spec, loop->run_id, loop->state.policy_sha256,
                            &loop->policy_gate, err);
    if (r == 0) {
        loop->gate = policy_gate_as_gate(loop->policy_gate);
    }
    return r;
}

static void record_change(struct loop *loop, const struct gate_news *news)
{
    char old_sha256[RUN_DIGEST_SIZE]; /* folding the event overwrites the state's */
    snprintf(old_sha256, sizeof(old_sha256), "%s", loop->state.policy_sha256);
    struct journal_event event = {
        .type = JOURNAL_POLICY_CHANGED,
        .sha256 = news->sha256[0] == '\0' ? NULL : news->sha256,
        .old_sha256 = old_sha256[0] == '\0' ? NULL : old_sha256,
        .source = news->source,
        .by = news->by,
        .limits = news->limits,
        .old_limits = news->old_limits[0] == '\0' ? NULL : news->old_limits,
    };
    loop_record(loop, &event);
}

static void record_refusal(struct loop *loop, const struct gate_news *news)
{
    struct journal_event event = {
        .type = JOURNAL_POLICY_REFUSED,
        .sha256 = news->sha256,
        .source = news->source,
        .by = news->by,
        .message = news->message,
    };
    loop_record(loop, &event);
}

/** What is asked about the run, with policies that are up to date. */
static struct gate_request begin_asking(struct loop *loop)
{
    struct gate_request request = loop_step_request(&loop->state, &loop->spec, loop->run_id,
                                                    clock_now(runtime_clock(loop->runtime)));
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

static void record_warning(struct loop *loop, enum run_limit counter,
                           const struct journal_event *event)
{
    char reached[FORMAT_DURATION_SIZE];
    char limit[FORMAT_DURATION_SIZE];
    char left[FORMAT_DURATION_SIZE];
    char message[160];
    int64_t remaining = event->limit > event->value ? event->limit - event->value : 0;
    write_figure(counter, event->value, reached, sizeof(reached));
    write_figure(counter, event->limit, limit, sizeof(limit));
    write_figure(counter, remaining, left, sizeof(left));
    snprintf(message, sizeof(message), "%s of %s %s, %s left", reached, limit,
             counter == RUN_LIMIT_COST ? "cost" : run_limit_name(counter), left);
    struct journal_event worded = *event;
    worded.message = message;
    loop_record(loop, &worded);
}

static void warn_of_limits(struct loop *loop, const struct gate_decision *decision)
{
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        struct journal_event event;
        if (loop_step_warning(&loop->state, i, &decision->limits[i], &event)) {
            record_warning(loop, i, &event);
        }
    }
}

void loop_ask_to_iterate(struct loop *loop)
{
    struct gate_request request = begin_asking(loop);
    struct gate_decision decision = {0};
    loop->gate.decide(&loop->gate, &request, &decision);
    /* Also of one that was jumped over: nobody was told of that before. */
    warn_of_limits(loop, &decision);
    struct journal_event event = loop_step_gate(&loop->state, &decision);
    loop_record(loop, &event);
    if (!decision.is_allowed) {
        free(loop->violation);
        loop->violation = memory_new(sizeof(*loop->violation));
        *loop->violation = decision;
    }
}

bool loop_ask(struct loop *loop, enum vocabulary_action action, const char *condition,
              struct gate_decision *ret_decision)
{
    if (loop->policy_gate == NULL) {
        return true; /* A gate that was given decides about iterations only. */
    }
    struct gate_request request = begin_asking(loop);
    struct gate_decision decision = {0};
    request.action = action;
    request.condition = condition;
    loop->gate.decide(&loop->gate, &request, &decision);
    if (!decision.is_allowed) {
        struct journal_event event = loop_step_denied(&loop->state, action, &decision);
        event.name = condition;
        loop_record(loop, &event);
    }
    if (ret_decision != NULL) {
        *ret_decision = decision;
    }
    return decision.is_allowed;
}
