// SPDX-License-Identifier: Apache-2.0
/*
 * The identity of this process, precise enough to tell later whether it still lives: a pid alone is
 * reused, and a store may be shared between containers that each have a pid 1. And its user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/** Whether that process certainly runs. False whenever it cannot be known. */
bool host_is_alive(const struct host_process *process);

/** Bytes that host_boot writes at most. */
#define HOST_BOOT_SIZE 64
/**
 * The boot that this process lives in, "" when it is unknown: processes with the same one read the
 * same monotonic clock (containers may shift it by a namespace of their own).
 */
void host_boot(char *ret_boot);

/** Room for the name of any user (LOGIN_NAME_MAX of Linux). */
#define HOST_USER_SIZE 256

/**
 * The name of a user of this machine. Without an entry, or where the name has no room, it is the
 * number of the user: what is cut off could be the name of another one. Any thread.
 * @param size bytes of `ret_name`, at least 24
 * @return whether it is a name
 */
bool host_user_name(uid_t user, char *ret_name, size_t size);

/**
 * The home folder of the user: HOME, else that of the password database. Any thread.
 * @return absolute path, owned; NULL = there is none
 */
char *host_home(void);

/**
 * The folder for what can be made again: XDG_CACHE_HOME, else .cache in the home folder. Any
 * thread.
 * @return absolute path, owned, perhaps of nothing; NULL = there is none
 */
char *host_cache(void);
