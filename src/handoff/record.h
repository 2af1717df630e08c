// SPDX-License-Identifier: Apache-2.0
/*
 * Records of handoffs as documents of the store: JSON of format 1. What is 0, empty or false is
 * left out. A record that says what no step can have made is damaged, and is never acted on.
 */
#pragma once

#include "base/buf.h"
#include "handoff/handoff.h"
#include "rondo/error.h"

/** Append a record. */
void handoff_encode(const struct handoff *handoff, struct buf *ret_json);

/**
 * Read a record.
 * @param ret_handoff left as it was on failure
 * @return 0, or RONDO_ERR_CORRUPT
 */
int handoff_decode(const char *data, size_t len, struct handoff *ret_handoff,
                   struct rondo_error *err);
