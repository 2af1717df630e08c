// SPDX-License-Identifier: Apache-2.0
/* The tasks of a PRD's run for people. */
#pragma once

#include "cli/terminal/style.h"
#include "work/history.h"

/**
 * Append the tasks with state, attempts, time, cost and commit, and why tasks failed.
 * @param now_ns for attempts that are under way
 */
void prd_table_text(const struct work_history *history, const struct style *style, size_t columns,
                    int64_t now_ns, struct buf *ret_text);

/** Append only why tasks are not done: lines that are indented by two columns. */
void prd_table_reasons(const struct work_history *history, size_t columns, struct buf *ret_text);

/** The colour of a task's state. */
enum colour prd_phase_colour(enum work_phase phase);
