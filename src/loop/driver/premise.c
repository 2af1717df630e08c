// SPDX-License-Identifier: Apache-2.0
/*
 * Beginning an iteration without asking the store before. Whether a letter came, and whether others
 * have changed the policies, the commit that begins the body finds out in its transaction (struct
 * store_premise). If so, nothing was written: what the gate decided and what followed from it is
 * taken back, and the loop looks first, as it does before everything that the gate does not allow.
 *
 * So a letter or a change of policies that was acknowledged before the iteration began counts for
 * it, and a loop to which nothing happens reads nothing.
 */
#include "loop/driver/internal.h"

#include "base/memory.h"

#include <stdlib.h>

bool loop_can_rely(const struct loop *loop)
{
    /* What is in a commit that may have gone through cannot be taken back. */
    return !loop->must_look && !loop->is_degraded && loop->tried_count == 0 && loop->outer == NULL;
}

void loop_rely(struct loop *loop, const struct store_premise *premise)
{
    loop_forget_reliance(loop);
    loop->reliance = memory_new(sizeof(*loop->reliance));
    *loop->reliance = (struct loop_reliance){
        .premise = *premise,
        .state = loop->state,
        .pending_count = loop->pending_count,
        .clock_offset_ns = loop->clock_offset_ns,
        .limit_ahead = loop->limit_ahead,
        .is_limit_ahead_old = loop->is_limit_ahead_old,
        .is_state_changed = loop->is_state_changed,
        .was_state_changed = loop->was_state_changed,
        .is_state_unsaved = loop->is_state_unsaved,
    };
}

void loop_forget_reliance(struct loop *loop)
{
    free(loop->reliance);
    loop->reliance = NULL;
}

void loop_take_back(struct loop *loop)
{
    const struct loop_reliance *before = loop->reliance;
    while (loop->pending_count > before->pending_count) {
        struct pending_event *last = &loop->pending[--loop->pending_count];
        loop->pending_bytes -= last->data_len;
        free(last->data);
    }
    loop->state = before->state;
    loop->clock_offset_ns = before->clock_offset_ns;
    loop->limit_ahead = before->limit_ahead;
    loop->is_limit_ahead_old = before->is_limit_ahead_old;
    loop->is_state_changed = before->is_state_changed;
    loop->was_state_changed = before->was_state_changed;
    loop->is_state_unsaved = before->is_state_unsaved;
    /* The commit that was tried is none any more. */
    checkpoint_record_free(loop->interim);
    loop->interim = NULL;
    loop->tried_count = 0;
    loop->tried_memories = 0;
    loop_forget_reliance(loop);
    loop->must_look = true;
}
