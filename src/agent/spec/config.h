// SPDX-License-Identifier: Apache-2.0
/*
 * What the options of a run say about its agent: the member `agent` of its spec, a JSON object with
 * a format number. Read and written here only.
 */
#pragma once

#include "agent/spec/options.h"
#include "model/model.h"
#include "model/prices.h"
#include "role/role.h"

struct agent_config {
    enum agent_mode mode;
    bool is_dry_run;
    bool accepts_unprotected; /**< somebody accepted the protections that are missing */
    struct role *role;        /**< owned */
    char *system;
    char *provider; /**< of the model in use */
    char *model;
    struct prices prices;        /**< found when the run began; !is_known = none were given */
    struct json_object *servers; /**< of rondo.yaml, as the run keeps them; NULL = none. Owned */
    int64_t follow_up_depth;     /**< follow-ups that led to this run; -1 = it must not schedule
                                      any, because no daemon has started it */
    struct json_object *carried; /**< what a conversation's turn took over; NULL = nothing. Owned */
    struct json_object *delegates; /**< see spec/delegates.h; NULL = none. Owned */
    int64_t depth;                 /**< 0 = no other run gave it away */
    char *carried_summary;         /**< of still earlier turns; NULL = there is none */
    char **allow_hosts;            /**< the role's and the caller's; NULL-terminated, never NULL */
};

/** What opening the model takes from the options of a run; the rest is the caller's. Borrowed. */
struct model_options agent_config_model(const struct agent_config *config);

/** @param ret_config agent_config_fini() */
int agent_config_read(const char *json, struct agent_config *ret_config, struct rondo_error *err);
void agent_config_fini(struct agent_config *config);

/** Whether options are those of a conversation at a terminal; the rest of them is not read. */
bool agent_config_is_chat(const char *json);
