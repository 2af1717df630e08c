// SPDX-License-Identifier: Apache-2.0
/* Between contract.c and the files that hold its tests. */
#pragma once

#include "support.h"

/** What each test gets as its state. */
struct contract {
    struct store *store;
    struct test_clock clock;
};

int contract_setup(void **state);
int contract_teardown(void **state);

/** Head of a test that runs with a store of the back end under test. */
#define CONTRACT_TEST(name) TEST_WITH(name, contract_setup, contract_teardown)
