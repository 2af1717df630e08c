// SPDX-License-Identifier: Apache-2.0
/* Events as people and programs read them. Pure; any thread. */
#pragma once

#include "cli/style.h"
#include "journal/reader.h"

/** Append one line about an event, without line end, safe for terminals. */
void event_text(const struct journal_entry *entry, const struct style *style, struct buf *ret_buf);

/** Whether an event is a warning that must not be overlooked. */
bool event_is_warning(const struct journal_entry *entry);

/** Append {"run_id","seq","time","type","data"} and a line end. */
void event_json(const struct journal_entry *entry, struct buf *ret_buf);

/** Append why a condition is not met: "exit code 2", "timed out", ... */
void event_reason(const struct journal_event *event, struct buf *ret_buf);

/** Append an output indented by four columns, each line safe for terminals. */
void event_output(const char *output, size_t len, struct buf *ret_buf);
