// SPDX-License-Identifier: Apache-2.0
/*
 * What other profiles would have answered: the stored contexts of evaluations
 * (handoff/wire/evaluation.h) are decided by the profiles that count now and by a candidate, which
 * changes nothing. Evaluations with an approval are left out, since it is not stored. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "policy/profile/profile.h"
#include "store/store.h"

/** Samples of actions with another answer. */
#define WHAT_IF_SAMPLES 20
/** Rules that are listed; others are counted in the sums only. */
#define WHAT_IF_RULES 256

struct what_if {
    struct profiles *current;
    struct profiles *candidate;
    const char *agent_id; /**< only its evaluations; NULL = all */
    uint32_t limit;       /**< the newest so many; 0 = all that are stored */
};

/**
 * Append a JSON object: how many answers change, from what to what, by the rule that decides, with
 * samples. Contexts are not among it.
 */
int what_if_write(struct store *store, const struct what_if *question, struct buf *ret_json,
                  struct rondo_error *err);
