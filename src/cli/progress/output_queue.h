// SPDX-License-Identifier: Apache-2.0
/*
 * The worker's output on its way from the loop's thread to the display's: whole lines, each with
 * its iteration, so that they are shown between the events they belong to. Bounded: what comes
 * faster than it can be shown is left out and counted. Any thread.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct output_queue;

struct output_queue *output_queue_new(void);
void output_queue_free(struct output_queue *queue);

/** The output that follows belongs to this iteration; ends a line that was begun. */
void output_queue_begin(struct output_queue *queue, uint64_t iteration);

/** Take output in any pieces. */
void output_queue_add(struct output_queue *queue, const char *bytes, size_t len);

/** Append the waiting lines of iterations up to `iteration`, indented and safe for terminals. */
void output_queue_take(struct output_queue *queue, uint64_t iteration, struct buf *ret_buf);

/** Copy the beginning of the latest line that is not empty. @return its length */
size_t output_queue_last(struct output_queue *queue, char *ret_line, size_t size);
