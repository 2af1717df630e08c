// SPDX-License-Identifier: Apache-2.0
/* Run ids: UUID version 7 (RFC 9562, section 5.7), so that they sort by time of creation. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

/** Bytes of an id in text form, the NUL included. */
#define ID_SIZE 37

/**
 * Make a UUIDv7.
 * @param time_ns Unix time in nanoseconds; milliseconds are kept
 * @param ret_id  at least ID_SIZE bytes
 */
void id_new(int64_t time_ns, struct random *random, char *ret_id);

/** Whether `text` is a UUID in lower-case hyphenated form. */
bool id_is_valid(const char *text);
