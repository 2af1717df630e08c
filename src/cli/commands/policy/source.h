// SPDX-License-Identifier: Apache-2.0
/* The policies that `rondo policy` speaks of: those of a path, or those of the store. */
#pragma once

#include "cli/commands/policy/findings.h"
#include "policy/change.h"

/**
 * Where the policies are: `given`, or the policy file beside the store, which need not exist, like
 * the store itself.
 * @param given path or NULL
 * @param store --store or NULL
 * @param ret_path free() it; absolute for the store's
 */
int policy_locate(const char *given, const char *store, char **ret_path, struct rondo_error *err);

/**
 * Locate and load, as commands do that need policies without faults. What is wrong is reported.
 * @return 0 or the exit code
 */
int policy_require(const char *given, const char *store, struct ruleset **ret_ruleset);

/** Exit code for policies that could not be loaded. */
int policy_exit_code(const struct rondo_error *err);

/** Characters of a digest that people see. */
#define SHORT_DIGEST_LEN 12
