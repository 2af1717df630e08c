// SPDX-License-Identifier: Apache-2.0
/* Time zones by their name, from the system's files. No state; any thread. */
#pragma once

#include "base/time/zone.h"

#include <stdbool.h>

/** A zone file that is larger is not read. */
#define ZONE_FILE_MAX_BYTES ((size_t)256 * 1024)

/**
 * Load the zone with an IANA name.
 * @param ret_zone zone_free(); NULL for "UTC", which needs no file
 * @return false when this machine has no such zone
 */
bool zone_load(const char *name, struct zone **ret_zone);

/** What applies in a zone at a moment. @return false when there is no such zone, or time */
bool zone_find(const char *name, int64_t unix_seconds, struct zone_moment *ret_moment);
