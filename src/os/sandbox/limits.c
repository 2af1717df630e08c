// SPDX-License-Identifier: Apache-2.0
/* Limits by prlimit(2). No state; any thread. */
#include "os/sandbox/limits.h"

#include "base/ascii.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PROCESSES       1024
#define DEFAULT_FILE_SIZE_BYTES (UINT64_C(8) << 30)
#define DEFAULT_OPEN_FILES      4096
#define DEFAULT_MEMORY_BYTES    (UINT64_C(8) << 30)

static uint64_t value_or(uint64_t value, uint64_t otherwise)
{
    return value == 0 ? otherwise : value;
}

struct sandbox_limits sandbox_limits_resolve(const struct sandbox_limits *wanted)
{
    return (struct sandbox_limits){
        .processes = value_or(wanted->processes, DEFAULT_PROCESSES),
        .file_size_bytes = value_or(wanted->file_size_bytes, DEFAULT_FILE_SIZE_BYTES),
        .open_files = value_or(wanted->open_files, DEFAULT_OPEN_FILES),
        .memory_bytes = value_or(wanted->memory_bytes, DEFAULT_MEMORY_BYTES),
    };
}

/** Threads of this user's processes; a process's task folder has two links more than threads. */
static uint64_t count_threads_of_user(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    uint64_t count = 0;
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        char path[64];
        struct stat status;
        snprintf(path, sizeof(path), "%.20s/task", entry->d_name);
        if (ascii_is_digit(entry->d_name[0]) && fstatat(dirfd(proc), path, &status, 0) == 0 &&
            status.st_uid == getuid() && status.st_nlink > 2) {
            count += status.st_nlink - 2;
        }
    }
    if (proc != NULL) {
        closedir(proc);
    }
    return count;
}

static int lower(pid_t pid, __rlimit_resource_t resource, uint64_t value)
{
    struct rlimit present;
    if (prlimit(pid, resource, NULL, &present) != 0) {
        return -1;
    }
    rlim_t limit = present.rlim_max < value ? present.rlim_max : (rlim_t)value;
    return prlimit(pid, resource, &(struct rlimit){limit, limit}, NULL);
}

int sandbox_limits_apply(const struct sandbox_limits *limits, pid_t pid, bool counts_all_of_user)
{
    uint64_t others = counts_all_of_user ? count_threads_of_user() : 0;
    if (lower(pid, RLIMIT_CORE, 0) != 0 || lower(pid, RLIMIT_FSIZE, limits->file_size_bytes) != 0 ||
        lower(pid, RLIMIT_NOFILE, limits->open_files) != 0) {
        return -1;
    }
    return lower(pid, RLIMIT_NPROC, others + limits->processes);
}
