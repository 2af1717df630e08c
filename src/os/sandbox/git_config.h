// SPDX-License-Identifier: Apache-2.0
/* Whether the configuration of a git repository could make git run a program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether a configuration has nothing but what a plain clone or init writes: format, remotes,
 * branches, a name. What is not understood counts as harmful. Pure; any thread.
 */
bool sandbox_git_config_is_harmless(const char *text, size_t len);
