// SPDX-License-Identifier: Apache-2.0
/* The words with which a worker gets a task. Pure; any thread. */
#pragma once

#include "prd/prd.h"
#include "work/spec.h"
#include "work/state.h"

struct work_prompt {
    const struct work_spec *work;
    const struct prd *prd;
    const struct prd_task *task;
    const struct work_task *state; /**< what former attempts came to */
    int64_t attempt;
    const char *progress; /**< excerpt of the progress log; "" = none */
};

/** Append the prompt; at most LIMIT_PROMPT_BYTES. */
void work_prompt_write(const struct work_prompt *prompt, struct buf *ret_text);
