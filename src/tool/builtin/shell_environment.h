// SPDX-License-Identifier: Apache-2.0
/*
 * The environment of commands that an agent runs: the allow list of os/environment, what the role
 * names (security.tools.env_allowlist), and what the tool itself sets. No other variable of this
 * process reaches them, whatever its name. A role can take variables of the allow list away
 * (sensitive_env_prefixes, sensitive_env_suffixes). Reads the process's environment, never changes
 * it; any thread.
 */
#pragma once

#include <stdbool.h>

struct json_object;

/** Environment and the names in it, both NULL-terminated. */
struct shell_environment {
    char **variables; /**< owned, "NAME=value" */
    char **names;     /**< owned: for a sandbox that passes named variables only */
};

/**
 * @param security_tools normal form of spec.security.tools, or NULL
 * @param extra          NULL-terminated "NAME=value" that win, or NULL
 * @param ret_environment shell_environment_fini()
 */
void shell_environment_make(struct json_object *security_tools, const char *const *extra,
                            struct shell_environment *ret_environment);
void shell_environment_fini(struct shell_environment *environment);

/**
 * The names in the role's env_allowlist, NULL-terminated; memory_free_list(). Each is one whole
 * name: those with `*` or `=` are left out.
 */
char **shell_environment_allowed(struct json_object *security_tools);
