// SPDX-License-Identifier: Apache-2.0
/*
 * Ids: UUIDs (RFC 9562). Those of runs have version 7 (section 5.7), so that they sort by time of
 * creation; those that several computers must find by themselves are made from a name
 * (section 5.5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/**
 * Make a UUIDv5: the same one for the same name.
 * @param space  a valid id that says what kind of name it is
 * @param ret_id at least ID_SIZE bytes
 */
void id_from_name(const char *space, const void *name, size_t len, char *ret_id);

/** Whether a valid id was made from a name. */
bool id_is_from_name(const char *id);

/** Whether `text` is a UUID in lower-case hyphenated form. */
bool id_is_valid(const char *text);
