// SPDX-License-Identifier: Apache-2.0
/*
 * The file of a PRD on disk. People, their tools and agents can write it, so it is read as a file
 * of others (os/file_untrusted.h): no links inside of agents' folders, no FIFO, within a limit.
 *
 * A change reads the file again, under a lock that only Rondo's processes take (in the state
 * folder, out of agents' reach), writes a new file next to it, syncs it, and exchanges the two
 * names. What was exchanged is compared with what was read: if somebody has saved the file in
 * between, it is put back and the change is made again on top of it; after a crash in between, the
 * next change does so. The version before is kept as `.NAME.bak`. A text that is not valid is never
 * replaced. Any thread.
 */
#pragma once

#include "prd/edit.h"
#include "prd/findings.h"

/**
 * Read the file of a PRD.
 * @param agent_folders as for file_read_named(); NULL = the working folder
 */
int prd_file_read(const char *const *agent_folders, const char *path, struct buf *ret_text,
                  struct rondo_error *err);

/**
 * Read a prd.json and its tasks. The message of a failure begins with the path, and names the
 * backup if there is one.
 * @param tag, ret_prd, findings as for prd_json_read()
 */
int prd_file_load(const char *const *agent_folders, const char *path, const char *tag,
                  struct prd *ret_prd, struct prd_findings *findings, struct rondo_error *err);

/**
 * Change a prd.json (prd/edit.h).
 * @return 0; RONDO_ERR_INVALID when it cannot be read any more: nothing was written, and the
 * message names the backup; RONDO_ERR_BUSY when other processes hold it for LIMIT_PRD_LOCK_NS, or
 * it is saved again and again; RONDO_ERR_IO, RONDO_ERR_FULL
 */
int prd_file_update(const char *const *agent_folders, const char *path, const char *tag,
                    const struct prd_change *changes, size_t count, int64_t time_ns,
                    enum prd_change_outcome *ret_outcomes, struct rondo_error *err);

/**
 * Put a whole text in the place of a file, in the same way: what was there is kept as `.NAME.bak`.
 * @param expected what the file must still say; NULL = there must be no file
 * @return 0; RONDO_ERR_BUSY when the file is not as expected
 */
int prd_file_replace(const char *const *agent_folders, const char *path, const struct buf *expected,
                     const struct buf *text, struct rondo_error *err);
