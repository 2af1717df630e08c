// SPDX-License-Identifier: Apache-2.0
/*
 * How a run stands today, from its row: the final status, or whether anybody is at it. Any thread;
 * may look at the machine's processes.
 */
#pragma once

#include "store/store.h"

/** Whether somebody who lives, as far as can be known, holds a run. */
bool standing_is_executed(const struct store_run *run);

/** Whether a run without final status is not executed by anybody that is alive. */
bool standing_is_interrupted(const struct store_run *run);

/**
 * "completed", ..., "paused", or for a run that nobody executes though it has not ended: "parked"
 * when it was given up in good order, as a conversation is, "interrupted" when its process is gone.
 * Static.
 */
const char *standing_name(const struct store_run *run);
