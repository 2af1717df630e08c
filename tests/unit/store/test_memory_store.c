// SPDX-License-Identifier: Apache-2.0
/* The memory back end keeps the contract. */
#include "../../support/store/memory_store.h"
#include "contract.h"

int main(void)
{
    const struct contract_backend backend = {
        .name = "memory",
        .open = store_memory_new,
        .close = store_close,
    };
    return contract_run(&backend);
}
