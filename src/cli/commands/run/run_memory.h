// SPDX-License-Identifier: Apache-2.0
/* What `rondo run` does with the memory of its agent when the run has ended. */
#pragma once

#include "cli/framework/session.h"

struct http_client;

/**
 * Consolidate what is due for an agent. Nothing is lost when the process is ended meanwhile: the
 * next run of the agent, or a server, does it again. A line on stderr reports what was done.
 */
void run_consolidate(struct session *session, struct http_client *http, const char *prices_file,
                     const char *agent_id, bool is_quiet);
