// SPDX-License-Identifier: Apache-2.0
/*
 * Role agents as the figures use them: the engine of `rondo run ROLE -a` without its command line.
 * Every function dies on failure.
 */
#pragma once

#include "agent/agent.h"

#include <stdbool.h>
#include <stddef.h>

/** What the agents of a process share. */
struct engine {
    struct store *store;
    struct runtime *runtime;
    struct http_client *http;
    const char *workspace;
};

/** Open a store, new or old. */
void engine_open(struct engine *engine, const char *store, const char *workspace);
void engine_close(struct engine *engine);

/** One agent and its run. */
struct engine_agent {
    struct loop_spec spec; /* until it is started */
    struct agent *agent;
    struct loop *loop;
};

/** Text of a role file with one tool, for `write_file`. @param ret_yaml at least 2,048 bytes */
void engine_role(const char *base_url, const char *workspace, char *ret_yaml, size_t size);

/** Read such a role, without limits in effect, and open an agent of it. */
void engine_open_agent(struct engine *engine, const char *base_url, struct engine_agent *ret_agent);

/** Begin its run, on the thread that runs it. */
void engine_start(struct engine *engine, struct engine_agent *agent);

/** Run iterations, at most so many. @return those that were run: fewer when it has finished */
size_t engine_turns(struct engine_agent *agent, size_t most);

/** Release it; a run that has not ended is parked. */
void engine_end(struct engine_agent *agent);
