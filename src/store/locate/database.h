// SPDX-License-Identifier: Apache-2.0
/*
 * The place on this machine that belongs to a store in a database: a folder in the user's state
 * folder, STATE/databases/HASH, for what other stores keep beside their file (hand-over files,
 * policies in use, desks). The hash is that of the address without its password, so a new password
 * changes nothing. Any thread.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

/**
 * Variables of the environment that name such a store, or have or lead to what opens it:
 * NULL-terminated. No worker gets them, because it could write into the store.
 */
extern const char *const store_database_variables[];

/** Whether a text that names a store is the address of a database. */
bool store_database_is_address(const char *text);

/** The address as people may see it, without a password. Owned. */
char *store_database_show(const char *address);

/**
 * Files that open the database of a store: the password file, the service file and the key of the
 * address, of the environment, or of the home folder. They need not exist.
 * @param store_path store_database_place()
 * @return NULL-terminated list of absolute paths, memory_free_list()
 */
char **store_database_credentials(const char *store_path);

/**
 * Find the place, made unless it exists.
 * @param address  of libpq, "postgresql://..."
 * @param ret_path of the file in it that holds the address without its password: what stands for
 *                 the path of the store wherever something is beside that. Canonical, owned
 * @return 0 or the error of the state folder; RONDO_ERR_INVALID for an address with control
 *         characters, RONDO_ERR_LIMIT for one longer than LIMIT_STORE_ADDRESS_BYTES
 */
int store_database_place(const char *address, char **ret_path, struct rondo_error *err);
