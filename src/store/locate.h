// SPDX-License-Identifier: Apache-2.0
/* Where the store is, when the user does not say: the same rule for the command line and the
 * library. Reads the environment and the working directory; any thread. */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

struct store;

/** Folder and file of the default store. */
#define STORE_FOLDER_NAME ".rondo"
#define STORE_FILE_NAME   "rondo.db"

/**
 * Find the store's file: `given`, else $RONDO_STORE, else .rondo/rondo.db in the nearest folder
 * that has one, from the working directory up, else in the working directory. One that belongs to
 * another user is passed over: whoever can write a store decides which commands a resume runs.
 * @param given      path or NULL
 * @param may_create whether a store may be made: then its .rondo folder is (mode 0700), with a
 *                   .gitignore that keeps it out of every commit
 * @param ret_path   absolute path, owned by the caller; the file itself need not exist
 * @return 0; RONDO_ERR_NOT_FOUND when there is none and it may not be created; or the error of the
 *         file system
 */
int store_locate(const char *given, bool may_create, char **ret_path, struct rondo_error *err);

/**
 * Locate and open.
 * @param ret_store store_close()
 * @param ret_path  as for store_locate; may be NULL
 */
int store_open_default(const char *given, bool may_create, struct store **ret_store,
                       char **ret_path, struct rondo_error *err);
