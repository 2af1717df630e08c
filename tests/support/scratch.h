// SPDX-License-Identifier: Apache-2.0
/*
 * Folders for what tests write: in memory where the machine has room there, so that a test waits
 * for no disk. Not for commands in sandboxes, which have a /dev of their own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SCRATCH_MEMORY "/dev/shm"
/** Less room than that is left to others. */
#define SCRATCH_ROOM_BYTES (UINT64_C(512) * 1024 * 1024)

/** Whether programs can be started from memory, and all that tests write has room. */
static inline bool scratch_has_memory(void)
{
    struct statvfs info;
    return access(SCRATCH_MEMORY, W_OK | X_OK) == 0 && statvfs(SCRATCH_MEMORY, &info) == 0 &&
           (info.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0 &&
           (uint64_t)info.f_bavail * info.f_frsize >= SCRATCH_ROOM_BYTES;
}

/** Where scratch folders are. Short, for buffers and sockets. */
static inline const char *scratch_parent(void)
{
    return scratch_has_memory() ? SCRATCH_MEMORY : "/tmp";
}

/** Make a scratch folder. @param path gets its path @return whether it could be made */
static inline bool scratch_new(char *path, size_t size)
{
    int n = snprintf(path, size, "%s/rondo-test-XXXXXX", scratch_parent());
    return n > 0 && (size_t)n < size && mkdtemp(path) != NULL;
}
