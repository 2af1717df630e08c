// SPDX-License-Identifier: Apache-2.0
/* What models append to the base URL of a tool. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/** Characters that have a meaning in a URL, for tool_url_escape: a text that is a piece of one. */
#define TOOL_URL_RESERVED ":/?#[]@!$&'()*+,;=%"

/**
 * Whether a segment of a path is "..", also escaped: the server, or the client, would climb out of
 * the base URL.
 */
bool tool_url_climbs(const char *path);

/** Append a text in which all but unreserved characters (RFC 3986, 2.3) and `kept` is escaped. */
void tool_url_escape(const char *text, const char *kept, struct buf *ret_text);
