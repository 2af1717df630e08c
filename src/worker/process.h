// SPDX-License-Identifier: Apache-2.0
/*
 * What all bodies that are processes have in common: the workspace, the deadlines, the lock, and
 * the sandbox, in which a process sees of Rondo's files the hand-over folder only.
 */
#pragma once

#include "base/id.h"
#include "loop/driver/driver.h"
#include "os/spawn/spawn.h"
#include "worker/files.h"

struct worker_process {
    struct spawn_request request; /**< command, environment, input and output are for the caller */
    struct sandbox_policy policy;
    const char **write_paths;
    char **hidden;
    char **protected;
    char mark[sizeof("RONDO_RUN_ID=") + ID_SIZE];
};

/**
 * Fill in the process of an iteration. It points into itself: it must not be moved.
 * @param env_names    variables that pass into a sandbox; must outlive the process
 * @param takes_over   of the last process something may live: its supervisor was killed
 * @param ret_process  worker_process_fini(), also if it is never run
 */
void worker_process_init(struct loop *loop, const struct worker_files *files,
                         const char *const *env_names, bool takes_over,
                         struct worker_process *ret_process);

void worker_process_fini(struct worker_process *process);
