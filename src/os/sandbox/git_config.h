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

/** A path that a configuration names: what it includes, or its folder of hooks. */
typedef void git_path_taker(void *context, const char *path, bool is_hooks);

/** Tell all paths of `include.path`, `includeIf.*.path` and `core.hooksPath`. Pure; any thread. */
void sandbox_git_config_paths(const char *text, size_t len, git_path_taker *take, void *context);

/**
 * What the repository of a working tree includes or takes hooks from, where it is in that tree: a
 * person's settings name it, so git runs programs from there.
 * @param work_tree canonical
 * @return canonical paths, owned, NULL-terminated; or NULL. Reads files; any thread
 */
char **sandbox_git_named(const char *work_tree);
