// SPDX-License-Identifier: Apache-2.0
/*
 * The files that SQLite keeps beside a store that is outside of the state folder: the write-ahead
 * log, its shared index, and the place of a rollback journal. SQLite believes whatever it finds
 * there, and a sandboxed command can create files beside a store that nobody has open. So these
 * files are made together with the store and stay when it is closed, which lets sandboxes hide
 * them; and the state folder has a record of each, so that one which Rondo did not make is refused.
 * Any thread, any process.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

/**
 * Make the log and its index where they are missing, and record them.
 * @param path of a store that the user made
 * @return 0; RONDO_ERR_DENIED with what to do when a file is there that Rondo did not make
 */
int store_log_files_hold(const char *path, struct rondo_error *err);

/** The same for a store that is open and has a log: for the place of a rollback journal, too. */
int store_log_files_hold_all(const char *path, struct rondo_error *err);

/** Record the files that are there as the user's own: a person has confirmed the store. */
int store_log_files_accept(const char *path, struct rondo_error *err);

/** Whether no file is there that Rondo did not make and nobody has confirmed. */
bool store_log_files_are_own(const char *path);
