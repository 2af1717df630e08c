// SPDX-License-Identifier: Apache-2.0
/*
 * What a run was asked to do: recorded in its first event, so that a resume needs nothing but the
 * store. Options that a resume changes are recorded again as a whole (event run.options).
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "os/sandbox/policy.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What to do when the store keeps failing. */
enum loop_durability {
    DURABILITY_STRICT = 0,  /**< end the run with status error */
    DURABILITY_BEST_EFFORT, /**< continue without checkpoints and record it */
};

/** What to do on resume when the newest checkpoint is damaged. */
enum loop_on_corrupt {
    ON_CORRUPT_PREVIOUS = 0, /**< use the newest one that is intact */
    ON_CORRUPT_FRESH,        /**< begin with an empty agent state; the iteration count continues */
    ON_CORRUPT_FAIL,         /**< refuse, so that a person can look */
};

/** One exit condition. */
struct loop_condition {
    char *name;
    char *command;   /**< for `sh -c`, run in the workspace; with `tool`: the call, for people */
    char *tool;      /**< name of the tool that verifies instead; or NULL */
    char *server;    /**< with `tool`: the shared MCP server that has it; NULL = the agent's own */
    char *arguments; /**< with `tool`: JSON object */
    char *origin;    /**< where the command comes from, for people ("given", "Makefile") */
    int64_t timeout_ns; /**< longest time for one evaluation */
};

struct loop_spec {
    char *agent_id;
    char *kind;      /**< "command", "library", "role", "coding" or "prd" */
    char *workspace; /**< absolute path */
    char *policy;    /**< absolute path of a policy file or folder; NULL = the store's */
    char *pool;      /**< labels that a server must have to execute it; NULL = none */
    char *prompt;    /**< or NULL */
    char *agent;     /**< kind "role": what agent/spec/config.h keeps, JSON; or NULL */
    char *coding; /**< kind "coding": the record of a coding agent (worker/coding/record.h), JSON */
    char *work;   /**< kind "prd": what work/spec.h keeps; or of a run that works on a task: its
                     parent,   JSON; or NULL */
    char **command; /**< argv of a worker, NULL-terminated; NULL for libraries */
    struct loop_condition *conditions;
    size_t condition_count;

    int64_t max_iterations; /**< 0 = what policies say, or RULESET_DEFAULT_ITERATIONS */
    int64_t max_tokens;     /**< 0 = no limit, as for the next ones */
    int64_t max_cost_micro;
    int64_t time_limit_ns;
    int64_t iteration_timeout_ns;
    int64_t first_output_ns;
    int64_t silence_ns;
    int64_t delay_ns;
    int64_t checkpoint_interval; /**< iterations; at least 1 */
    int64_t max_failures;        /**< consecutive; at least 1 */
    int64_t durability;          /**< enum loop_durability */
    int64_t on_corrupt;          /**< enum loop_on_corrupt */
    int64_t is_exclusive;
    int64_t verifier_tier; /**< enum sandbox_tier */
    int64_t worker_tier;
    int64_t allow_network;
    char **read_paths; /**< NULL-terminated or NULL, as the next ones */
    char **write_paths;
    char **env_names;
    char **denied_env;    /**< names of variables that no process of the run gets, whatever else
                               passes them: what Rondo itself needs, such as a forge's token */
    char run_id[ID_SIZE]; /**< of the new run, which must be new; "" = one is made.
                               Not recorded with the options */
    char *origin; /**< the event that a new run comes from, JSON object; or NULL. Recorded once,
                       in run.created, and not with the options */
};

#define LOOP_DEFAULT_MAX_FAILURES      3
#define LOOP_DEFAULT_VERIFY_TIMEOUT_NS INT64_C(30000000000)

/** Defaults for everything; agent_id, kind and workspace are for the caller to set. */
struct loop_spec loop_spec_default(void);

/** An agent id made of a command's name: what an id must not hold becomes '_'. Owned. */
char *loop_spec_agent_of(const char *command);

/** Release everything that the spec owns. */
void loop_spec_fini(struct loop_spec *spec);

/** Deep copy. */
struct loop_spec loop_spec_dup(const struct loop_spec *spec);

/** Remove all conditions. */
void loop_spec_drop_conditions(struct loop_spec *spec);

/** Add a condition; texts are copied. Names must be unique: RONDO_ERR_INVALID; LIMIT_CONDITIONS. */
int loop_spec_add_condition(struct loop_spec *spec, const char *name, const char *command,
                            const char *origin, int64_t timeout_ns, struct rondo_error *err);

/**
 * Add a condition that a tool verifies. Rules as above.
 * @param server    or NULL
 * @param arguments JSON object; NULL = {}
 */
int loop_spec_add_tool_condition(struct loop_spec *spec, const char *name, const char *tool,
                                 const char *server, const char *arguments, int64_t timeout_ns,
                                 struct rondo_error *err);

/** Check ranges, names and lengths; the message names the option. */
int loop_spec_check(const struct loop_spec *spec, struct rondo_error *err);

/** Append the spec as JSON. */
void loop_spec_encode(const struct loop_spec *spec, struct buf *ret_buf);

/** Read what loop_spec_encode wrote. @param ret_spec loop_spec_fini() */
int loop_spec_decode(const char *json, size_t len, struct loop_spec *ret_spec,
                     struct rondo_error *err);
