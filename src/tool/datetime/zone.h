// SPDX-License-Identifier: Apache-2.0
/*
 * Time zones of the IANA database, read from the system's files (TZif, RFC 9636) with the rule in
 * POSIX form at their end for later times. The C library's own way (TZ, tzset) is one zone for the
 * whole process and no choice for a program with threads. No state; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A zone file that is larger is not read. */
#define ZONE_FILE_MAX_BYTES ((size_t)256 * 1024)

/** What holds in a zone at a moment. */
struct zone_moment {
    int32_t offset_seconds; /**< east of UTC */
    char name[16];          /**< "CET", "EDT", "+0530" */
};

/** @return false when there is no such zone here. "UTC" is always there. */
bool zone_find(const char *zone, int64_t unix_seconds, struct zone_moment *ret_moment);

/** The same from the bytes of a zone file. @return false when they are none. Pure. */
bool zone_read(const char *bytes, size_t len, int64_t unix_seconds, struct zone_moment *ret_moment);
