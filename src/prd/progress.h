// SPDX-License-Identifier: Apache-2.0
/*
 * The progress log (progress.txt): what was done and learned, one entry for each task, for the
 * agents that work on later tasks. Only Rondo appends, whole entries in one write. People keep a
 * section "Codebase Patterns" at its head.
 *
 *     ## Task US-003: Show the list
 *     <!-- rondo KEY -->
 *     Completed: 2026-02-06T10:00:00.000Z
 *     Commit: 0f3a...
 *
 *     ### What Changed
 *     ...
 *     ### Learnings
 *     ...
 *     ### Notes for Future Tasks
 *     ...
 *     ---
 *
 * The file and the texts of an entry are written by agents: a line of a text that looks like a
 * heading or a rule is escaped, so no text can pass for an entry. Any thread; one writer for each
 * file.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prd_progress_entry {
    const char *id;
    const char *title;
    const char *key; /**< names this entry, so that a repeated append adds nothing; NULL = none */
    const char *outcome; /**< "Completed", "Failed": the label before the time */
    int64_t ended_ns;
    const char *commit;  /**< NULL = none */
    const char *changed; /**< "" or NULL = nothing to say; so the other two */
    const char *learnings;
    const char *notes;
};

/** Append an entry as text, without the empty line before it. A text that would make it longer than
 * LIMIT_PROGRESS_ENTRY_BYTES is cut. */
void prd_progress_format(const struct prd_progress_entry *entry, struct buf *ret_text);

/**
 * Append an entry to the log, which is made (with an empty section of patterns) when there is none.
 * @param agent_folders as for file_open_output(); NULL = the working folder
 * @return 0 appended and synced; 1 an entry with this key is there already; RONDO_ERR_INVALID when
 *         something else is in the file's place, RONDO_ERR_LIMIT at LIMIT_PROGRESS_BYTES
 */
int prd_progress_append(const char *const *agent_folders, const char *path,
                        const struct prd_progress_entry *entry, struct rondo_error *err);

/**
 * Append what a prompt shows of a log: the section of patterns, at most half of the budget, then
 * the last entries that fit, oldest first. Whole entries only; when not even the last one fits, its
 * beginning.
 * @param entries at most so many
 * @param budget  bytes
 */
void prd_progress_excerpt(const char *text, size_t len, size_t entries, size_t budget,
                          struct buf *ret_text);

/** The same of a file; nothing when there is none. */
int prd_progress_read(const char *const *agent_folders, const char *path, size_t entries,
                      size_t budget, struct buf *ret_text, struct rondo_error *err);
