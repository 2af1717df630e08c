// SPDX-License-Identifier: Apache-2.0
/*
 * What the options of a run say about its agent: the member `agent` of its spec, a JSON object with
 * a format number. Read and written here only.
 */
#pragma once

#include "loop/agent.h"
#include "role/role.h"

struct agent_config {
    enum agent_mode mode;
    bool is_dry_run;
    struct role *role; /**< owned */
    char *system;
    char *provider; /**< of the model in use */
    char *model;
    char **allow_hosts; /**< the role's and the caller's; NULL-terminated, never NULL */
};

/** Append the JSON. */
void agent_config_write(const struct role *role, const struct agent_options *options,
                        struct buf *ret_json);

/** @param ret_config agent_config_fini() */
int agent_config_read(const char *json, struct agent_config *ret_config, struct rondo_error *err);
void agent_config_fini(struct agent_config *config);
