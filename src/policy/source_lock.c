// SPDX-License-Identifier: Apache-2.0
/*
 * Locks of flock(2) on folders: they end with the process, and need no file. Any thread.
 *
 * all opens: only a folder, only to lock it; nothing in it is read.
 */
#include "policy/source_lock.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/** How often a lock is tried, and the pause in between: about a second. */
#define LOCK_TRIES    100
#define LOCK_PAUSE_NS (10 * NS_PER_MS)

/** The folder of a source, however its path leads there; free() it. */
static char *folder_of(const char *path)
{
    struct stat status;
    char *real = realpath(path, NULL);
    char *folder = real != NULL ? real : memory_dup_string(path);
    if (real != NULL && stat(real, &status) == 0 && S_ISDIR(status.st_mode)) {
        return folder;
    }
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder] = '\0';
    }
    return folder;
}

static bool try_lock(int fd, int how)
{
    int tries = 0;
    while (flock(fd, how | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || ++tries == LOCK_TRIES) {
            return false;
        }
        clock_sleep(clock_system(), LOCK_PAUSE_NS, NULL);
    }
    return true;
}

int source_lock(const char *path, bool is_exclusive)
{
    auto_free char *folder = folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && !try_lock(fd, is_exclusive ? LOCK_EX : LOCK_SH)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void source_unlock(int lock)
{
    if (lock >= 0) {
        close(lock);
    }
}
