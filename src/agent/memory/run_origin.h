// SPDX-License-Identifier: Apache-2.0
/* The event of a trigger that a run comes from, for the episodes of the run. Any thread. */
#pragma once

#include "base/json/json.h"

struct store;

/** Bytes of what a trigger says of its event that an episode keeps; more is left out. */
#define RUN_ORIGIN_CONTEXT_BYTES ((size_t)4 * 1024)

/** Read it from the journal. @return json_object_put(); NULL = no trigger has started the run */
struct json_object *run_origin_read(struct store *store, const char *run_id);

/**
 * Append members about it to an object. What a trigger says of its event may be from anybody.
 * @param origin of run_origin_read(), not NULL
 */
void run_origin_write(struct json_object *origin, struct json_writer *writer);
