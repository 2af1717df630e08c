// SPDX-License-Identifier: Apache-2.0
/*
 * Role files: InitRunner's YAML envelope (apiVersion initrunner/v1) and its flat form (spec_version
 * 3), read into a checked, complete form. One table of fields (role/fields.h) gives parsing,
 * coercion, checks, defaults, warnings and the reference page docs/role-reference.md.
 *
 * A file is never half read: it gives a role, or findings that say where what is wrong.
 */
#pragma once

#include "base/buf.h"
#include "role/fields.h"
#include "role/findings.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

struct role_model {
    char *provider; /**< "" = the role names no model */
    char *name;
    char *base_url;    /**< or NULL */
    char *api_key_env; /**< or NULL */
    double temperature;
    int64_t max_tokens;
    int64_t price_input_micro; /**< Rondo's own: spec.model.price, millionths of a dollar a million
                                    tokens; -1 = not given */
    int64_t price_output_micro;
};

/** Limits; -1 = not set. */
struct role_guardrails {
    int64_t max_tokens_per_run; /**< output tokens of one iteration */
    int64_t max_tool_calls;     /**< of one iteration; 0 = none may run */
    int64_t timeout_seconds;    /**< of one iteration */
    int64_t max_request_limit;  /**< model requests of one iteration; always set */
    int64_t input_tokens_limit;
    int64_t total_tokens_limit;
    int64_t per_request_input_tokens_limit;
    int64_t session_token_budget;
    int64_t max_iterations;
    int64_t autonomous_token_budget;
    int64_t autonomous_timeout_seconds;
    int64_t run_token_budget; /**< tokens of a run of any kind */
    int64_t cost_limit_micro; /**< of a run, millionths of a dollar */
};

/** Sections that are absent have the defaults. */
struct role_autonomy {
    bool is_given;
    char *continuation_prompt;
    int64_t max_history_messages;
    int64_t max_plan_steps;
    double iteration_delay_seconds;
    int64_t max_no_tool_call_iterations;
    int64_t checkpoint_interval; /**< Rondo's own; default 1 */
};

/** Rondo's own: spec.autonomy.exit_conditions[]. Either `command` or `tool`, or neither: then the
 * command is detected from the project by the condition's name, as `rondo loop --until NAME`. */
struct role_condition {
    char *name;
    char *command;   /**< for `sh -c`; or NULL */
    char *tool;      /**< name of a tool as the agent sees it; or NULL */
    char *server;    /**< with `tool`: shared MCP server of rondo.yaml; or NULL */
    char *arguments; /**< JSON object for the tool, "{}" */
    int64_t timeout_seconds;
};

struct role {
    char *path;   /**< of the file, absolute */
    char *folder; /**< its folder, absolute */
    char *name;   /**< metadata.name: the agent's id */
    char *description;
    char *text;                 /**< spec.role */
    struct json_object *normal; /**< the whole file in normal form, all defaults filled */
    struct role_model model;
    struct role_guardrails guardrails;
    struct role_autonomy autonomy;
    struct role_condition *conditions;
    size_t condition_count;
    struct json_object *places; /**< of sections and tools in the file, for findings: path to [line,
                                     column]; NULL when the role comes from its normal form */
    char **skill_places; /**< files of its skills, and folders where they were looked for; set by
                              role_resolve_skills(), also when it fails; NULL-terminated or NULL */
    struct json_object *tools; /**< normal.spec.tools: array of objects with `type`; borrowed */
    char *policy;        /**< Rondo's own: spec.policy, a path relative to the file; or NULL */
    char **allow_hosts;  /**< Rondo's own: spec.execution.allow_hosts; NULL-terminated or NULL */
    bool allows_network; /**< Rondo's own: spec.execution.network, of sandboxed tools; default true
                          */
    double tool_timeout_seconds; /**< execution: of one call; 0 = the tool's own */
    int64_t http_retries;        /**< execution: attempts at a model request; 0 = Rondo's */
    double http_retry_max_wait;  /**< execution: seconds; 0 = Rondo's */
    bool is_offline;             /**< security.sandbox.network: commands of tools have no network */
    char *pool;    /**< Rondo's own: spec.execution.pool, labels of servers; or NULL */
    char *sandbox; /**< Rondo's own: spec.execution.sandbox: namespace, landlock, none; or
                        NULL = default */
};

