// SPDX-License-Identifier: Apache-2.0
/*
 * `spec.observability` of a role, as the variables that say the same
 * (telemetry/otel_environment.h). What the environment says itself takes precedence. Pure; any
 * thread.
 */
#pragma once

struct json_object;

/**
 * The environment with what a role adds to it.
 * @param role normal form of the whole file
 * @param envp NULL = environ
 * @return NULL-terminated, memory_free_list(); NULL when the role has no `observability`, or one
 * for another backend than `otlp` and `console`
 */
char **role_environment(struct json_object *role, const char *const *envp);
