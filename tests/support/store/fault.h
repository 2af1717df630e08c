// SPDX-License-Identifier: Apache-2.0
/*
 * A decorator that makes another store fail as planned, for tests: every operation asks the plan
 * first, and the plan decides whether it goes through, fails before it reaches the inner store, or
 * fails after it has taken effect there (the answer is lost, as when a process dies in between).
 */
#pragma once

#include "store/store.h"

enum store_fault {
    STORE_FAULT_NONE = 0,
    STORE_FAULT_BEFORE, /**< fails without effect */
    STORE_FAULT_AFTER,  /**< takes effect, then reports failure */
};

struct store_fault_plan {
    /**
     * Decide about one call.
     * @param operation name of the store_ops member ("commit", ...)
     * @param call      number of this call over all operations, from 1
     * @param ret_code  error code to report; preset to RONDO_ERR_IO
     */
    enum store_fault (*decide)(void *context, const char *operation, uint64_t call, int *ret_code);
    void *context;
};

/**
 * @param inner the store to wrap; it stays the caller's and must be closed after the decorator
 * @return never NULL
 */
struct store *store_fault_new(struct store *inner, const struct store_fault_plan *plan);
