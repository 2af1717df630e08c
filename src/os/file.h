// SPDX-License-Identifier: Apache-2.0
/*
 * Whole files: bounded reading, atomic replacing, private folders. Paths are followed through
 * links, so nothing here is for files that an agent can write: see os/file_untrusted.h and
 * os/file_folder.h for those.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Append a regular file's content to `ret_buf`.
 * @param limit largest size in bytes; more is RONDO_ERR_LIMIT
 * RONDO_ERR_NOT_FOUND when there is none; RONDO_ERR_INVALID when it is not a regular file (a FIFO
 * or a device would block for ever). Any thread.
 */
int file_read(const char *path, size_t limit, struct buf *ret_buf, struct rondo_error *err);

/**
 * Replace a file as a whole: temporary file in the same folder, mode 0600, rename. A reader sees
 * the old or the new content, also after a power cut: the file and its folder are synced.
 */
int file_replace_durably(const char *path, const void *bytes, size_t len, struct rondo_error *err);

/**
 * The same with a single sync, for a file that is taken for absent when it is not whole: a power
 * cut during the call may leave an empty file, not the old one. After the call the file is on
 * disk: syncing a file that was just renamed also writes its name on ext4, XFS, Btrfs and F2FS.
 */
int file_replace_record(const char *path, const void *bytes, size_t len, struct rondo_error *err);

/** Make a folder and its parents, mode 0700 for those that are new. */
int file_make_folder(const char *path, struct rondo_error *err);

/** Append what is left to read of `fd`, up to `limit` bytes; `path` is for messages. */
int file_read_all(int fd, const char *path, size_t limit, struct buf *ret_buf,
                  struct rondo_error *err);

/** Write everything. @return 0, or -1 with errno */
int file_write_all(int fd, const void *bytes, size_t len);

/** Whether something exists at `path`. */
bool file_exists(const char *path);
