// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that wait for the decision about a handoff (long polls). A waiting one costs its
 * connection and its call, and no thread: one thread reads what has changed in the audit chain of
 * the store, by whichever process, and answers those whose time has come. The same thread writes
 * the evaluations that wait in memory.
 */
#pragma once

#include "handoff/wire/evaluation.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct waiters;

/** Longest wait of one request. */
#define WAITERS_MOST_NS INT64_C(60000000000)

/** @param store borrowed, as is `evaluations` @param ret_waiters waiters_stop() */
int waiters_start(struct store *store, struct evaluation_log *evaluations,
                  struct waiters **ret_waiters, struct rondo_error *err);

/** A request that waits. */
struct waiter_ops {
    /** Make the answer again. @return whether to continue to wait. On the thread of the waiters. */
    bool (*ask_again)(void *context);
    /** Leave the exchange unanswered for now. Under a lock. */
    void (*park)(void *context);
    /** Send the answer, and release. On the thread of the waiters. */
    void (*finish)(void *context);
};

/**
 * Let a request wait. Its answer is made again when something happened to the handoff, and when its
 * time is over.
 * @param request_id of the handoff
 * @param until_ns on the monotonic clock
 * @return false: there are too many, or the server stops; the caller sends the answer that it has
 */
bool waiters_add(struct waiters *waiters, const char *request_id, int64_t until_ns,
                 const struct waiter_ops *ops, void *context);

/** Look at once whether something happened: it did, in this process. Quick. */
void waiters_wake(struct waiters *waiters);

/** Answer all that wait; from then on none is added. NULL is allowed, as below. */
void waiters_drain(struct waiters *waiters);
/** End the thread and release. All were answered. */
void waiters_stop(struct waiters *waiters);
