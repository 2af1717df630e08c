// SPDX-License-Identifier: Apache-2.0
/*
 * The group-committing writer. Any number of loop threads hand in batches and block until theirs is
 * durable. A thread that finds no commit under way leads: it commits everything that waits as
 * one transaction, wakes each owner by its own semaphore, and passes the lead on. A single loop
 * thus commits on its own thread without any hand-over, and a hundred loops share one fsync.
 *
 * It also wakes in-process readers when something was committed (writer_wait).
 */
#pragma once

#include "store/store.h"

struct writer;
struct cancel;

/** @param store must outlive the writer. @return never NULL; writer_free(). */
struct writer *writer_new(struct store *store);

/** Nobody commits or waits any more. NULL is allowed. */
void writer_free(struct writer *writer);

/** The store that the writer writes to. */
struct store *writer_store(struct writer *writer);

/**
 * Commit one batch; blocks until it is durable or refused. Any thread.
 * @return 0 with `ret_result`, or the store's error: then it is unknown whether the batch was
 *         applied, and handing the same batch in again is safe.
 */
int writer_commit(struct writer *writer, const struct store_batch *batch,
                  struct store_commit_result *ret_result, struct rondo_error *err);

/**
 * Wait until something after `after` (a position) may have been committed, by this process or
 * another one, until `timeout_ns` has passed, `cancel` (may be NULL) is set, or writer_ring is
 * called.
 * @return whether it is worth reading. Any thread.
 */
bool writer_wait(struct writer *writer, uint64_t after, int64_t timeout_ns, struct cancel *cancel);

/** End every writer_wait that has begun. Any thread. */
void writer_ring(struct writer *writer);

/** How often writer_ring was called. Any thread. */
uint64_t writer_rings(struct writer *writer);

/*
 * Quiet: no process has written to the store for a while, and the next one to do so will be
 * noticed (store/quiet.h). Then nobody has to look for changes. A writer is not quiet until it is
 * told so.
 */

/** Set by what watches the store. The end of quiet is a writer_ring, and listeners are called. */
void writer_set_quiet(struct writer *writer, bool is_quiet);

bool writer_is_quiet(struct writer *writer);

/** How long to wait before looking for changes: `pace_ns`, or 60 s when the writer is quiet. */
int64_t writer_pace(struct writer *writer, int64_t pace_ns);

/** Who waits in another way and must be told when quiet ends. */
struct writer_listener {
    void (*call)(void *context); /**< from the watching thread; may take locks, must not block */
    void *context;
    struct writer_listener *prev, *next; /**< the writer's */
};

/** @param listener the caller's, until writer_unlisten. Any thread, without locks of the callback.
 */
void writer_listen(struct writer *writer, struct writer_listener *listener);

/** It is not called any more when this returns. */
void writer_unlisten(struct writer *writer, struct writer_listener *listener);

/** Transactions and batches committed so far, for figures. */
struct writer_counters {
    uint64_t transactions;
    uint64_t batches;
    uint64_t events;
    uint64_t waiting; /**< batches that wait now */
};
struct writer_counters writer_counters(struct writer *writer);

/** Called with the time that a transaction took, by the thread that made it, without any lock. */
typedef void writer_observe_fn(void *context, int64_t duration_ns);

/** Set the observer from now on. @param observe NULL = nobody. `context` must outlive the last
 *  commit that began before. */
void writer_observe(struct writer *writer, writer_observe_fn *observe, void *context);
