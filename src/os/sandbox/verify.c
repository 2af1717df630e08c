// SPDX-License-Identifier: Apache-2.0
/*
 * Looking into another mount namespace through /proc/PID/root, name by name and without links. No
 * state; any thread.
 */
#include "os/sandbox/verify.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Since Linux 5.8; older headers lack it. */
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

/* The root is being moved for some microseconds, and longer where thousands of threads run. */
#define ROOT_PATIENCE_NS (2 * NS_PER_S)
#define ROOT_PAUSE_NS    (NS_PER_MS / 20)

#define PATH_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

/** Whether a mount begins at this descriptor; an old kernel cannot tell, then it is assumed. */
static bool is_mount(int fd)
{
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &status) != 0) {
        return false;
    }
    return (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0 ||
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

static bool is_read_only(int fd)
{
    struct statvfs status;
    return fstatvfs(fd, &status) == 0 && (status.f_flag & ST_RDONLY) != 0;
}

/** Walk from a folder by names that must not be links. @return owned, or -1 */
static int walk(int root, const char *path)
{
    int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (const char *at = path; fd >= 0 && *at != '\0';) {
        at += strspn(at, "/");
        size_t len = strcspn(at, "/");
        if (len > 0) {
            auto_free char *name = memory_dup_bytes(at, len);
            int next = openat(fd, name, PATH_FLAGS);
            close(fd);
            fd = next;
        }
        at += len;
    }
    return fd;
}

/**
 * The new root as the process sees it. Before its last pivot bubblewrap has it in a folder of that
 * name, beside one for the old root. @return owned, or -1; `*ret_is_between` when it is just moved
 */
static int open_root_once(const char *path, bool *ret_is_between)
{
    *ret_is_between = false;
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_close int old = root < 0 ? -1 : openat(root, "oldroot", PATH_FLAGS);
    int new = old < 0 ? -1 : openat(root, "newroot", PATH_FLAGS);
    if (new < 0) {
        return root;
    }
    if (is_mount(new)) {
        close(root);
        return new;
    }
    close(new);
    *ret_is_between = true;
    return root;
}

static int open_root(pid_t inner)
{
    char path[64];
    const struct clock *clock = clock_system();
    bool is_between = false;
    snprintf(path, sizeof(path), "/proc/%d/root", (int)inner);
    int root = open_root_once(path, &is_between);
    int64_t deadline = clock_monotonic(clock) + ROOT_PATIENCE_NS;
    while (is_between && clock_monotonic(clock) < deadline) {
        clock_sleep(clock, ROOT_PAUSE_NS, NULL);
        close(root);
        root = open_root_once(path, &is_between);
    }
    return root;
}

/** Whether what the rule found is still at its path. */
static bool is_in_place(const struct path_rule *rule)
{
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", rule->fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    path[len > 0 ? len : 0] = '\0';
    return strcmp(path, rule->path) == 0;
}

static bool is_empty(int fd, bool is_folder)
{
    struct statfs system;
    struct stat status;
    if (is_folder) {
        return is_read_only(fd) && fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
    }
    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

static bool holds(const struct path_rule *rule, int root)
{
    auto_close int fd = walk(root, rule->path);
    if (fd < 0 || !is_mount(fd)) {
        return false;
    }
    switch (rule->access) {
    case PATH_READ:
    case PATH_PROTECTED:
        return named_is_same(fd, rule->fd) && is_read_only(fd);
    case PATH_WRITE:
    case PATH_PARENT:
        return named_is_same(fd, rule->fd);
    case PATH_EMPTY:
        return is_empty(fd, rule->is_folder);
    case PATH_SYSTEM:
    case PATH_PRIVATE:
        return true;
    }
    return false;
}

bool sandbox_verify(const struct path_list *paths, pid_t inner, char ret_reason[256])
{
    auto_close int root = open_root(inner);
    if (root < 0) {
        if (errno != ENOENT && errno != ESRCH) {
            snprintf(
                ret_reason, 256,
                "cannot look into the sandbox: %s; if bwrap has the set-user-id bit, remove it "
                "(chmod u-s) and allow user namespaces, or choose the tier landlock",
                strerrordesc_np(errno));
        }
        return false;
    }
    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->rules[i];
        if (rule->fd >= 0 && !(is_in_place(rule) && holds(rule, root) && is_in_place(rule))) {
            snprintf(ret_reason, 256, "%.200s: was replaced while the sandbox was set up",
                     rule->path);
            return false;
        }
    }
    return true;
}
