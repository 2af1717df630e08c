// SPDX-License-Identifier: Apache-2.0
/*
 * What the progress display knows about a run: the fold of its committed events, and what the fold
 * leaves out but the display needs (durations, exit codes). One thread.
 */
#pragma once

#include "cli/terminal/style.h"
#include "journal/reader.h"
#include "journal/state.h"
#include "loop/spec.h"

/** One condition, in the order of the spec. */
struct view_condition {
    const char *name;  /**< borrowed from the spec */
    bool is_evaluated; /**< in the round that is running or ended last */
    bool is_met;
    int64_t duration_ns;
    char reason[128]; /**< why not met, "" when met */
};

struct view {
    struct run_state state;
    int64_t limit_tokens; /**< 0 = none */
    int64_t limit_cost_micro;
    int64_t body_started_ns;   /**< time of iteration.started */
    int64_t verify_started_ns; /**< time of verification.started */
    uint32_t condition_count;
    struct view_condition conditions[LIMIT_CONDITIONS];

    bool has_finished; /**< an iteration ended whose line was not taken yet */
    int64_t finished_iteration;
    int64_t finished_duration_ns;
    bool is_finished_ok;
    char finished_outcome[16];
    char finished_message[256];
};

/** @param spec must outlive the view */
void view_init(struct view *view, const struct loop_spec *spec);

/** Take one committed event. */
void view_apply(struct view *view, const struct journal_entry *entry);

/**
 * Whether the line of an iteration is complete once `entry` has been applied: its conditions are
 * evaluated, or they will not be.
 */
bool view_line_is_due(const struct view *view, const struct journal_entry *entry);

/** Append the line of the iteration that ended last, and forget it. */
void view_take_line(struct view *view, const struct style *style, struct buf *ret_buf);

/** What else the frame shows, besides the view. */
struct frame_info {
    const struct style *style;
    size_t columns;
    size_t rows;
    unsigned tick;
    int64_t now_ns;
    const char *worker_line; /**< last line of the worker's output, raw; "" when there is none */
    size_t worker_line_len;
    bool is_stopping;
    bool is_store_failing;
    const char *lines;    /**< above the activity, each with a line end; NULL = none */
    const char *activity; /**< the current activity; NULL = a worker runs */
    const char *head;     /**< in place of the iteration; NULL = the iteration */
    uint64_t head_done;   /**< with `head`: how much of head_total is done */
    uint64_t head_total;
};

/** Lines of a frame besides those of `lines`. */
size_t view_frame_rows(const struct view *view, const struct frame_info *info);

/** Append the live area: lines that fit the columns, each with a line end. */
void view_frame(const struct view *view, const struct frame_info *info, struct buf *ret_buf);
