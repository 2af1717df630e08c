// SPDX-License-Identifier: Apache-2.0
/* Sources, waiting requests and refusals as JSON, for the command line and the API. Any thread. */
#pragma once

#include "base/json/json.h"
#include "source/duty/status.h"
#include "source/intake/refusal.h"

/** Bytes of a prompt that lists show. */
#define SHOWN_PROMPT_BYTES 200

/** Write the members of an object that is open (docs/api.md). */
void show_source_members(const struct source_status *status, struct json_writer *writer);
void show_request_members(const struct start_request *request, const struct roles_on_duty *roles,
                          struct json_writer *writer);
void show_refusal_members(const struct start_refusal *refusal, struct json_writer *writer);
