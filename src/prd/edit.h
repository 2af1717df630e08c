// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of the text of a prd.json. The text is changed at the places of the values, never printed
 * anew: unknown members, order, indentation, line ends, the byte order mark and the spelling of
 * numbers stay as they are, byte for byte. Only members of the dialect that the file is in are
 * written, so that the tool which it belongs to still accepts it:
 *
 *     arete        status, passes, attemptCount, notes, commitSha; counts and times in an existing
 *                  `metadata`
 *     ralph, ralph-tui   passes, notes
 *     stories      status, startedAt, completedAt
 *     task-master  status, those of steps of a task that is done included
 *     list         status, passes, attemptCount, notes and commitSha, as far as a task of the list
 * has them (passes when none has either)
 *
 * A dialect without a word for a failed task says that it is not done. Changes name tasks by id,
 * and what a person has changed since is known by comparing with `was`. Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "prd/prd.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prd_change {
    const char *id;
    enum prd_status status;
    bool has_status;     /**< whether to write `status` */
    enum prd_status was; /**< what the caller has last seen in the file */
    bool has_was; /**< leave the status as it is if the file says neither `was` nor `status` now */
    int64_t attempts;   /**< negative = leave */
    const char *notes;  /**< NULL = leave */
    const char *commit; /**< NULL = leave */
};

enum prd_change_outcome {
    PRD_CHANGE_SAME,    /**< the file says so already, or its dialect cannot say it */
    PRD_CHANGE_WRITTEN, /**< something was written */
    PRD_CHANGE_KEPT,    /**< a person has set another status meanwhile; it stays */
    PRD_CHANGE_GONE,    /**< no such task any more */
};

/**
 * Apply changes to a text.
 * @param tag  as for prd_json_read()
 * @param changes at most one for each task
 * @param time_ns what is written where the dialect has times
 * @param ret_text appended; the same bytes when nothing had to be changed
 * @param ret_outcomes one for each change; may be NULL
 * @return 0, or as prd_document_open(); then nothing is appended
 */
int prd_edit(const char *text, size_t len, const char *tag, const struct prd_change *changes,
             size_t count, int64_t time_ns, struct buf *ret_text,
             enum prd_change_outcome *ret_outcomes, struct rondo_error *err);
