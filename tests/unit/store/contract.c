// SPDX-License-Identifier: Apache-2.0
/* Runs the parts of the contract for one back end. */
#include "contract.h"

#include "contract_parts.h"

#include <stdio.h>

/* cmocka's set-up functions have no parameter for it. */
static const struct contract_backend *backend_under_test;

int contract_setup(void **state)
{
    static struct contract contract;
    test_clock_init(&contract.clock);
    contract.store = backend_under_test->open(&contract.clock.clock);
    assert_non_null(contract.store);
    *state = &contract;
    return 0;
}

int contract_teardown(void **state)
{
    struct contract *contract = *state;
    backend_under_test->close(contract->store);
    return 0;
}

int contract_run(const struct contract_backend *backend)
{
    backend_under_test = backend;
    print_message("contract of the %s back end\n", backend->name);
    return test_run(NULL, NULL);
}
