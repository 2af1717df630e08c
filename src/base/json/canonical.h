// SPDX-License-Identifier: Apache-2.0
/*
 * The canonical form of JSON (RFC 8785): one text for all texts that mean the same, so that a
 * digest of it names the value. What is approved, audited or signed is named by such digests.
 *
 * Readers disagree about some texts: a name that occurs twice, half of a surrogate pair, an integer
 * that a double cannot hold. Those have no canonical form here. So two values that a reader with
 * 64-bit integers tells apart never share one.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stddef.h>

/**
 * Append the canonical form of a JSON text. Any thread.
 * @param ret_text left as it was on failure
 * @return 0; RONDO_ERR_INVALID with line and column when it is not JSON, or has no canonical form
 */
int json_canonical(const char *text, size_t len, struct buf *ret_text, struct rondo_error *err);

/** Bytes that hold every canonical number, with its NUL. */
#define JSON_NUMBER_SIZE 40

/** A finite number as ECMAScript writes it: the shortest digits that are read back as it. */
void json_canonical_number(double number, char ret_text[static JSON_NUMBER_SIZE]);
