// SPDX-License-Identifier: Apache-2.0
/*
 * What lists show of a handoff, and its next timer: the document of `handoff-open`, so that a list
 * reads no record and no request. Written with each change of the record while time or a person
 * can still change it. Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "handoff/handoff.h"
#include "rondo/error.h"

/** Bytes of the reason that lists show, the NUL included. */
#define HANDOFF_WHY_SIZE 160

struct handoff_summary {
    char request_id[ID_SIZE];
    char agent_id[HANDOFF_NAME_SIZE];
    char lane_id[HANDOFF_NAME_SIZE];
    char desk[HANDOFF_NAME_SIZE]; /**< the one that has it; "" = none yet */
    char tool[HANDOFF_NAME_SIZE]; /**< cut off where it is longer */
    char claimed_by[HANDOFF_NAME_SIZE];
    char why[HANDOFF_WHY_SIZE]; /**< cut off where it is longer */
    enum handoff_state state;
    enum handoff_level risk;
    enum handoff_level priority;
    uint32_t escalation_level;
    uint32_t hops;
    uint32_t revision;
    uint64_t version;
    int64_t requested_ns;
    int64_t due_ns;   /**< when it is breached: of people, or of the agent that must answer */
    int64_t timer_ns; /**< when time does something next; 0 = never */
};

/** @param tool, why as the agent sent them */
void handoff_summarise(const struct handoff *handoff, const struct handoff_rules *rules,
                       const char *tool, const char *why, struct handoff_summary *ret_summary);
void handoff_summary_encode(const struct handoff_summary *summary, struct buf *ret_json);
/** @return RONDO_ERR_CORRUPT, also for one of a version of Rondo that wrote none ("{}") */
int handoff_summary_decode(const char *request_id, const char *data, size_t len,
                           struct handoff_summary *ret_summary, struct rondo_error *err);
