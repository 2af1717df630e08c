// SPDX-License-Identifier: Apache-2.0
/* Runs that are paused because calls need the decision of a person. Any thread. */
#pragma once

#include "loop/runtime.h"

/**
 * Whether something was decided of what a run waits for, by whichever process. The run looks for
 * itself what it was. What is gone counts as decided.
 * @param ret_is_decided false for a run that waits for nobody
 */
int worker_is_decided(struct runtime *runtime, const char *run_id, bool *ret_is_decided,
                      struct rondo_error *err);
