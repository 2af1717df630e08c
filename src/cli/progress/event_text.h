// SPDX-License-Identifier: Apache-2.0
/* Events as people read them. Pure; any thread. */
#pragma once

#include "cli/terminal/style.h"
#include "journal/entry_json.h"

/** Append one line about an event, without line end, safe for terminals. */
void event_text(const struct journal_entry *entry, const struct style *style, struct buf *ret_buf);

/** Whether an event is a warning that must not be overlooked. */
bool event_is_warning(const struct journal_entry *entry);

/** Append an output indented by four columns, each line safe for terminals. */
void event_output(const char *output, size_t len, struct buf *ret_buf);
