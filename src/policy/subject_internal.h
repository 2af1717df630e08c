// SPDX-License-Identifier: Apache-2.0
/* The entities of one run: its agent, with defaults for what nobody has set, the run itself, and
 * the model and tools that it may use. */
#pragma once

#include "policy/subject.h"

/**
 * Make them, over those of the ruleset.
 * @return cedar_entities_free(); NULL when an attribute that the administrator gave the agent
 *         cannot be taken over, with the error
 */
struct cedar_entities *subject_entities_make(const struct policy_run *run,
                                             const struct ruleset *ruleset,
                                             struct rondo_error *err);
