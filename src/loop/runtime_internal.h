// SPDX-License-Identifier: Apache-2.0
/* What claiming (claim.c) and the driver need of the registry of a process's loops. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct runtime;

/** Whether a loop of a run is registered. */
bool runtime_is_running_here(struct runtime *runtime, const char *run_id);

/** Whether this process has lost a run without being able to end its lease. @param epoch of it */
bool runtime_is_abandoned(struct runtime *runtime, const char *run_id, uint64_t epoch);

/** A run that was abandoned is held again, or its lease has ended. */
void runtime_forget_abandoned(struct runtime *runtime, const char *run_id);

/** Name of this boot, as leases have it. */
const char *runtime_boot(struct runtime *runtime);

/**
 * A commit of the run has begun its lease anew. Unknown runs are ignored. Any thread.
 * @param since_ns monotonic time before the commit was sent
 */
void runtime_note_held(struct runtime *runtime, const char *run_id, int64_t since_ns);
/**
 * Whether the keeper has set the run's token because its lease could not be renewed in time: what
 * is under way must end, the run need not. Any thread.
 * @param forgets the loop has ended what was under way, and takes its token back
 */
bool runtime_is_late(struct runtime *runtime, const char *run_id, bool forgets);
