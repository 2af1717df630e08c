// SPDX-License-Identifier: Apache-2.0
/*
 * The supervisor: a small process between Rondo and a command, made from the same binary. It is a
 * child subreaper and holds one end of a lifeline pipe: when Rondo dies in any way, or requests it,
 * it kills every descendant of the command, wherever they hid (setsid, double fork), and only then
 * ends. While it lives it can hold a lock file, so that the next owner of the run knows when
 * nothing of the former command is left.
 */
#pragma once

#include "os/process/supervise_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Be the supervisor. Only spawn_run makes such calls; the arguments are private to it.
 * @return exit code for main()
 */
int supervise_main(int argc, char **argv);

/** What a supervisor gets when it is started. Borrowed. */
struct supervise_order {
    const char *supervisor; /**< the program, see struct spawn_request */
    size_t carried_count;   /**< descriptors that the command gets, after the lifeline */
    const char *lock_path;  /**< or NULL */
    int64_t lock_wait_ns;   /**< how long it waits for the lock */
    const char *lock_mark;  /**< or NULL */
    bool takes_lock_over;
    bool helps;          /**< the first carried descriptor has the orders of a command in
                              Landlock, the next to last is the supervisor's (sandbox_attributes.h) */
    bool scopes_sockets; /**< abstract sockets of others are out of reach, if the kernel can */
    uint64_t record;     /**< number of the command's record (os/sandbox/record.h), which is the
                              last carried descriptor, and the supervisor's; 0 = there is none */
    const char *private_folder; /**< removed at the end; or NULL */
    const char *const *groups;  /**< control groups to remove at the end; or NULL */
    const char *program;        /**< what it starts: path, not searched */
    const char *const *argv;    /**< of that, NULL-terminated */
};

/** Bytes for the numbers of a command line: three, each with its NUL. */
#define SUPERVISE_NUMBERS 96

/**
 * The supervisor's command line. free(); its texts are borrowed from the order.
 * @param number room for the texts of numbers, which must live as long
 */
const char **supervise_argv(const struct supervise_order *order, char number[SUPERVISE_NUMBERS]);
