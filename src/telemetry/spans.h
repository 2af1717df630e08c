// SPDX-License-Identifier: Apache-2.0
/*
 * Spans from events: each entry of a run's journal goes in, finished spans come out. Everything in
 * a span follows from the journal alone, its ids too, so that sending the same events again
 * sends the same spans.
 *
 * One trace a run. Each execution (claim) of it is an `invoke_agent` span; a later one links to the
 * one before. In it lie iterations, in these model calls, tool calls, verifications with their
 * conditions, checkpoints and policy decisions. A span is handed over when it ends; what an
 * execution left open when its process died ends with that execution.
 *
 * Of each open run little is remembered. Of many runs the ones that were quiet for longest are
 * forgotten, and their past is replayed when they continue (spans_add reports it). One thread; no
 * clock, no I/O.
 */
#pragma once

#include "journal/event.h"
#include "telemetry/otel_environment.h"
#include "telemetry/span.h"

/** Open runs that are remembered. */
#define SPANS_MAX_RUNS 10000
/** Tool calls of one run that are open at the same time. */
#define SPANS_MAX_CALLS 64
/** Events of one execution's span; what comes later is counted. */
#define SPANS_MAX_EVENTS 128
/** Bytes of them, after which no more are kept. */
#define SPANS_MAX_EVENT_BYTES 65536
/** An iteration whose body and verification ended is over when nothing comes for so long. */
#define SPANS_SETTLE_NS INT64_C(1000000000)

struct redact;
struct spans;

struct spans_options {
    /** A span has ended. Borrowed for the call, which must not call back. */
    void (*emit)(void *context, const struct span *span);
    void *context;
    const struct otel_environment *environment; /**< what is sampled and shown; borrowed */
    const struct redact *redact;                /**< for content; borrowed; NULL = shapes only */
    size_t max_runs;                            /**< 0 = SPANS_MAX_RUNS */
    uint64_t sent_until;                        /**< of one run: an execution that was parked up to
                                                     this event was sent by its own process; 0 = none was */
};

/** Never NULL; spans_free(). */
struct spans *spans_new(const struct spans_options *options);
void spans_free(struct spans *spans);

/**
 * Take in the next event of a run.
 * @return false when what came before it is not known: call spans_replay with that first, in order,
 *         then this again. An event that was taken in before is left alone.
 */
bool spans_add(struct spans *spans, const struct journal_entry *entry);

/**
 * Take in an event of the past, without sending anything. Not all of them are needed: event 1, the
 * claim before the last one, and everything from the last claim on.
 */
void spans_replay(struct spans *spans, const struct journal_entry *entry);

/** Hand over iterations that are over though nothing has followed them yet. @param now_ns wall */
void spans_settle(struct spans *spans, int64_t now_ns);

/**
 * Nobody executes the run any more, though it has not ended: its execution ends here.
 * @param time_ns when its owner was last seen alive
 */
void spans_park(struct spans *spans, const char *run_id, int64_t time_ns);

/** Runs with an open execution that were quiet since a time, for spans_park. */
void spans_list_quiet(struct spans *spans, int64_t since_ns,
                      void (*fn)(void *context, const char *run_id), void *context);

size_t spans_run_count(const struct spans *spans);
