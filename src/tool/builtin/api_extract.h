// SPDX-License-Identifier: Apache-2.0
/*
 * The part of an answer that a role selects (`response_extract`), a small language of paths:
 *
 *     $.a.b.0               members and elements; "$." may be left out; a[0] and a['b c'] too
 *     $[*].name             of each element (or member); elements without it are left out
 *     $[*].{a,b.c,d[*].e}   an object of each, with members "a", "b", "d"
 *
 * Lists in lists are put together into one list, except inside braces. Pure.
 */
#pragma once

#include "rondo/error.h"

#include <stddef.h>

/** Most of an expression, bytes. */
#define EXTRACT_MAX_BYTES ((size_t)1024)
/** Braces in braces. */
#define EXTRACT_MAX_DEPTH 8

struct extract;
struct json_object;

/**
 * Read an expression.
 * @param ret_extract extract_free(); NULL = the whole ("$")
 * @return 0, RONDO_ERR_INVALID with the place, or RONDO_ERR_LIMIT
 */
int extract_parse(const char *text, struct extract **ret_extract, struct rondo_error *err);
/** NULL is allowed. */
void extract_free(struct extract *extract);

/** Apply to a value; `extract` may be NULL. @return owned, json_object_put(); NULL = it is not
 * there (or is null) */
struct json_object *extract_apply(const struct extract *extract, struct json_object *value);
