// SPDX-License-Identifier: Apache-2.0
/* JSON by the letter, asked before a lenient parser is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether `text` is exactly one JSON value (RFC 8259) in UTF-8, at most LIMIT_JSON_DEPTH levels
 * deep, with nothing but white space around it.
 * @param ret_offset where reading stopped: behind the value, or near the fault
 */
bool json_is_valid(const char *text, size_t len, size_t *ret_offset);
