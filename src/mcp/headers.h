// SPDX-License-Identifier: Apache-2.0
/*
 * Headers of 2026-07-28 that repeat parts of a request: how values are written, and which arguments
 * a tool's schema requires in headers (`x-mcp-header`). Pure.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct json_object;

/** Append a header's value: as it is where that is safe, else as =?base64?...?=. */
void mcp_header_encode(const char *value, size_t len, struct buf *ret_text);

/**
 * Whether all `x-mcp-header` of a tool's input schema are well-formed and in permitted places.
 * @param ret_reason why not, for people
 */
bool mcp_headers_are_valid(struct json_object *schema, char *ret_reason, size_t size);

/** Called with "Mcp-Param-NAME" and the encoded value. */
typedef void mcp_header_taker(void *context, const char *name, const char *value);

/** Give out the headers for the arguments of a call. @param schema a valid one, or NULL */
void mcp_headers_of(struct json_object *schema, struct json_object *arguments,
                    mcp_header_taker *take, void *context);
