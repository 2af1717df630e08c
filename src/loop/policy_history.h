// SPDX-License-Identifier: Apache-2.0
/* Rulesets that processes find, entered in the store's history of policies. */
#pragma once

#include "policy/watch.h"

/**
 * Enter a ruleset unless the newest entry of its source is the same, which `rondo policy set` or
 * another process has made; then that entry names the author. A store that fails is no reason not
 * to use the policies. A watch_loaded_fn.
 * @param store a struct store
 */
void policy_history_enter(void *store, const struct ruleset *ruleset, bool is_first, char *by,
                          size_t by_size);
