// SPDX-License-Identifier: Apache-2.0
/*
 * The environment of commands that an agent runs: this process's, without what looks like a
 * secret. The names that look so are the role's (security.tools: sensitive_env_prefixes,
 * sensitive_env_suffixes, env_allowlist) or, where it says nothing, those of the tables here.
 * Reads the process's environment, never changes it; any thread.
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

/** Whether a variable is kept from commands. Letter case does not count, but in the allow list. */
bool shell_environment_is_secret(struct json_object *security_tools, const char *name);
