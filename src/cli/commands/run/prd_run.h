// SPDX-License-Identifier: Apache-2.0
/* Values of `rondo prd run`. */
#pragma once

#include "cli/commands/run/work_options.h"

struct prd_run_values {
    struct work_values work; /**< first, so that rows of all tables find their place */
    char *branch;
    int64_t jobs;
    int64_t attempts;
    int64_t max_attempts;
    int64_t is_branch_per_task;
    int64_t is_pushed;
    int64_t wants_request;
    char *remote;
    int64_t is_archived;
};
