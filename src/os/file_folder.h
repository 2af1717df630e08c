// SPDX-License-Identifier: Apache-2.0
/*
 * Making, writing and removing below a folder that is held open, whatever an agent has put there:
 * links are removed and never followed, folders are removed however deep they are. Names are single
 * names, without a slash. Any thread.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Open a folder in another one; it is made, mode 0700, when there is nothing of that name. Anything
 * but a folder of this user is refused.
 * @return descriptor, or a negative code
 */
int file_folder_make(int folder_fd, const char *name, struct rondo_error *err);

/**
 * Make a folder by its absolute path, with its parents. What lies in `agent_folder` is reached
 * without links; what lies elsewhere, or all of it when that is NULL, by file_make_folder.
 */
int file_folder_make_path(const char *agent_folder, const char *path, struct rondo_error *err);

/**
 * Make a private folder for temporary files, in $TMPDIR when that is an absolute path, else in
 * /tmp.
 * @param ret_path its path; owned
 * @return descriptor, or a negative code
 */
int file_folder_make_temporary(char **ret_path, struct rondo_error *err);

/** Write a new file, mode 0600, in place of whatever has this name. Not synced. */
int file_folder_write(int folder_fd, const char *name, const void *bytes, size_t len,
                      struct rondo_error *err);

/**
 * Remove whatever has this name, a folder with everything in it. Missing is fine.
 * @param folder_fd or AT_FDCWD, with a path in place of the name
 */
int file_folder_remove(int folder_fd, const char *name, struct rondo_error *err);

/**
 * Remove a folder with everything in it, however deep, never following symbolic links inside.
 * Missing is fine.
 */
int file_remove_tree(const char *path, struct rondo_error *err);

/** Remove everything in a folder. */
int file_folder_clear(int folder_fd, struct rondo_error *err);

/** Whether `name` in a folder is the folder `fd` itself, and not something put in its place. */
bool file_folder_is_at(int fd, int folder_fd, const char *name);
