// SPDX-License-Identifier: Apache-2.0
/* What a store's path says: the names of its file and folders, and which rules apply to it. Pure
 * but for the environment, which names the user's state folder; any thread. */
#pragma once

#include <stdbool.h>

/** Name of the store's file in a project's folder. */
#define STORE_FILE_NAME "rondo.db"
/** What is in the place of that file for a store in a database (store/locate/database.h). */
#define STORE_ADDRESS_NAME "address"
/** Folder in a project that Rondo 0.1 kept the store in. */
#define STORE_OLD_FOLDER_NAME ".rondo"

/** Folder of the hand-over files of a store's workers, beside it. Owned. */
char *store_work_folder(const char *store_path);

/** Whether a store's files are in the user's state folder: it is that of a project there, or in a
 * database. @param store_path canonical */
bool store_is_in_state(const char *store_path);

/** Whether a store is in a database. @param store_path canonical; NULL = no */
bool store_is_in_database(const char *store_path);

/**
 * What people call a store: the path of its file, or the address of its database without a
 * password. Reads a file for the latter.
 * @return owned; NULL for NULL
 */
char *store_name_of(const char *store_path);

/** Whether a store is in a folder `.rondo`, as those of Rondo 0.1 are. */
bool store_is_in_old_folder(const char *store_path);
