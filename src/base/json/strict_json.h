// SPDX-License-Identifier: Apache-2.0
/* JSON that decides something: what json_parse reads, without members that are there twice. */
#pragma once

#include "base/json/json.h"

#include <stddef.h>

/**
 * Parse a text. An object that has a member twice is RONDO_ERR_INVALID: of two readers each could
 * believe another one. Linear in the text. Any thread.
 */
int strict_json_parse(const char *text, size_t len, struct json_object **ret_value,
                      struct rondo_error *err);
