// SPDX-License-Identifier: Apache-2.0
/* The contract of store_ops as tests that every back end passes. */
#pragma once

#include "store/store.h"

/** How to get a back end for one test. */
struct contract_backend {
    const char *name;
    /** Open an empty store that takes its time from `clock`. */
    struct store *(*open)(const struct clock *clock);
    /** Close it and whatever open() made. */
    void (*close)(struct store *store);
};

/** Run the contract, and what else the program tests. @return the number of failed tests */
int contract_run(const struct contract_backend *backend);
