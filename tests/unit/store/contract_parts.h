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

/** A row of a test table. */
#define CONTRACT_TEST(name) cmocka_unit_test_setup_teardown(name, contract_setup, contract_teardown)

/* Each runs its group and returns the number of failed tests. */
int contract_claims(void);
int contract_commits(void);
int contract_checkpoints(void);
int contract_reading(void);
int contract_policies(void);
int contract_listing(void);
int contract_documents(void);
int contract_upkeep(void);
