// SPDX-License-Identifier: Apache-2.0
/*
 * From the name of a coding agent to a run: its record is found, its program located, and
 * everything is pinned in the spec. Reads the user's records, never one in a workspace. Any thread.
 */
#pragma once

#include "loop/spec.h"
#include "worker/coding/record.h"

/** Folder of the user's own records in the folder of their settings: NAME.yaml. */
#define CODING_FOLDER "coding-agents"

/** Deadlines of a session where the spec has none. */
#define CODING_START_NS   INT64_C(300000000000)
#define CODING_SILENCE_NS INT64_C(1800000000000)
#define CODING_TOTAL_NS   INT64_C(7200000000000)

struct coding_options {
    const char *name;          /**< of a row, or of the user's own record */
    const char *config_folder; /**< the user's settings; NULL = none */
    const char *model;         /**< NULL = the agent's default */
    const char *agent_home;    /**< HOME of the agent, absolute; NULL = the user's */
    const char *prices_file;   /**< prices of models that report tokens only; or NULL */
    bool keeps_session;        /**< later iterations resume the session */
    bool is_single;            /**< one iteration, whatever the limit */
};

/** Whether there is an agent of that name. What is wrong with its record, coding_spec_set() says.
 */
bool coding_is_known(const char *name, const char *config_folder);

/**
 * Find a record. RONDO_ERR_NOT_FOUND with the names that there are; RONDO_ERR_INVALID with file,
 * line and column.
 * @param ret_record coding_record_fini()
 */
int coding_find(const char *name, const char *config_folder, struct coding_record *ret_record,
                struct rondo_error *err);

/**
 * Make a spec one of a coding agent. Its workspace and its worker's tier are set; the tier decides
 * whether the agent asks for permission. RONDO_ERR_NOT_FOUND when the program is not installed.
 */
int coding_spec_set(const struct coding_options *options, struct loop_spec *spec,
                    struct rondo_error *err);
