// SPDX-License-Identifier: Apache-2.0
/*
 * Telemetry of the one run that a command executes; without OTEL_* variables, and without
 * `observability` in the run's role, it does nothing.
 */
#pragma once

#include "cli/framework/session.h"
#include "telemetry/telemetry.h"

struct loop;
struct telemetry_hook;

/** Bytes of spans that are kept to be written out at the end; later ones are left out. */
#define TELEMETRY_HOOK_BYTES (16 * 1024 * 1024)

/**
 * Begin to export a run, unless a server exports the store. Errors in the environment are
 * reported as a warning: a run does not fail for its telemetry.
 * @param loop of the run, which keeps its role
 * @param after events up to this one were there before
 * @return telemetry_hook_stop(), or NULL
 */
struct telemetry_hook *telemetry_hook_start(struct session *session, const struct loop *loop,
                                            uint64_t after);

/**
 * Send what is left, or write it to stderr, and end. After the run was parked, before the session
 * closes.
 */
void telemetry_hook_stop(struct telemetry_hook *hook);
