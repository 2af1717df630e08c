// SPDX-License-Identifier: Apache-2.0
/*
 * Faults at the N-th system call of a kind, by strace's injection. strace counts for each thread by
 * itself; victims with one loop run it on their main thread, so the count is exact and repeatable.
 */
#pragma once

#include "scene.h"

#define INJECT_ARGUMENTS 64

/** Whether strace is there and may trace; says why not. */
bool inject_is_possible(void);

/** What a run under injection came to. */
struct injected {
    int status;         /**< of waitpid; strace ends as its child did */
    bool is_hit;        /**< the fault was injected at least once */
    bool is_killed;     /**< by SIGKILL */
    bool is_noticeable; /**< likewise, on a file of the store */
    bool is_acked;      /**< the victim acknowledged something after the first noticeable fault */
    struct buf output;  /**< what the victim said; buf_fini() */
};

/**
 * Run a program to its end with a fault.
 * @param syscalls list for strace, "fsync,fdatasync"
 * @param fault    what to inject, "signal=KILL:when=3" or "error=EIO:when=2+"
 * @param argv     NULL-terminated
 */
struct injected inject_run(struct crash_scene *scene, const char *syscalls, const char *fault,
                           const char *const *argv);
