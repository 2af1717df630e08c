// SPDX-License-Identifier: Apache-2.0
/* Which tiers of the sandbox work on this machine. */
#pragma once

#include "os/sandbox/policy.h"

/**
 * Find out by trying whether a tier works here. Takes some milliseconds; any thread.
 * @param ret_reason why not, for people; "" when it works
 */
bool sandbox_is_available(enum sandbox_tier tier, char ret_reason[256]);
