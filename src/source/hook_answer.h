// SPDX-License-Identifier: Apache-2.0
/* From an HTTP exchange to a source's `receive`, and its answer as JSON. Any thread. */
#pragma once

#include "base/buf.h"
#include "source/source.h"

struct http_exchange;

/**
 * Let a source answer a request. Headers that occur several times count as missing: two readers
 * could each believe another one.
 */
void hook_answer_exchange(struct source *source, struct http_exchange *exchange);

/** Append {"status": ..., "run_id": ...} or {"error": ...}. */
void hook_answer_write(const struct source_answer *answer, struct buf *ret_json);
