// SPDX-License-Identifier: Apache-2.0
/* Statuses and reasons from their text form, and what to tell a person about them. */
#pragma once

#include "rondo/types.h"

/** One line for a person on what a status means. Static; any thread. */
const char *status_meaning(enum rondo_status status);

/** @return whether `name` is a status; only then `*ret_status` is set. */
bool status_from_name(const char *name, enum rondo_status *ret_status);

/** @return whether `name` is a reason; only then `*ret_reason` is set. */
bool condition_reason_from_name(const char *name, enum rondo_condition_reason *ret_reason);
