// SPDX-License-Identifier: Apache-2.0
/* What a coding agent is told in an iteration. */
#pragma once

#include "loop/driver/driver.h"

/**
 * Append the task of the run, and what the last verification found, at most
 * LIMIT_CODING_FEEDBACK_BYTES of it.
 * @param is_resumed the session knows the task
 */
void coding_prompt_write(struct loop *loop, bool is_resumed, struct buf *ret_prompt);
