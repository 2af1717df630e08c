// SPDX-License-Identifier: Apache-2.0
/* The command line of a supervisor, as supervise.c reads it. No state; any thread. */
#include "base/memory.h"
#include "os/process/supervise_wire.h"
#include "os/spawn/supervise.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Words before the groups, "--", the program, and the end. */
#define WORDS_MAX 15

/* supervisor __supervise watch CARRIED LOCK WAIT MARK TAKES-OVER HELPS SCOPES RECORD FOLDER
 * GROUP... -- PROGRAM ARGV... */
const char **supervise_argv(const struct supervise_order *order, char number[SUPERVISE_NUMBERS])
{
    size_t group_count = memory_count_list(order->groups);
    size_t argument_count = memory_count_list(order->argv);
    const char **argv = memory_new_zero(WORDS_MAX + group_count + argument_count, sizeof(*argv));
    size_t n = 0;
    const size_t room = SUPERVISE_NUMBERS / 3;
    char *record = number + room;
    char *wait = record + room;
    snprintf(number, room, "%zu", order->carried_count);
    snprintf(record, room, "%" PRIu64, order->record);
    snprintf(wait, room, "%" PRId64, order->lock_wait_ns);
    argv[n++] = order->supervisor;
    argv[n++] = SUPERVISE_ARGUMENT;
    argv[n++] = SUPERVISE_JOB_WATCH;
    argv[n++] = number;
    argv[n++] = order->lock_path == NULL ? "" : order->lock_path;
    argv[n++] = wait;
    argv[n++] = order->lock_mark == NULL ? "" : order->lock_mark;
    argv[n++] = order->takes_lock_over ? SUPERVISE_TAKES_OVER : "";
    argv[n++] = order->helps ? SUPERVISE_HELPS : "";
    argv[n++] = order->scopes_sockets ? SUPERVISE_SCOPES : "";
    argv[n++] = record;
    argv[n++] = order->private_folder == NULL ? "" : order->private_folder;
    for (size_t i = 0; i < group_count; i++) {
        argv[n++] = order->groups[i];
    }
    argv[n++] = "--";
    argv[n++] = order->program;
    memcpy(argv + n, order->argv, argument_count * sizeof(*argv));
    return argv;
}
