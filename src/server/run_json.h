// SPDX-License-Identifier: Apache-2.0
/* A run as the API shows it: schema Run of openapi.json. */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct orchestrator;

/** Append the JSON object. @param orchestrator tells whether it is queued; or NULL */
void run_json_write(const struct store_run *run, struct orchestrator *orchestrator,
                    struct buf *ret_json);
