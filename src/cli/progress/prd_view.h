// SPDX-License-Identifier: Apache-2.0
/*
 * How the run of a PRD is shown on a terminal: a line for each attempt that has ended, and below
 * them the attempts under way and what is left. All from committed events. Works beside struct
 * view. One thread.
 */
#pragma once

#include "cli/progress/view.h"
#include "work/history.h"

/** Zeroed = nothing to show yet. prd_view_fini(). */
struct prd_view {
    struct work_history history;
    struct buf latest; /**< what happened last in an attempt, cleaned */
};

void prd_view_fini(struct prd_view *prd);

/** Take events of a run that is resumed, which are not shown again. */
void prd_view_load(struct prd_view *prd, struct store *store, const char *run_id, uint64_t until);

/**
 * Take an event, and append what it leaves on the screen for good.
 * @return false when the event is none of tasks: others may show it
 */
bool prd_view_apply(struct prd_view *prd, const struct journal_entry *entry,
                    const struct style *style, size_t columns, struct buf *ret_buf);

/**
 * Append the lines of attempts under way.
 * @param rows lines that there is room for
 */
void prd_view_lines(const struct prd_view *prd, const struct frame_info *info, size_t rows,
                    struct buf *ret_lines);

/** Append what happened last. */
void prd_view_activity(const struct prd_view *prd, const struct frame_info *info,
                       struct buf *ret_text);

/** Append "2 of 6 tasks, 1 failed, 1 blocked". */
void prd_view_head(const struct prd_view *prd, uint64_t *ret_done, uint64_t *ret_total,
                   struct buf *ret_text);
