// SPDX-License-Identifier: Apache-2.0
/* The description in openapi/, joined and embedded when the program is built (embed_text.py). Any
 * thread. */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/** The description as it is served. Static. */
const char *openapi_text(size_t *ret_len);

/** Append the reference of the API in Markdown, for docs/api.md. */
void openapi_describe(struct buf *ret_text);
