// SPDX-License-Identifier: Apache-2.0
/* Finding marked processes in proc(5). No state; any thread. */
#include "os/process/remains.h"

#include "base/auto.h"
#include "base/buf.h"
#include "os/file.h"
#include "os/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel gives arguments and environment together a quarter of the stack, as a rule 2 MiB. */
#define ENVIRONMENT_BYTES (16UL << 20)
/* Deeper than any tree of processes that a person has; a bound for a /proc that changes. */
#define ANCESTORS_MAX 256

int remains_mark(const char *lock_path)
{
    const struct flock shared = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int fd = open(lock_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        /* File systems without such locks: then only a look into /proc finds the descriptor. */
        (void)fcntl(fd, F_OFD_SETLK, &shared);
    }
    return fd;
}

bool remains_hold(int lock_fd)
{
    struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(lock_fd, F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

static int open_process(int proc_fd, pid_t pid, const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
    return openat(proc_fd, path, flags | O_CLOEXEC);
}

/* --- marks --- */

static bool has_entry(int proc_fd, pid_t pid, const char *entry)
{
    auto_close int fd = open_process(proc_fd, pid, "environ", O_RDONLY);
    auto_buf struct buf text = {0};
    size_t len = strlen(entry) + 1;
    if (fd < 0 || file_read_all(fd, "environ", ENVIRONMENT_BYTES, &text, NULL) != 0) {
        return false;
    }
    const char *end = buf_string(&text) + text.len + 1;
    for (const char *at = buf_string(&text); at < end; at += strlen(at) + 1) {
        if ((size_t)(end - at) >= len && memcmp(at, entry, len) == 0) {
            return true;
        }
    }
    return false;
}

/** Where a descriptor leads to, without touching the file, which may be on a disk that hangs. */
static bool read_place(int folder_fd, const char *fd, char ret_path[PATH_MAX])
{
    ssize_t len = readlinkat(folder_fd, fd, ret_path, PATH_MAX - 1);
    ret_path[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/** Whether two places are one; the file may have been removed since. */
static bool is_same_place(const char *place, const char *lock)
{
    size_t len = strlen(lock);
    return strncmp(place, lock, len) == 0 &&
           (place[len] == '\0' || strcmp(place + len, " (deleted)") == 0);
}

static bool has_file(int proc_fd, pid_t pid, const char *lock)
{
    int fd = open_process(proc_fd, pid, "fd", O_RDONLY | O_DIRECTORY);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    bool has_it = false;
    const struct dirent *item;
    while (folder != NULL && !has_it && (item = readdir(folder)) != NULL) {
        char place[PATH_MAX];
        has_it = read_place(fd, item->d_name, place) && is_same_place(place, lock);
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (fd >= 0) {
        close(fd);
    }
    return has_it;
}

/* --- Processes that are spared --- */

static pid_t parent_of(int proc_fd, pid_t pid)
{
    auto_close int fd = open_process(proc_fd, pid, "stat", O_RDONLY);
    auto_buf struct buf text = {0};
    int parent = 0;
    if (fd >= 0 && file_read_all(fd, "stat", 4096, &text, NULL) == 0) {
        const char *fields = strrchr(buf_string(&text), ')');
        if (fields != NULL && sscanf(fields, ") %*c %d", &parent) != 1) {
            parent = 0;
        }
    }
    return parent;
}

/** This process and all that it descends from. @return how many */
static size_t find_own_line(int proc_fd, pid_t own[ANCESTORS_MAX])
{
    size_t count = 0;
    for (pid_t pid = getpid(); pid > 0 && count < ANCESTORS_MAX; pid = parent_of(proc_fd, pid)) {
        own[count++] = pid;
    }
    return count;
}

static bool is_one_of(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* --- killing --- */

/** By what processes of a former command are known. */
struct marks {
    const char *entry; /* of the environment; NULL = none */
    const char *lock;  /* path of an open file; NULL = none */
    uint64_t limit;    /* RLIMIT_LOCKS; 0 = none */
};

/** One that waits to be reaped has its limits still; the first process of a container may never. */
static bool has_limit(int proc_fd, pid_t pid, uint64_t number)
{
    struct rlimit limit;
    return prlimit(pid, RLIMIT_LOCKS, NULL, &limit) == 0 && limit.rlim_max == number &&
           process_tree_is_alive(proc_fd, pid);
}

static bool has_mark(int proc_fd, pid_t pid, const struct marks *marks)
{
    return (marks->limit != 0 && has_limit(proc_fd, pid, marks->limit)) ||
           (marks->entry != NULL && has_entry(proc_fd, pid, marks->entry)) ||
           (marks->lock != NULL && has_file(proc_fd, pid, marks->lock));
}

static size_t kill_marked(const struct marks *marks)
{
    pid_t own[ANCESTORS_MAX];
    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        return 0;
    }
    int proc_fd = dirfd(proc);
    size_t own_count = find_own_line(proc_fd, own);
    size_t killed = 0;
    const struct dirent *item;
    while ((item = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(item->d_name, NULL, 10);
        if (pid <= 0 || is_one_of(pid, own, own_count) || !has_mark(proc_fd, pid, marks)) {
            continue;
        }
        kill(pid, SIGSTOP);
        process_tree_kill(pid);
        killed += kill(pid, SIGKILL) == 0 ? 1 : 0;
    }
    closedir(proc);
    return killed;
}

size_t remains_kill(int lock_fd, const char *entry)
{
    char own_fd[64];
    char lock[PATH_MAX];
    snprintf(own_fd, sizeof(own_fd), "/proc/self/fd/%d", lock_fd);
    if (!read_place(AT_FDCWD, own_fd, lock)) {
        return 0;
    }
    const struct marks marks = {.entry = entry, .lock = lock};
    return kill_marked(&marks);
}

size_t remains_kill_marked(uint64_t number)
{
    const struct marks marks = {.limit = number};
    return kill_marked(&marks);
}
