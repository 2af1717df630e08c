// SPDX-License-Identifier: Apache-2.0
/* What callers may see and set of a loop. */
#include "loop/driver/internal.h"

#include "base/cancel_owner.h"
#include "base/error.h"
#include "loop/runtime_internal.h"

#include <string.h>

const struct buf *loop_agent_state(const struct loop *loop)
{
    return &loop->agent_state;
}

int loop_set_agent_state(struct loop *loop, const void *bytes, size_t len, struct rondo_error *err)
{
    if (len > LIMIT_STATE_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "agent state of %zu bytes; the limit is %ld", len,
                         LIMIT_STATE_BYTES);
    }
    const struct buf *present = &loop->agent_state;
    if (len == present->len && (len == 0 || memcmp(bytes, present->data, len) == 0)) {
        return 0;
    }
    struct buf changed = {0};
    buf_append(&changed, bytes, len);
    if (loop->is_in_body && !loop->has_former_state) {
        loop->former_state = loop->agent_state;
        loop->has_former_state = true;
        loop->was_state_changed = loop->is_state_changed;
    } else {
        buf_fini(&loop->agent_state);
    }
    loop->agent_state = changed;
    loop->is_state_changed = true;
    return 0;
}

void loop_keep_state(struct loop *loop)
{
    buf_fini(&loop->former_state);
    loop->former_state = (struct buf){0};
    loop->has_former_state = false;
}

void loop_take_back_state(struct loop *loop)
{
    if (loop->has_former_state) {
        buf_fini(&loop->agent_state);
        loop->agent_state = loop->former_state;
        loop->former_state = (struct buf){0};
        loop->has_former_state = false;
        loop->is_state_changed = loop->was_state_changed;
    }
}

const char *loop_custom_data(const struct loop *loop)
{
    return loop->custom_data;
}

void loop_stop(struct loop *loop, enum cancel_level level)
{
    int present = CANCEL_NONE;
    while (present < (int)level &&
           !atomic_compare_exchange_weak(&loop->stop_level, &present, (int)level)) {
    }
    cancel_set(&loop->cancel, level); /* After the reason: see loop_is_only_late(). */
}

bool loop_is_only_late(const struct loop *loop)
{
    return cancel_is_set(&loop->cancel) && loop->stop_level == CANCEL_NONE &&
           loop->parking != PARKING_NOW && runtime_is_late(loop->runtime, loop->run_id, false);
}

void loop_forget_late(struct loop *loop)
{
    if (!loop_is_only_late(loop)) {
        return;
    }
    (void)runtime_is_late(loop->runtime, loop->run_id, true);
    cancel_reset(&loop->cancel);
    int level = loop->parking == PARKING_NOW && loop->stop_level == CANCEL_NONE ? CANCEL_GRACEFUL
                                                                                : loop->stop_level;
    if (level != CANCEL_NONE) { /* Asked for meanwhile. */
        cancel_set(&loop->cancel, (enum cancel_level)level);
    }
}

void loop_request_park(struct loop *loop, bool is_now)
{
    int wanted = is_now ? PARKING_NOW : PARKING_AT_BOUNDARY;
    int present = PARKING_NONE;
    while (present < wanted && !atomic_compare_exchange_weak(&loop->parking, &present, wanted)) {
    }
    if (is_now) {
        cancel_set(&loop->cancel,
                   CANCEL_GRACEFUL); /* After the reason: nobody takes it for a stop. */
    }
}

struct cancel *loop_cancel(struct loop *loop)
{
    return &loop->cancel;
}

const struct run_state *loop_state(const struct loop *loop)
{
    return &loop->state;
}

const struct loop_spec *loop_spec(const struct loop *loop)
{
    return &loop->spec;
}

const char *loop_run_id(const struct loop *loop)
{
    return loop->run_id;
}

struct runtime *loop_runtime(struct loop *loop)
{
    return loop->runtime;
}

const struct policy_verdict *loop_violation(const struct loop *loop)
{
    return loop->violation;
}

const struct ruleset *loop_ruleset(const struct loop *loop)
{
    return policy_gate_ruleset(loop->gate);
}

bool loop_is_degraded(const struct loop *loop)
{
    return loop->is_degraded;
}

uint64_t loop_storage_failures(const struct loop *loop)
{
    return loop->storage_failures;
}
