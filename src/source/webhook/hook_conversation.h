// SPDX-License-Identifier: Apache-2.0
/* Which conversation a request to a webhook is a turn of. Pure. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

struct source_delivery;

/**
 * Fill in the trigger's setting `conversation`: {body.a.b} picks from the JSON body, {header.NAME}
 * is a header.
 * @param ret_key empty: the request has nothing of what the setting names, and is no turn
 * @return RONDO_ERR_INVALID: the body is not JSON; RONDO_ERR_LIMIT: longer than
 *         LIMIT_START_KEY_BYTES
 */
int hook_conversation(const char *template, const struct source_delivery *delivery,
                      struct buf *ret_key, struct rondo_error *err);
