// SPDX-License-Identifier: Apache-2.0
/*
 * Showing a person one value that is hidden from people (handoff/view/redact.h). Who has seen what
 * is in the audit chain before the value is shown. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "handoff/storage/store.h"
#include "handoff/view/redact.h"

/** Kind of the entry in the audit chain. */
#define HANDOFF_REVEALED "handoff.revealed"

struct reveal_request {
    const char *request_id;
    const char *pointer; /**< into what the agent has sent: one value */
    const char *by;      /**< "user:ann", who was verified, and may decide about the request */
    const char *role;    /**< for the record; NULL = none */
};

/**
 * @param ret_json the value is appended, when it is REDACT_REVEALED and the entry is durable
 * @return 0 with what became of it; RONDO_ERR_NOT_FOUND; why the entry could not be written
 */
int handoff_reveal(const struct handoff_store *handoffs, const struct redact_view *view,
                   const struct reveal_request *request, int64_t now_ns,
                   enum redact_verdict *ret_verdict, struct buf *ret_json, struct rondo_error *err);
