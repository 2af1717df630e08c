// SPDX-License-Identifier: Apache-2.0
/*
 * Reading files that an agent can write: the only way in which code outside the sandbox does so.
 *
 * What is opened lies below a folder that the caller holds open. No symbolic link is followed, not
 * even in the middle; "..", absolute paths and links of /proc lead nowhere. Only a regular file
 * counts, of this user, of root or of the folder's owner, with one name (a hard link may be
 * somebody's secret) and within a limit. A FIFO or a device is refused without waiting.
 *
 * Every refusal is RONDO_ERR_INVALID (RONDO_ERR_LIMIT for the size) with a message that begins with
 * the path and says what is in its place; RONDO_ERR_NOT_FOUND means that there is nothing. Any
 * thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Open a folder that is reached as the user named it, by links of the user's own.
 * @return descriptor, or a negative code
 */
int file_open_folder(const char *path, struct rondo_error *err);

/**
 * The same where agents may have made a part of the path: links inside of `agent_folders` are
 * refused, as for file_read_named().
 */
int file_open_folder_named(const char *const *agent_folders, const char *path,
                           struct rondo_error *err);

/**
 * openat(2) below a folder: relative paths without "..", no symbolic links, close-on-exec.
 * What is made gets mode 0600.
 * @return descriptor, or -1 with errno: ELOOP = a symbolic link, EXDEV = leads out of the folder
 */
int file_open_beneath(int folder_fd, const char *relative, int flags);

/** The same by opening one folder after the other, for kernels and filters without openat2(2). */
int file_open_beneath_by_steps(int folder_fd, const char *relative, int flags);

/**
 * The first part of a path below a folder that is a symbolic link, to say why an open failed.
 * @return owned; NULL when there is none any more
 */
char *file_find_link(int folder_fd, const char *relative);

/** Append its content to `ret_buf`. One that changes while it is read is refused. */
int file_read_untrusted(int folder_fd, const char *relative, size_t limit, struct buf *ret_buf,
                        struct rondo_error *err);

/**
 * Read a file that a person named (an option, a member of a role file). Links that lie outside of
 * `agent_folders` are the person's own and are followed; a link inside one of them is refused, and
 * a file inside must be as file_read_untrusted wants it. A file elsewhere must be a regular one.
 * @param agent_folders folders that agents can write, NULL-terminated; NULL = the working folder
 * @param path relative to the working folder, or absolute
 */
int file_read_named(const char *const *agent_folders, const char *path, size_t limit,
                    struct buf *ret_buf, struct rondo_error *err);

/**
 * Open a file for appending that a person named as an output, under the same rules; it is made,
 * mode 0600, when there is none. Outside of `agent_folders` it may be a device or a FIFO.
 * @param is_emptied whether a regular file loses what is in it
 * @return descriptor, or a negative code
 */
int file_open_output(const char *const *agent_folders, const char *path, bool is_emptied,
                     struct rondo_error *err);
