// SPDX-License-Identifier: Apache-2.0
/*
 * Showing a run while it is executed: a thread that reads the run's committed events and writes
 * them as NDJSON, as plain lines, or as a live area on a terminal. It never shows what was not
 * committed, but for the last line of the worker's output, and it never delays the loop.
 */
#pragma once

#include "loop/spec.h"
#include "store/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct display;
struct run_state;

struct display_options {
    struct writer *writer;
    const char *run_id;
    uint64_t after;                /**< last event that is not to be shown */
    const struct run_state *state; /**< as of `after`; NULL = the run begins */
    const struct loop_spec *spec;  /**< must outlive the display */
    const char *header;            /**< whole lines above everything */
    bool wants_json;               /**< events to stdout */
    bool wants_progress;           /**< people's form to stderr */
    bool no_colour;
};

/** @return never NULL; display_finish(). */
struct display *display_start(const struct display_options *options);

/** The worker's output that follows belongs to this iteration. Any thread. */
void display_iteration(struct display *display, uint64_t iteration);

/** Live output of the worker, or words of the agent that are streaming in. Any thread; cheap. */
void display_output(void *display, const char *bytes, size_t len);

/**
 * Leave the terminal to a question, and take it back. Returns when the live area
 * is gone. Any thread, but one at a time. NULL is allowed.
 */
void display_pause(struct display *display);
void display_resume(struct display *display);

/** Report whether the store fails at present. Any thread. */
void display_store_failing(struct display *display, bool is_failing);

/** Show what was committed up to now, put the terminal in order, release. */
void display_finish(struct display *display);
