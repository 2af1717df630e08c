// SPDX-License-Identifier: Apache-2.0
/*
 * The end of the words that are streaming in, on its way from the loop's thread to the display's.
 * Bounded. Any thread.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/** Bytes that are kept. */
#define AGENT_TAIL_BYTES 4096

struct agent_tail;

struct agent_tail *agent_tail_new(void);
void agent_tail_free(struct agent_tail *tail);
void agent_tail_add(struct agent_tail *tail, const char *text, size_t len);
void agent_tail_clear(struct agent_tail *tail);
/** Append the latest bytes, raw, beginning with a whole character. */
void agent_tail_copy(struct agent_tail *tail, struct buf *ret_buf);
