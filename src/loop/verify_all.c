// SPDX-License-Identifier: Apache-2.0
/*
 * A round of verification. Conditions whose commands begin with the same word (`make test`, `make
 * lint`) use the same tool on the same files and would disturb each other, so they form a lane and
 * run one after the other; lanes run side by side. Up to LIMIT_PARALLEL_VERIFIERS short-lived
 * threads take lanes from a common index and leave results in a list; the calling thread passes
 * them on, so that the receiver of results needs no lock. Every thread is joined before the round
 * returns.
 */
#include "loop/verify.h"

#include "base/clock.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A verifier's thread only waits for a process. */
#define VERIFY_STACK_BYTES (256 * 1024)

struct finished {
    size_t index;
    struct verify_result result;
};

struct verification_round {
    const struct verifier *verifier;
    const struct loop_condition *conditions;
    size_t count;
    const struct clock *clock;
    int64_t began_ns;     /* monotonic */
    int64_t time_left_ns; /* from then on */
    struct cancel *cancel;

    pthread_mutex_t lock; /* guards the next three */
    pthread_cond_t changed;
    size_t next; /* first condition that may lead a lane nobody has taken */
    size_t finished_count;
    struct finished *finished;
};

static void evaluate_one(struct verification_round *round, size_t index,
                         struct verify_result *ret_result)
{
    const struct loop_condition *condition = &round->conditions[index];
    int64_t left_ns = round->time_left_ns - (clock_monotonic(round->clock) - round->began_ns);
    int64_t timeout_ns = condition->timeout_ns < left_ns ? condition->timeout_ns : left_ns;
    *ret_result = (struct verify_result){.exit_code = -1};
    if (cancel_is_set(round->cancel)) {
        ret_result->reason = RONDO_REASON_CANCELLED;
        snprintf(ret_result->message, sizeof(ret_result->message), "the run was stopped");
        return;
    }
    if (left_ns <= 0 && round->time_left_ns > 0) { /* Others of its lane have used it up. */
        ret_result->reason = RONDO_REASON_TIMED_OUT;
        snprintf(ret_result->message, sizeof(ret_result->message),
                 "the time limit of the run is used up");
        return;
    }
    round->verifier->evaluate(round->verifier, condition, timeout_ns, round->cancel, ret_result);
}

static bool is_same_lane(const struct verification_round *round, size_t a, size_t b)
{
    const char *first = round->conditions[a].command;
    const char *second = round->conditions[b].command;
    size_t len = strcspn(first, " \t\n");
    return len == strcspn(second, " \t\n") && strncmp(first, second, len) == 0;
}

/** Whether the condition is the first of its lane. */
static bool is_leader(const struct verification_round *round, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (is_same_lane(round, i, index)) {
            return false;
        }
    }
    return true;
}

static size_t count_lanes(const struct verification_round *round)
{
    size_t lanes = 0;
    for (size_t i = 0; i < round->count; i++) {
        lanes += is_leader(round, i);
    }
    return lanes;
}

/** Evaluate the conditions of a lane in their order. */
static void run_lane(struct verification_round *round, size_t leader)
{
    for (size_t i = leader; i < round->count; i++) {
        if (!is_same_lane(round, leader, i)) {
            continue;
        }
        struct finished finished = {.index = i};
        evaluate_one(round, i, &finished.result);
        pthread_mutex_lock(&round->lock);
        round->finished[round->finished_count++] = finished;
        pthread_cond_signal(&round->changed);
        pthread_mutex_unlock(&round->lock);
    }
}

static void *round_worker(void *argument)
{
    struct verification_round *round = argument;
    pthread_mutex_lock(&round->lock);
    while (round->next < round->count) {
        size_t index = round->next++;
        pthread_mutex_unlock(&round->lock);
        if (is_leader(round, index)) {
            run_lane(round, index);
        }
        pthread_mutex_lock(&round->lock);
    }
    pthread_mutex_unlock(&round->lock);
    return NULL;
}

static size_t start_workers(struct verification_round *round, pthread_t *threads)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, VERIFY_STACK_BYTES);
    size_t lanes = count_lanes(round);
    size_t wanted = lanes < LIMIT_PARALLEL_VERIFIERS ? lanes : LIMIT_PARALLEL_VERIFIERS;
    size_t started = 0;
    while (started < wanted &&
           pthread_create(&threads[started], &attributes, round_worker, round) == 0) {
        started++;
    }
    pthread_attr_destroy(&attributes);
    return started;
}

static struct finished wait_for(struct verification_round *round, size_t handed_on)
{
    pthread_mutex_lock(&round->lock);
    while (round->finished_count <= handed_on) {
        pthread_cond_wait(&round->changed, &round->lock);
    }
    struct finished finished = round->finished[handed_on];
    pthread_mutex_unlock(&round->lock);
    return finished;
}

void verify_all(const struct verifier *verifier, const struct loop_condition *conditions,
                size_t count, const struct clock *clock, int64_t time_left_ns,
                struct cancel *cancel,
                void (*on_result)(void *context, size_t index, struct verify_result *result,
                                  size_t still_running),
                void *context)
{
    struct verification_round round = {
        .verifier = verifier,
        .conditions = conditions,
        .count = count,
        .clock = clock,
        .began_ns = clock_monotonic(clock),
        .time_left_ns = time_left_ns,
        .cancel = cancel,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .finished = memory_new_zero(count, sizeof(struct finished)),
    };
    pthread_t threads[LIMIT_PARALLEL_VERIFIERS];
    size_t started = 0;
    if (verifier->is_concurrent && count > 1) {
        started = start_workers(&round, threads);
    }
    if (started == 0) {
        round_worker(&round); /* One condition, or no thread to be had: in order, right here. */
    }
    for (size_t i = 0; i < count; i++) {
        struct finished finished = wait_for(&round, i);
        on_result(context, finished.index, &finished.result, count - i - 1);
        verify_result_fini(&finished.result);
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    free(round.finished);
}
