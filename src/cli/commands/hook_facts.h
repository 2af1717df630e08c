// SPDX-License-Identifier: Apache-2.0
/* What is known of the tools of coding agents, for the policies that `rondo hook` asks. */
#pragma once

#include <stdbool.h>

struct json_object;

/** What is known of a call. */
struct hook_facts {
    const char *tool;
    int impact;
    int risk_level;
    bool is_reversible;
};

/**
 * Facts of a call: of the known tools, unless it may be about the agent's own settings, by which it
 * could remove its hook; every other call counts as risky.
 * @param input  the arguments, an object
 * @param text   the same as JSON
 * @param folder where the agent works
 */
const struct hook_facts *hook_facts_of(const char *tool, struct json_object *input,
                                       const char *text, const char *folder);
