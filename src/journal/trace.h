// SPDX-License-Identifier: Apache-2.0
/*
 * Where a run is found in traces: ids that follow from the run alone, so that the writers of
 * spans and those that pass the context on (to workers, models, MCP servers, webhooks) agree
 * without talking to each other, also after a crash. A run's trace id is its run id without the
 * dashes. Pure functions; any thread. Format: W3C Trace Context, level 1, section 3.2.
 */
#pragma once

#include "base/id.h"

#include <stdint.h>

/** "00-", 32 and 16 hex digits, "-01", the NUL included. */
#define TRACE_PARENT_SIZE 56
/** Hex digits of a span id, the NUL included. */
#define TRACE_SPAN_SIZE 17
/** Hex digits of a trace id, the NUL included. */
#define TRACE_ID_SIZE 33

/** What a span is of. Values are part of the ids: never renumber. */
enum trace_span {
    TRACE_RUN = 1,          /**< one execution of the run; number = epoch */
    TRACE_ITERATION = 2,    /**< number = iteration, part = attempt */
    TRACE_MODEL = 3,        /**< number = turn, part = attempt */
    TRACE_TOOL = 4,         /**< number = turn, part = index of the call */
    TRACE_CONDITION = 5,    /**< number = seq of condition.evaluated */
    TRACE_CHECKPOINT = 6,   /**< number = number of the checkpoint */
    TRACE_POLICY = 7,       /**< number = seq of the event */
    TRACE_VERIFICATION = 8, /**< number = seq of verification.started */
    TRACE_HANDOFF = 9       /**< number = seq of handoff.requested */
};

/** Trace id of a run. @param run_id a UUID in text form */
void trace_id(const char *run_id, char ret_id[TRACE_ID_SIZE]);

/** Id of a span: the first 8 bytes of SHA-256("rondo-span-1" run_id kind number part), never zero.
 */
void trace_span_id(const char *run_id, enum trace_span kind, uint64_t number, uint64_t part,
                   char ret_id[TRACE_SPAN_SIZE]);

/** Value of a `traceparent` header for work done inside a span; the sampled flag is set. */
void trace_parent(const char *run_id, enum trace_span kind, uint64_t number, uint64_t part,
                  char ret_value[TRACE_PARENT_SIZE]);
