// SPDX-License-Identifier: Apache-2.0
/* The result of a run for people, from committed data only. */
#pragma once

#include "cli/framework/session.h"
#include "cli/terminal/style.h"
#include "loop/summary.h"

/** Append the summary that follows an execution. */
void summary_text(const struct summary *summary, const struct session *session,
                  const struct style *style, size_t columns, bool is_quiet, struct buf *ret_buf);

/** Its parts, for `show`: how it ended; checkpoint, use and what to type next. */
struct fields;
void summary_text_head(const struct summary *summary, struct fields *fields);
void summary_text_tail(const struct summary *summary, const struct session *session, bool is_show,
                       struct fields *fields);

/** Append the line of one condition, without line end. @param name_columns width of the names */
void summary_condition_text(const struct summary_condition *condition, const struct style *style,
                            size_t name_columns, struct buf *ret_buf);
