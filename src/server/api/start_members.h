// SPDX-License-Identifier: Apache-2.0
/* Members of a start request, read by one table into plain values. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** What kinds of runs a member is for. */
#define START_COMMAND 1U
#define START_ROLE    2U
#define START_CODING  4U
#define START_PROGRAM (START_COMMAND | START_CODING)
#define START_ALL     (START_PROGRAM | START_ROLE)

/** Values of a request. Texts are borrowed from it; numbers are 0 and texts NULL when absent. */
struct start_members {
    char **command; /**< as the other lists: NULL-terminated, the list itself owned */
    char **read_paths;
    char **write_paths;
    char **env_names;
    char **allow_hosts;
    const char *agent_id;
    const char *coding_agent;
    const char *role;
    const char *role_file;
    const char *model;
    const char *prompt;
    const char *workspace;
    const char *policy;
    const char *pool;
    struct json_object *conditions;
    int64_t mode; /**< enum agent_mode */
    int64_t is_dry_run;
    int64_t accepts_unprotected;
    int64_t token_budget;
    int64_t max_iterations;
    int64_t max_tokens;
    int64_t max_cost_micro;
    int64_t time_limit_ns;
    int64_t iteration_timeout_ns;
    int64_t first_output_ns;
    int64_t silence_ns;
    int64_t checkpoint_interval;
    int64_t max_failures;
    int64_t delay_ns;   /**< -1 = not given, as of the next ones */
    int64_t durability; /**< enum loop_durability */
    int64_t is_exclusive;
    int64_t allow_network;
    int64_t sandbox;          /**< enum sandbox_tier */
    int64_t verifier_sandbox; /**< likewise */
};

/** One exit condition of a request. Texts are borrowed. */
struct start_condition {
    const char *name;
    const char *command; /**< NULL = to be found from the project */
    int64_t timeout_ns;  /**< 0 = default */
};

/**
 * Read and check the members. A member that is null counts as absent.
 * @param kind START_COMMAND, START_CODING or START_ROLE: members of the others are refused
 * @param ret_members start_members_fini(), also after an error
 * @return 0; RONDO_ERR_INVALID or RONDO_ERR_LIMIT, the message begins with "PATH: "
 */
int start_members_read(struct json_object *request, unsigned kind,
                       struct start_members *ret_members, struct rondo_error *err);
void start_members_fini(struct start_members *members);

/** Read conditions[index] in the same way. */
int start_condition_read(struct json_object *conditions, size_t index,
                         struct start_condition *ret_condition, struct rondo_error *err);
