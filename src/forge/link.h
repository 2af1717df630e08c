// SPDX-License-Identifier: Apache-2.0
/* Addresses: parts of a path, and links of an answer (RFC 8288). Pure; any thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/** Append a text as one segment of a path, or a value of a query. */
void link_escape(const char *text, struct buf *ret_path);

/**
 * Whether a name can be a segment of a path: neither empty, "." nor "..", of which the first would
 * name what all entries are below of, and the others are resolved on the way.
 */
bool link_is_segment(const char *name);

/**
 * The target of the link with the relation "next".
 * @param header value of the Link header
 * @return owned; NULL when there is none
 */
char *link_next(const char *header);

/** Whether an address has the origin (scheme, host, port) of another one, letter by letter. */
bool link_has_origin(const char *url, const char *origin_url);

/** Whether two addresses of an API have one origin: scheme, host and port, the usual one said or
 *  not, compared without case. */
bool link_is_same_origin(const char *url, const char *other_url);

/** Whether a setting of a host ("git.example.org", or an address) names this one, port included. */
bool link_names_host(const char *setting, const char *host);
