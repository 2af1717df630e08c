// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that run side by side. A single one runs on the loop's own thread, unless a person has
 * approved it; several get short-lived threads, which leave finished calls in a list. The loop's
 * thread passes them on, so that recording them needs no lock, and meanwhile renews the grants of
 * approved calls. Every thread is joined before the batch returns.
 */
#include "agent/internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "journal/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/** A call's thread waits most of the time, and parses JSON. */
#define CALL_STACK_BYTES ((size_t)512 * 1024)

struct job_batch {
    struct agent *agent;
    struct agent_job *jobs;
    size_t count;
    int64_t deadline_ns;
    pthread_mutex_t lock; /* guards the next ones */
    pthread_cond_t changed;
    size_t next;
    size_t *finished; /* indices, in the order in which they ended */
    size_t finished_count;
};

static int64_t add_time(int64_t a_ns, int64_t b_ns)
{
    int64_t sum_ns = 0;
    return __builtin_add_overflow(a_ns, b_ns, &sum_ns) ? INT64_MAX : sum_ns;
}

struct agent_deadline agent_deadline(const struct agent *agent)
{
    int64_t seconds = agent->config.role->guardrails.timeout_seconds;
    int64_t limit_ns = seconds > INT64_MAX / NS_PER_S ? INT64_MAX : seconds * NS_PER_S;
    int64_t iteration_ns = add_time(limit_ns, agent->started_ns);
    int64_t now_ns = clock_monotonic(runtime_clock(agent->runtime));
    int64_t run_ns = add_time(loop_time_left_ns(agent->loop), now_ns);
    return run_ns <= iteration_ns ? (struct agent_deadline){run_ns, run_ns != INT64_MAX}
                                  : (struct agent_deadline){iteration_ns, false};
}

/** When a call ends that begins now: with the iteration, or by the role's limit for calls. */
static int64_t call_deadline_ns(const struct agent *agent, int64_t begin_ns, int64_t deadline_ns)
{
    double seconds = agent->config.role->tool_timeout_seconds;
    int64_t own_ns = seconds > 0 ? add_time(begin_ns, duration_from_seconds(seconds)) : INT64_MAX;
    return own_ns < deadline_ns ? own_ns : deadline_ns;
}

static void run_job(struct agent *agent, struct agent_job *job, int64_t deadline_ns)
{
    const struct clock *clock = runtime_clock(agent->runtime);
    int64_t begin_ns = clock_monotonic(clock);
    char parent[TRACE_PARENT_SIZE];
    trace_parent(loop_run_id(agent->loop), TRACE_TOOL, loop_state(agent->loop)->turn, job->index,
                 parent);
    struct tool_call call = {
        .id = agent->memory.calls[job->index].call.id,
        .idempotency_key = job->key,
        .traceparent = parent,
        .arguments = job->arguments,
        .deadline_ns = call_deadline_ns(agent, begin_ns, deadline_ns),
        .cancel = agent_cancel(agent),
    };
    toolbox_call(agent->toolbox, job->tool, &call, &job->result);
    job->duration_ns = clock_monotonic(clock) - begin_ns;
}

static void *work(void *context)
{
    struct job_batch *batch = context;
    pthread_mutex_lock(&batch->lock);
    while (batch->next < batch->count) {
        size_t index = batch->next++;
        pthread_mutex_unlock(&batch->lock);
        run_job(batch->agent, &batch->jobs[index], batch->deadline_ns);
        pthread_mutex_lock(&batch->lock);
        batch->jobs[index].is_over = true;
        batch->finished[batch->finished_count++] = index;
        pthread_cond_signal(&batch->changed);
    }
    pthread_mutex_unlock(&batch->lock);
    return NULL;
}

/** @return threads that were started; the caller does the rest */
static size_t start_threads(struct job_batch *batch, pthread_t *threads)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, CALL_STACK_BYTES);
    size_t wanted =
        batch->count < LIMIT_PARALLEL_TOOL_CALLS ? batch->count : LIMIT_PARALLEL_TOOL_CALLS;
    size_t started = 0;
    while (started < wanted && pthread_create(&threads[started], &attributes, work, batch) == 0) {
        started++;
    }
    pthread_attr_destroy(&attributes);
    return started;
}

static bool has_grant(const struct job_batch *batch)
{
    size_t i = 0;
    while (i < batch->count && batch->jobs[i].request[0] == '\0') {
        i++;
    }
    return i < batch->count;
}

/** Calls that take long are not in doubt: the process that makes them is alive. The lock is held.
 */
static void renew_grants(struct job_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct agent_job *job = &batch->jobs[i];
        if (job->request[0] != '\0' && !job->is_over) {
            pthread_mutex_unlock(&batch->lock);
            agent_renew_grant(batch->agent, job->index, job->request);
            pthread_mutex_lock(&batch->lock);
        }
    }
}

/** Wait for the next call that ends. The lock is held. */
static void wait_for_end(struct job_batch *batch)
{
    struct timespec until;
    if (!has_grant(batch)) {
        pthread_cond_wait(&batch->changed, &batch->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at_ns = until.tv_nsec + batch->agent->renew_ns;
    until.tv_sec += at_ns / NS_PER_S;
    until.tv_nsec = at_ns % NS_PER_S;
    if (pthread_cond_timedwait(&batch->changed, &batch->lock, &until) == ETIMEDOUT) {
        renew_grants(batch);
    }
}

/**
 * Hand finished calls on as they end. The threads read the calls' ids in the agent's memory, which
 * the last answer of all frees; by then each of them has ended.
 */
static void pass_on_finished(struct job_batch *batch,
                             void (*on_done)(void *context, struct agent_job *job), void *context)
{
    for (size_t i = 0; i < batch->count; i++) {
        pthread_mutex_lock(&batch->lock);
        while (batch->finished_count <= i) {
            wait_for_end(batch);
        }
        size_t index = batch->finished[i];
        pthread_mutex_unlock(&batch->lock);
        on_done(context, &batch->jobs[index]);
    }
}

void agent_run_batch(struct agent *agent, struct agent_job *jobs, size_t count,
                     void (*on_done)(void *context, struct agent_job *job), void *context)
{
    struct job_batch batch = {
        .agent = agent, .jobs = jobs, .count = count, .deadline_ns = agent_deadline(agent).at_ns};
    pthread_t threads[LIMIT_PARALLEL_TOOL_CALLS];
    pthread_mutex_init(&batch.lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&batch.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    batch.finished = memory_new_zero(count, sizeof(*batch.finished));
    size_t started = count > 1 || has_grant(&batch) ? start_threads(&batch, threads) : 0;
    if (started == 0) {
        work(&batch);
    }
    pass_on_finished(&batch, on_done, context);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    free(batch.finished);
    pthread_cond_destroy(&batch.changed);
    pthread_mutex_destroy(&batch.lock);
}
