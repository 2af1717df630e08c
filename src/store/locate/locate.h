// SPDX-License-Identifier: Apache-2.0
/* Where the store is, when the user does not say: the same rule for the command line and the
 * library. Reads the environment and the working directory; any thread. */
#pragma once

#include "rondo/error.h"
#include "store/place.h"

#include <stdbool.h>

struct store;

/**
 * Find the store's file: `given`, else $RONDO_STORE, else that of the project: from the working
 * directory up, the first folder that has one in the user's state folder (os/state_folder.h) or,
 * from Rondo 0.1, in `.rondo/rondo.db`; else, when one may be made, in the state folder for the
 * working directory. What belongs to another user is skipped: a store decides which
 * commands a resume runs. For the address of a database it is a file in a folder of this machine
 * (store/locate/database.h). RONDO_ERR_INVALID for another URL; RONDO_ERR_DENIED when `.rondo` or
 * the file in it is a link or no regular file.
 * @param given      path, address or NULL
 * @param may_create whether a store may be made: then the project's folder is (mode 0700)
 * @param ret_path   absolute path, owned by the caller; the file itself need not exist
 * @return 0; RONDO_ERR_NOT_FOUND when there is none and it may not be created; or the error of the
 *         file system
 */
int store_locate(const char *given, bool may_create, char **ret_path, struct rondo_error *err);

/** What a store is opened for. */
enum store_access {
    STORE_WRITING = 0,
    STORE_CREATING,  /**< to write; it is made where there is none */
    STORE_MIGRATING, /**< to write, after an older schema of a database was brought up to date;
                          that of a file is by every opening */
    STORE_READING,   /**< nothing is written; a store that is not the user's own may be read too */
    STORE_COPYING,   /**< as STORE_CREATING, and it may be a copy that is not finished */
};

/**
 * Locate and open. To write, the store must be the user's own (store/locate/origin.h), else this is
 * RONDO_ERR_DENIED; to read, a private copy is opened then, and changes of it are lost. A copy of
 * another store that is not finished is RONDO_ERR_STATE (store/transfer/mark.h).
 * @param ret_store store_close()
 * @param ret_path  as for store_locate; may be NULL
 */
int store_open_default(const char *given, enum store_access access, struct store **ret_store,
                       char **ret_path, struct rondo_error *err);
