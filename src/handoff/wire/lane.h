// SPDX-License-Identifier: Apache-2.0
/*
 * Lanes: ordered units of an agent's work. A lane that waits for a person is a row and nothing
 * else; the agent's other lanes continue. Documents of the collection `lane`, by agent and lane.
 */
#pragma once

#include "base/json/json.h"
#include "handoff/storage/store.h"

enum lane_state {
    LANE_RUNNING = 0,
    LANE_PAUSED,   /**< waits for the decision about `request_id` */
    LANE_EVIDENCE, /**< gathers what a person has asked for: it may only read */
    LANE_HALTED,
    LANE_DONE,
    LANE_STATE_COUNT
};

/** @return whether there is a state of this name */
bool lane_state_from_name(const char *name, enum lane_state *ret_state);

struct lane {
    char agent_id[HANDOFF_NAME_SIZE];
    char lane_id[HANDOFF_NAME_SIZE];
    enum lane_state state;
    char request_id[ID_SIZE]; /**< "" = none */
    int64_t created_ns;
    int64_t changed_ns;
};

/** Read one. RONDO_ERR_NOT_FOUND. */
int lane_read(struct store *store, const char *agent_id, const char *lane_id, struct lane *ret_lane,
              struct rondo_error *err);

/**
 * Open a lane, or find it. When an agent has LIMIT_LANES_OF_AGENT, those that have ended make room.
 * @param ret_is_new whether it was not there
 * @return RONDO_ERR_LIMIT
 */
int lane_open(struct store *store, const char *agent_id, const char *lane_id, int64_t now_ns,
              struct lane *ret_lane, bool *ret_is_new, struct rondo_error *err);

/**
 * Change the state of a lane.
 * @param request_id NULL = none
 * @return RONDO_ERR_NOT_FOUND; RONDO_ERR_STATE for one that has ended
 */
int lane_change(struct store *store, const char *agent_id, const char *lane_id,
                enum lane_state state, const char *request_id, int64_t now_ns,
                struct lane *ret_lane, struct rondo_error *err);

/** Whether a lane gathers evidence: it says so itself, or its request waits for answers. */
int lane_is_evidence(const struct handoff_store *handoffs, const char *agent_id,
                     const char *lane_id, bool *ret_is_evidence, struct rondo_error *err);

/** Append it as an object. */
void lane_write(const struct lane *lane, struct buf *ret_json);
