// SPDX-License-Identifier: Apache-2.0
/* What the files of event_text.h share. Pure. */
#pragma once

#include "cli/progress/event_text.h"

/** An event on its way into a line. */
struct telling {
    const struct journal_event *event;
    const struct style *style;
    struct buf *out;
};

/** Append words of others, made safe, behind a separator; nothing when there are none. */
void telling_add_words(const struct telling *telling, const char *before, const char *words);

/** The same, at most `columns` wide. */
void telling_add_cut(const struct telling *telling, const char *before, const char *words,
                     size_t columns);

/* Steps of agents. */
void tell_model_requested(const struct telling *telling);
void tell_model_retrying(const struct telling *telling);
void tell_model_replied(const struct telling *telling);
void tell_tool_requested(const struct telling *telling);
void tell_tool_finished(const struct telling *telling);
void tell_person_answered(const struct telling *telling);
void tell_time_skipped(const struct telling *telling);
void tell_plan_updated(const struct telling *telling);
void tell_history_trimmed(const struct telling *telling);

/** Append the outcome of a tool call and its time: "ok (12ms)". */
void tell_tool_outcome(const struct telling *telling);
