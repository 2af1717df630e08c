// SPDX-License-Identifier: Apache-2.0
/*
 * `max_sessions` of `spec.memory`: how many conversations of an agent stay open. Those beyond them,
 * the longest unused first, are ended with status cancelled, so that `rondo gc` deletes them in
 * time; until then each can be resumed. A conversation that a process executes, that is paused, or
 * whose process died is left alone, and none of these counts; the same is true of runs that are no
 * conversation at a terminal. Blocks for some transactions.
 */
#pragma once

#include "loop/runtime.h"
#include "store/store.h"

struct loop_spec;

struct sessions_ended {
    uint64_t count;
    char last[ID_SIZE]; /**< of these the one that was used last; "" = none was ended */
};

/** How many conversations stay open. @return 0 when the role has no memory: all of them */
uint64_t sessions_kept(const struct loop_spec *spec);

/**
 * End the conversations of an agent but the `keep` that were used last.
 * @param keep at least 1
 * @return 0; or the code of the first one that could not be ended, after the others were
 */
int sessions_end_older(struct runtime *runtime, const char *agent_id, uint64_t keep,
                       struct sessions_ended *ret_ended, struct rondo_error *err);
