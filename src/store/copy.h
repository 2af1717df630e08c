// SPDX-License-Identifier: Apache-2.0
/*
 * Private copies of stores, in `copies` of the user's state folder, each in a folder of its own.
 * The folder is locked as long as the copy is used; those of processes that were killed are removed
 * when the next copy is made. Any thread.
 */
#pragma once

#include "rondo/error.h"

/**
 * Copy a store's file and its write-ahead log.
 * @param path     a regular file; links are not followed
 * @param ret_path of the copy, owned
 * @param ret_lock descriptor that holds the lock; store_copy_remove() closes it
 */
int store_copy_make(const char *path, char **ret_path, int *ret_lock, struct rondo_error *err);

/** Remove the copy at `path` with its folder. */
void store_copy_remove(const char *path, int lock);
