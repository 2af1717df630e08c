// SPDX-License-Identifier: Apache-2.0
/*
 * Time zones of the IANA database: the contents of their files (TZif, RFC 9636), with the rule in
 * POSIX form at their end for later times. The C library's own way (TZ, tzset) is one zone for the
 * whole process, which does not work in a program with threads. Pure; a zone does not change, so
 * any thread may read it. os/zone.h finds a zone by its name.
 */
#pragma once

#include "base/time/zone_span.h"

#include <stddef.h>

struct zone;

/** @return the zone in the bytes of a zone file, zone_free(); NULL when they are not one */
struct zone *zone_parse(const char *bytes, size_t len);
void zone_free(struct zone *zone);

/**
 * The span that contains a moment. begin <= unix_seconds < end.
 * @param zone NULL = UTC
 * @param unix_seconds from CALENDAR_FIRST_SECOND to CALENDAR_LAST_SECOND
 */
void zone_span_at(const struct zone *zone, int64_t unix_seconds, struct zone_span *ret_span);
