// SPDX-License-Identifier: Apache-2.0
/* Template links as JSON, in the form of the real engine's `templateLinks`. */
#pragma once

#include "rondo/cedar.h"

/**
 * Link templates: `[{"templateId":"t","newId":"l","values":{"?principal":{"type":..,"id":..}}}]`.
 * @param name of the file, for messages
 * @param err  not NULL
 * @return 0; RONDO_ERR_INVALID, also for an unknown template; RONDO_ERR_LIMIT
 */
int links_add(struct cedar_builder *builder, const char *name, const char *json, size_t len,
              struct rondo_error *err);
