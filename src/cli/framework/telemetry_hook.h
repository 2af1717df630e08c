// SPDX-License-Identifier: Apache-2.0
/* Telemetry of the one run that a command executes; without OTEL_* variables it does nothing. */
#pragma once

#include "cli/framework/session.h"
#include "telemetry/telemetry.h"

/**
 * Begin to export a run, unless a server exports the store. Errors in the environment are
 * reported as a warning: a run does not fail for its telemetry.
 * @param after events up to this one were there before
 * @return telemetry_hook_stop(), or NULL
 */
struct telemetry *telemetry_hook_start(struct session *session, const char *run_id, uint64_t after);

/** Send what is left and end. After the run was parked, before the session closes. */
void telemetry_hook_stop(struct telemetry *telemetry);
