// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a journal from its end. Seqs have no gaps, so going back needs no index: one window after
 * the other is read forward and handed out the other way round. Any thread.
 */
#pragma once

#include "journal/event.h"
#include "store/store.h"

struct backward {
    const char *run_id;
    uint64_t before;          /**< exclusive */
    uint64_t after;           /**< exclusive; 0 = down to the first event */
    const char *const *types; /**< NULL-terminated; NULL = all */
    uint64_t window;          /**< events that are read at a time */
    uint64_t most;            /**< events to look at before stopping; 0 = all */
};

/**
 * Hand out events, newest first. Unlike in callbacks of the store, the function may use the store.
 * @param fn          returns false to end
 * @param ret_reached seq of the last event that was looked at, matching or not; `before` when none
 */
int backward_visit(struct store *store, const struct backward *backward, store_event_fn *fn,
                   void *context, uint64_t *ret_reached, struct rondo_error *err);
