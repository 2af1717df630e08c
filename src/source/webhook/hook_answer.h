// SPDX-License-Identifier: Apache-2.0
/* From an HTTP exchange to a source's `receive`, and its answer as JSON. Any thread. */
#pragma once

#include "base/buf.h"
#include "source/source.h"

struct http_exchange;

/**
 * A request as a source gets it; valid until it is answered. Headers that occur several times count
 * as missing: two readers could each believe another one.
 */
struct source_delivery hook_delivery(struct http_exchange *exchange);

/** Send a source's answer: {"status": "accepted", "run_id": ...} or {"error": ...}. */
void hook_answer_send(struct http_exchange *exchange, const struct source_answer *answer);

/** Append that body alone. */
void hook_answer_write(const struct source_answer *answer, struct buf *ret_json);
