// SPDX-License-Identifier: Apache-2.0
/* Items and facts for the tests of the state machine. */
#pragma once

#include "issues/step.h"

#include "base/clock.h"
#include "base/memory.h"
#include "issues/claim.h"
#include "support/test.h"

#include <stdio.h>

#define NOW    INT64_C(1700000000000000000)
#define MINUTE (60 * NS_PER_S)
#define HOUR   (60 * MINUTE)
#define NONCE  "01890a5d-ac96-774b-bcce-b302099a8057"
#define OTHER  "01890a5d-ac96-774b-bcce-b302099a8058"

static const struct item_options plain = {
    .max_attempts = 3,
    .max_active_ns = 2 * HOUR,
    .retry_base_ns = 5 * MINUTE,
    .retry_most_ns = 2 * HOUR,
};

/** An item whose claim is ours and fresh. */
static inline struct item item_in(enum item_state state)
{
    return (struct item){
        .number = 12,
        .state = state,
        .nonce = NONCE,
        .claim_id = "c0ffee",
        .renewed_ns = NOW,
        .next_ns = NOW + MINUTE,
        .mirrored = state,
        .owner = "me",
    };
}

static inline struct item_facts facts_of(enum run_fact run)
{
    return (struct item_facts){
        .now_ns = NOW,
        .claim = CLAIM_OURS,
        .issue = ISSUE_FACT_WANTED,
        .run = run,
        .is_mirror_right = true,
        .is_forge_open = true,
        .may_start = true,
    };
}

static inline void check(const char *name, const struct item *item, const struct item_facts *facts,
                         const struct item_options *options, struct item_action expected)
{
    struct item_action action = item_next(item, facts, options);
    if (action.act != expected.act) {
        fail_msg("%s: act %d instead of %d (state %s, reason %s)", name, action.act, expected.act,
                 item_state_name(action.state), item_reason_name(action.reason));
    }
    if (action.act == ITEM_ACT_SET &&
        (action.state != expected.state || action.reason != expected.reason)) {
        fail_msg("%s: %s, %s", name, item_state_name(action.state),
                 item_reason_name(action.reason));
    }
}

static inline struct item_action act(enum item_act act)
{
    return (struct item_action){.act = act};
}

static inline struct item_action set(enum item_state state, enum item_reason reason)
{
    return (struct item_action){.act = ITEM_ACT_SET, .state = state, .reason = reason};
}

/** What of the issue cancels the work on it, and how it is told. */
static const struct {
    enum issue_fact issue;
    enum item_reason reason;
} cancels[] = {
    {ISSUE_FACT_CLOSED, ITEM_ISSUE_CLOSED},   {ISSUE_FACT_UNLABELLED, ITEM_UNLABELLED},
    {ISSUE_FACT_REASSIGNED, ITEM_REASSIGNED}, {ISSUE_FACT_EDITED, ITEM_EDITED},
    {ISSUE_FACT_GONE, ITEM_ISSUE_GONE},       {ISSUE_FACT_RELEASED, ITEM_BY_PERSON},
};
