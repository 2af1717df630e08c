// SPDX-License-Identifier: Apache-2.0
/* The role files of a folder: those directly in it whose names end with .yaml or .yml. Any thread.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

/** Whether a path leads to a folder. */
bool role_folder_is(const char *path);

/** Whether a file of this name is a role file of its folder: hidden ones are none. */
bool role_folder_has(const char *name);

/**
 * List the role files of a folder, by name.
 * @param ret_paths owned, NULL-terminated (memory_free_list)
 */
int role_folder_list(const char *path, char ***ret_paths, struct rondo_error *err);
