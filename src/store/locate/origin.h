// SPDX-License-Identifier: Apache-2.0
/*
 * Whether this user made a store on this machine. Resuming a run executes the commands in its
 * journal, so a store that came with a cloned or copied project must not be written, and its runs
 * must not be resumed, until the user has confirmed it (os/trust.h, kind "store").
 *
 * A store in the user's state folder was made here: nobody else can put one there. Another one is
 * recorded when it is made, by its path and its identity: inode and time of birth, which a copy, a
 * clone and an archive cannot bring along. A store of Rondo 0.1 has no record. It counts as made
 * here when owner and modes are those that Rondo gives, its journal names this boot of this
 * machine, and the file is as old as its first run; it is recorded then. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>

struct store;

/**
 * Look where a store comes from.
 * @param path canonical
 * @param ret_is_own whether this user made it here, or has confirmed it
 */
int store_origin_look(const char *path, bool *ret_is_own, struct rondo_error *err);

/** Record a store that was made just now. Nothing happens for one in the state folder. */
int store_origin_record(const char *path, struct rondo_error *err);

/** Refuse a store that is not the user's own: RONDO_ERR_DENIED with what to type. */
int store_origin_refuse(const char *path, struct rondo_error *err);

/** Append what a confirmation of a store is about: the file's identity. */
int store_origin_identity(const char *path, struct buf *ret_bytes, struct rondo_error *err);

/**
 * Open a private copy of a store, to read it without touching anything around it: no log is
 * recovered and no schema brought up to date in a file that is not the user's own. The copy is
 * removed when the store is closed.
 * @param path of a regular file, which is not followed if it is a link
 */
int store_origin_open_copy(const char *path, struct store **ret_store, struct rondo_error *err);
