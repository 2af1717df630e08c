// SPDX-License-Identifier: Apache-2.0
/* Finding the program that a command names, in the environment of the command and not in ours. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/** Value of a variable in a NULL-terminated environment; NULL when it is not set. Any thread. */
const char *program_environment_get(const char *const *envp, const char *name);

/**
 * Search a program in the PATH of `envp` (without one: /usr/bin and /bin). A name with a slash
 * is taken literally, relative to `directory`. Empty and relative parts of PATH are skipped, for
 * they would let a file in the workspace pass for a system program. Any thread.
 * @param ret_path   the program's path
 * @param ret_reason why not, for people; untouched when found
 * @return whether an executable regular file was found
 */
bool program_find(const char *name, const char *const *envp, const char *directory,
                  char ret_path[PATH_MAX], char ret_reason[256]);

/**
 * Search a program to run with all of Rondo's rights, so that no agent may provide it. The
 * first one in PATH decides, and it must be in a folder of the system (/usr/bin, /usr/local/bin,
 * the Nix and Guix stores, ...) when all links are followed. A name with a slash is not found. Any
 * thread.
 * @param ret_path canonical: no link on the way can be changed between check and use
 */
bool program_find_system(const char *name, const char *const *envp, char ret_path[PATH_MAX],
                         char ret_reason[256]);
