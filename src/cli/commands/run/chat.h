// SPDX-License-Identifier: Apache-2.0
/* A conversation with an agent, line by line: `rondo run ROLE -i`. */
#pragma once

#include "cli/commands/run/run_body.h"

/**
 * Talk until the input ends. Then the run is parked, so that `rondo resume` continues it.
 * @param loop  freed
 * @param after events up to this one were there before
 * @param agent opened for it, mode AGENT_CHAT
 * @return exit code
 */
int chat_execute(struct session *session, struct loop *loop, const struct run_values *values,
                 uint64_t after, struct run_agent *agent);
