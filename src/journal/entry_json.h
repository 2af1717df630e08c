// SPDX-License-Identifier: Apache-2.0
/* Events as programs get them: the API, `rondo logs --json`. Pure; any thread. */
#pragma once

#include "journal/reader.h"

/**
 * Append {"run_id","seq","position","time","type","category","level","text","data"}. The data must
 * be JSON.
 */
void event_json_object(const struct journal_entry *entry, struct buf *ret_buf);

/** The same for an event as stored. */
void event_json_stored(const struct store_event *event, struct buf *ret_buf);

/** The same for an event that was read, and a line end. */
void event_json(const struct journal_entry *entry, struct buf *ret_buf);
