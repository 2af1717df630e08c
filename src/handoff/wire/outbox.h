// SPDX-License-Identifier: Apache-2.0
/*
 * The outbox of an agent: decisions and notices, delivered at least once and in order. A process
 * pulls what comes after the last acknowledged message, and holds the outbox for a while; nobody
 * else gets anything meanwhile. What is not acknowledged in time is delivered again, under the same
 * decision_id. Documents: `handoff-outbox` (written with the decision itself), `outbox-cursor` by
 * agent, `delivery-dead-letter` by agent and number.
 */
#pragma once

#include "handoff/storage/store.h"

#define DELIVERY_LETTER_COLLECTION "delivery-dead-letter"

/** Messages that one pull gives. */
#define OUTBOX_MOST_MESSAGES 100
/** Refusals of one message; then it is a dead letter. */
#define OUTBOX_MOST_FAILURES 5
/** How long a process holds the outbox after a pull. */
#define OUTBOX_LEASE_NS INT64_C(30000000000)

enum outbox_outcome {
    OUTBOX_DONE = 0,
    OUTBOX_HELD,      /**< another process holds it */
    OUTBOX_NOT_YOURS, /**< another process got the message */
    OUTBOX_UNKNOWN,   /**< the message was not delivered yet */
};

/** A process of an agent, at a time. */
struct outbox_consumer {
    const char *agent_id;
    const char *name;
    int64_t now_ns;
};

/**
 * Append a JSON array of messages: {seq, kind, request_id, ..., decision}.
 * @param limit at most OUTBOX_MOST_MESSAGES
 * @param ret_lease_ns until when it is held, also by the other one; 0 = there is nothing
 */
int outbox_pull(const struct handoff_store *handoffs, const struct outbox_consumer *consumer,
                size_t limit, struct buf *ret_json, enum outbox_outcome *ret_outcome,
                int64_t *ret_lease_ns, struct rondo_error *err);

/** All messages up to a number were processed. */
int outbox_acknowledge(const struct handoff_store *handoffs, const struct outbox_consumer *consumer,
                       uint64_t seq, enum outbox_outcome *ret_outcome, struct rondo_error *err);

/**
 * A message could not be processed: it is delivered again at once, and becomes a dead letter at the
 * OUTBOX_MOST_FAILURES-th time.
 * @param reason for people; or NULL
 */
int outbox_refuse(const struct handoff_store *handoffs, const struct outbox_consumer *consumer,
                  uint64_t seq, const char *reason, enum outbox_outcome *ret_outcome,
                  struct rondo_error *err);

/** Deliver a dead letter again. @param key of its document @return RONDO_ERR_NOT_FOUND */
int outbox_replay(const struct handoff_store *handoffs, const char *key, struct rondo_error *err);
