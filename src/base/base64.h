// SPDX-License-Identifier: Apache-2.0
/* Base64 (RFC 4648, section 4), for bytes in JSON. Pure; any thread. */
#pragma once

#include "base/buf.h"

/** Append the encoded bytes, padded. */
void base64_encode(const void *bytes, size_t len, struct buf *ret_buf);
