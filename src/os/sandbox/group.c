// SPDX-License-Identifier: Apache-2.0
/*
 * Control groups of one sandbox: version 1 (a folder in each controller's hierarchy) or version 2
 * (one folder beside or below our own). They bind root too, unlike RLIMIT_NPROC. Everything
 * here may be forbidden to us; then there are no groups, and the other limits have to do.
 */
#include "os/sandbox/limits.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/memory.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HIERARCHIES      "/sys/fs/cgroup"
#define FOLDER_TEMPLATE  "/rondo-XXXXXX"
#define SMALL_FILE_BYTES 65536
#define REMOVE_LIMIT_NS  (1 * NS_PER_S)
#define REMOVE_AGAIN_NS  (200 * NS_PER_US)

static int write_value(const char *folder, const char *file, uint64_t value)
{
    char path[PATH_MAX];
    char text[24];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    int len = snprintf(text, sizeof(text), "%" PRIu64, value);
    auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, (size_t)len) == len ? 0 : -1;
}

void sandbox_group_join(const char *folder, pid_t pid)
{
    (void)write_value(folder, "cgroup.procs", (uint64_t)pid);
}

/**
 * Path of our own group in the hierarchy whose line in /proc/self/cgroup starts, after the number,
 * with `label` (":pids:" in version 1, "0::" in version 2).
 */
static bool find_own_group(const char *table, const char *label, char path[PATH_MAX])
{
    const char *start = strstr(table, label);
    if (start == NULL) {
        return false;
    }
    start += strlen(label);
    size_t len = strcspn(start, "\n");
    if (len >= PATH_MAX / 2 || start[0] != '/' || memmem(start, len, "/..", 3) != NULL) {
        return false;
    }
    snprintf(path, PATH_MAX, "%.*s", len == 1 ? 0 : (int)len, start);
    return true;
}

static char *make_folder(const char *parent)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s" FOLDER_TEMPLATE, parent);
    return mkdtemp(path.data) == NULL ? NULL : buf_steal(&path);
}

/** Keep a folder that took its limit. Without its limit it is of no use. */
static void keep_or_remove(struct sandbox_group *group, char *folder, bool is_limited)
{
    if (folder == NULL) {
        return;
    }
    if (is_limited) {
        group->folders[group->count++] = folder;
        return;
    }
    rmdir(folder);
    free(folder);
}

static void make_version_1(struct sandbox_group *group, const char *table, const char *controller,
                           const char *file, uint64_t value)
{
    char label[32];
    char own[PATH_MAX];
    char parent[PATH_MAX + 64];
    snprintf(label, sizeof(label), ":%s:", controller);
    if (!find_own_group(table, label, own)) {
        return;
    }
    snprintf(parent, sizeof(parent), HIERARCHIES "/%s%s", controller, own);
    char *folder = make_folder(parent);
    keep_or_remove(group, folder, folder != NULL && write_value(folder, file, value) == 0);
}

/**
 * In version 2 a group with processes usually has no children with controllers, so a folder beside
 * our own is tried when one below it cannot be limited.
 */
static void make_version_2(struct sandbox_group *group, const char *table,
                           const struct sandbox_limits *limits)
{
    char own[PATH_MAX];
    char parent[PATH_MAX + 64];
    if (!find_own_group(table, "0::", own)) {
        return;
    }
    for (int i = 0; i < 2 && group->count == 0; i++) {
        snprintf(parent, sizeof(parent), HIERARCHIES "%s", own);
        char *folder = make_folder(parent);
        bool is_limited = folder != NULL && write_value(folder, "pids.max", limits->processes) == 0;
        if (is_limited) {
            (void)write_value(folder, "memory.max", limits->memory_bytes);
            (void)write_value(folder, "memory.swap.max", 0);
        }
        keep_or_remove(group, folder, is_limited);
        char *slash = strrchr(own, '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

void sandbox_group_make(const struct sandbox_limits *limits, struct sandbox_group *ret_group)
{
    *ret_group = (struct sandbox_group){0};
    auto_buf struct buf table = {0};
    if (file_read("/proc/self/cgroup", SMALL_FILE_BYTES, &table, NULL) != 0) {
        return;
    }
    make_version_1(ret_group, buf_string(&table), "pids", "pids.max", limits->processes);
    make_version_1(ret_group, buf_string(&table), "memory", "memory.limit_in_bytes",
                   limits->memory_bytes);
    if (ret_group->count == 0) {
        make_version_2(ret_group, buf_string(&table), limits);
    }
}

void sandbox_group_kill(const char *folder)
{
    /* Each fails where the kernel or the kind of the group does not know it. */
    (void)write_value(folder, "pids.max", 0);
    (void)write_value(folder, "cgroup.kill", 1);
}

/** A group stays busy for a moment after its last process has ended. */
static void remove_folder(const char *folder)
{
    int64_t wait_ns = REMOVE_AGAIN_NS;
    while (rmdir(folder) != 0 && errno == EBUSY && wait_ns < REMOVE_LIMIT_NS) {
        clock_sleep(clock_system(), wait_ns, NULL);
        wait_ns *= 2;
    }
}

void sandbox_group_remove(struct sandbox_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        remove_folder(group->folders[i]);
        free(group->folders[i]);
    }
    *group = (struct sandbox_group){0};
}