/**
 * Read and check a role file.
 * @param findings errors and warnings are added; role_findings_fini()
 * @param ret_role NULL when there are errors; role_free()
 * @return 0, also with findings; a negative code when the file cannot be read at all
 */
int role_read(const char *path, enum role_schema schema, struct role_findings *findings,
              struct role **ret_role, struct rondo_error *err);

/** The same for a text in memory. @param path for messages and for `folder` */
int role_parse(const char *yaml, size_t len, const char *path, enum role_schema schema,
               struct role_findings *findings, struct role **ret_role, struct rondo_error *err);

/**
 * Rebuild a role from its normal form, as the journal keeps it.
 * @param normal a reference is taken @param path recorded with it
 */
int role_from_object(struct json_object *normal, const char *path, struct role **ret_role,
                     struct rondo_error *err);

/**
 * Release the normal form, once everything that reads it was opened: `normal` and `tools` become
 * NULL. Code that needs a part of it longer holds a reference.
 */
void role_drop_normal(struct role *role);

/** NULL is allowed. */
void role_free(struct role *role);

/** How a role is used. */
enum role_use {
    ROLE_ALONE,   /**< a command executes one run of it */
    ROLE_SERVED,  /**< a server executes runs of many roles */
    ROLE_ON_DUTY, /**< the same; its triggers are opened, and name themselves what they cannot do */
};

/**
 * What runs will not do, though the file requests it: one warning for each section, tool type or
 * setting (ingest, sinks, memory, ...), by name and with its place in the file.
 */
void role_find_unsupported(const struct role *role, enum role_use use,
                           struct role_findings *findings);

/** Whether a source of `ingest` cannot be read: an address, or a file that is no text and no PDF.
 * Pure. */
bool role_source_is_unreadable(const char *source);

/**
 * The protections of a role's normal form that are not given. What role_read finds beside these
 * (unknown keys, keys of later versions) is not in the normal form.
 */
void role_find_unprotected(const struct role *role, struct role_findings *findings);

/**
 * RONDO_ERR_INVALID when a header, variable, argument or address in the role is a secret that is
 * written out: a run keeps its role.
 */
int role_check_secrets(const struct role *role, struct rondo_error *err);

/** The same for any JSON. @param ret_path where it is; appended, also when there is none */
bool role_find_secret(struct json_object *value, struct buf *ret_path);

/**
 * Put the skills of the role and the schema of `output.schema_file` in: the tools they bring are
 * merged into role->tools (the role's own entry of a type wins), and the system prompt is written:
 * the role's text and the skills' bodies.
 * @param extra_folder --skill-dir, or NULL
 * @param ret_prompt   system prompt
 */
int role_resolve_skills(struct role *role, const char *extra_folder, struct role_findings *findings,
                        struct buf *ret_prompt, struct rondo_error *err);

/**
 * Append all of a role that follows from its file and its skills: what decides, and words. After
 * role_resolve_skills(). @param prompt what that wrote
 */
void role_whole_write(const struct role *role, const char *prompt, struct buf *ret_text);

/**
 * Append what decides in a role, as JSON: servers, tools, permissions, sandbox, limits, exit
 * conditions, the model. Words for people and for the model are left out. After
 * role_resolve_skills() with the tools of the skills.
 */
void role_decisions_write(const struct role *role, struct buf *ret_json);

/** Whether the role's text has a variable of this name in `deps_schema`. */
bool role_has_variable(const struct role *role, const char *name);
/** Append the name of the environment variable that has the value of one. */
void role_variable_name(const char *name, struct buf *ret_name);

/** Append the reference of all fields, in Markdown. */
void role_describe(struct buf *ret_text);
