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

enum git_named {
    GIT_INCLUDED, /**< a file of further settings */
    GIT_HOOKS,    /**< a folder of hooks */
    GIT_WORD,     /**< a word with a slash in any other value: it may name a program */
};

/** A path that a configuration names. */
typedef void git_path_taker(void *context, const char *path, enum git_named kind);

/**
 * Report all paths of `include.path`, `includeIf.*.path` and `core.hooksPath`, and what may be
 * paths in other values: settings that run programs are many and become more. Pure; any thread.
 */
void sandbox_git_config_paths(const char *text, size_t len, git_path_taker *take, void *context);

/**
 * What the repository of a working tree includes, takes hooks from or has in other settings as a
 * file (filters, core.fsmonitor, ...), where it is in that tree: a person's settings name it, so
 * git runs programs from there.
 * @param work_tree canonical
 * @return canonical paths, owned, NULL-terminated; or NULL. Reads files; any thread
 */
char **sandbox_git_named(const char *work_tree);
