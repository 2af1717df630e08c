// SPDX-License-Identifier: Apache-2.0
/* Which actions a set of policies can permit at all. */
#pragma once

#include "policy/vocabulary.h"

/**
 * Whether the scope of any permit matches an action. Where none does, that action is denied
 * whatever the conditions say: a file of forbids alone permits nothing. Any thread.
 */
bool reach_is_permitted(const struct cedar_policies *policies, enum vocabulary_action action);
