// SPDX-License-Identifier: Apache-2.0
/*
 * How an agent's run is shown: on a terminal panels with its words, a line for each tool, the plan
 * as a checklist and what it is doing now; elsewhere plain lines. All from committed events, but
 * for the end of the words that are streaming in. Works beside struct view, which has the counts
 * and conditions. One thread, but for agent_view_text().
 */
#pragma once

#include "cli/progress/agent_view_tail.h"
#include "cli/progress/view.h"

/** Calls under way that are remembered; more are only counted by their results. */
#define AGENT_VIEW_CALLS 16
/** Steps of the plan that are remembered. */
#define AGENT_VIEW_STEPS 200

enum agent_view_activity {
    AGENT_VIEW_WAITS = 0,
    AGENT_VIEW_THINKS,
    AGENT_VIEW_CALLS_TOOLS,
    AGENT_VIEW_VERIFIES,
};

struct agent_view_call {
    int64_t turn;
    int64_t index;
    int64_t started_ns;
    struct buf name; /**< cleaned and cut, as the next one */
    struct buf arguments;
};

struct agent_view_step {
    char *text; /**< owned, cleaned */
    char mark;  /**< 'x' done, '>' in progress, '!' failed, '-' skipped, ' ' pending */
};

/** Zeroed = nothing to show yet. agent_view_fini(). */
struct agent_view {
    bool is_numbered; /**< titles name the iteration: an autonomous run */
    struct agent_tail *tail;

    int64_t tokens_in; /**< of the iteration, as the next ones */
    int64_t tokens_out;
    int64_t tokens_cached;
    int64_t cost_micro;
    bool is_cost_unknown;
    struct buf words; /**< of the latest reply, not shown yet */

    enum agent_view_activity activity;
    int64_t since_ns; /**< the activity's begin */
    int64_t retry_ns; /**< when the next attempt is due */
    struct buf retry; /**< why the last one failed, "" = it did not */
    struct agent_view_call calls[AGENT_VIEW_CALLS];
    size_t call_count;
    struct agent_view_step *steps;
    size_t step_count;
};

/** Whether a run is one of an agent. */
bool agent_view_is_for(const struct loop_spec *spec);
/** Whether it is an autonomous one. */
bool agent_view_is_autonomous(const struct loop_spec *spec);

void agent_view_init(struct agent_view *agent, const struct loop_spec *spec);
void agent_view_fini(struct agent_view *agent);

/** A piece of the words that are streaming in. Any thread; cheap. */
void agent_view_text(struct agent_view *agent, const char *text, size_t len);

/** Append the lines above everything: the agent, and its limits. */
void agent_view_header(const struct loop_spec *spec, const struct style *style,
                       struct buf *ret_buf);

/**
 * Take an event that `view` has applied already, and append what it leaves on the screen for good.
 * @return false when the event is none of an agent's: others may show it
 */
bool agent_view_apply(struct agent_view *agent, const struct view *view,
                      const struct journal_entry *entry, const struct style *style, size_t columns,
                      struct buf *ret_buf);

/** Append what an event leaves where there is no terminal: whole lines, "" for some. */
void agent_view_plain(const struct agent_view *agent, const struct journal_entry *entry,
                      const struct style *style, struct buf *ret_buf);

/**
 * Append the agent's lines of the live area, and what it is doing.
 * @param rows lines that there is room for
 */
void agent_view_lines(const struct agent_view *agent, const struct frame_info *info, size_t rows,
                      struct buf *ret_lines);
void agent_view_activity(const struct agent_view *agent, const struct view *view,
                         const struct frame_info *info, struct buf *ret_text);

/** Append "iteration 2/10" of the present iteration. */
void agent_view_place(const struct view *view, struct buf *ret_buf);

/** Append the checklist, each line with a line end. @param rows at most; the present step is shown
 */
void agent_view_plan(const struct agent_view *agent, const struct style *style, size_t columns,
                     size_t rows, struct buf *ret_buf);

/** Append the panel (where there is no terminal: the lines) that ends a run. */
struct summary;
void agent_view_summary(const struct summary *summary, const struct style *style, size_t columns,
                        struct buf *ret_buf);
