// SPDX-License-Identifier: Apache-2.0
/* The back end without a disk, for tests and the simulator. Same contract, no durability. */
#pragma once

#include "store/store.h"

/** @param clock NULL = the machine's; must outlive the store. @return never NULL. */
struct store *store_memory_new(const struct clock *clock);
