// SPDX-License-Identifier: Apache-2.0
/* Events on terminals: their sentences (journal/describe.h) in colours. Pure; any thread. */
#pragma once

#include "cli/terminal/style.h"
#include "journal/describe.h"

/** The colour that a level has where an event is a line of its own. */
enum colour event_colour(enum event_level level);

/**
 * Append one line about an event, without line end, safe for terminals and in the colour of its
 * level. It begins with "warning: " when the event is one.
 */
void event_line(const struct journal_entry *entry, const struct style *style, struct buf *ret_buf);

/** Append an output indented by four columns, each line safe for terminals. */
void event_output(const char *output, size_t len, struct buf *ret_buf);
