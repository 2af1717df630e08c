// SPDX-License-Identifier: Apache-2.0
/*
 * The live area at the end of a terminal's output: a frame of lines that the next one replaces,
 * with permanent lines above. Each update is one write. One thread.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdio.h>

struct terminal {
    FILE *stream;
    struct buf frame;  /**< what is on the screen */
    struct buf recent; /**< the latest permanent lines, to draw the screen anew */
};

/**
 * Replace the frame.
 * @param permanent whole lines to leave above it; may be empty
 * @param frame     lines, each with a line end; empty removes the live area and shows the cursor
 */
void terminal_update(struct terminal *terminal, const struct buf *permanent,
                     const struct buf *frame);

void terminal_fini(struct terminal *terminal);

/** Sequence that makes the cursor visible and ends colours; for signal handlers. */
#define TERMINAL_RESTORE "\033[?25h\033[0m"
