// SPDX-License-Identifier: Apache-2.0
/*
 * The identity of this process, precise enough to tell later whether it still lives: a pid alone is
 * reused, and a store may be shared between containers that each have a pid 1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct host_process {
    char host[65];      /**< host name */
    char boot_id[37];   /**< /proc/sys/kernel/random/boot_id, "" when unreadable */
    uint64_t pid_space; /**< inode of the pid namespace */
    int64_t pid;
    uint64_t started; /**< start time of the process in clock ticks since boot (proc(5), stat 22) */
};

/** Describe this process. */
void host_describe_self(struct host_process *ret_process);

/**
 * Whether that process is certainly gone: same boot and same pid namespace as ours, and no process
 * with that pid and start time (a zombie counts as gone). False whenever it cannot be known.
 */
bool host_is_dead(const struct host_process *process);

/** Bytes that host_boot writes at most. */
#define HOST_BOOT_SIZE 64
/**
 * The boot that this process lives in, "" when it is unknown: processes with the same one read the
 * same monotonic clock (containers may shift it by a namespace of their own).
 */
void host_boot(char *ret_boot);
