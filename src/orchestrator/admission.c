// SPDX-License-Identifier: Apache-2.0
/*
 * Formats: proc(5) for /proc/meminfo, /proc/sys/kernel/threads-max and /proc/self/cgroup; the
 * kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2 for memory and pids.
 *
 * all opens: /proc and /sys.
 */
#include "orchestrator/admission.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUPS "/sys/fs/cgroup"
/** Version 1 writes "no limit" as a number near the largest. */
#define NO_LIMIT_FROM (INT64_C(1) << 60)

void admission_raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* What cannot be raised is counted as it is. */
    }
}

/** A file of the kernel's as text; "" when it cannot be read. These have no size to go by. */
static void read_small(const char *path, char *ret_text, size_t size)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;
    while (fd >= 0 && n > 0 && len + 1 < size) {
        n = read(fd, ret_text + len, size - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    ret_text[len] = '\0';
}

static int64_t to_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return end == text || errno != 0 || number < 0 ? -1 : number;
}

int64_t admission_meminfo(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line != NULL && line[0] != '\0';) {
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            int64_t kib = to_number(line + len + 1);
            return kib < 0 || kib > INT64_MAX / LIMIT_KIB ? -1 : kib * LIMIT_KIB;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return -1;
}

int64_t admission_group_value(const char *text)
{
    int64_t number = to_number(text);
    return number >= NO_LIMIT_FROM ? -1 : number;
}

static int64_t read_value(const char *folder, const char *file)
{
    char path[PATH_MAX + 64];
    char text[64];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    read_small(path, text, sizeof(text));
    return admission_group_value(text);
}

/** The smaller of two rooms; -1 is unlimited. */
static int64_t smaller(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/** What a group leaves; -1 = it does not limit. */
static int64_t left_in(const char *folder, const char *limit_file, const char *used_file)
{
    int64_t limit = read_value(folder, limit_file);
    int64_t used = read_value(folder, used_file);
    return limit < 0 ? -1 : used < 0 ? limit : used < limit ? limit - used : 0;
}

/** The least that our group and those around it leave. @param folder is shortened */
static int64_t left_in_all(char *folder, size_t root_len, const char *limit_file,
                           const char *used_file)
{
    int64_t left = -1;
    for (;;) {
        left = smaller(left, left_in(folder, limit_file, used_file));
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= root_len || slash == NULL) {
            return left;
        }
        *slash = '\0';
    }
}

/** Files of one resource in both versions. */
struct group_files {
    const char *controller;
    const char *limit[2]; /* version 1, version 2 */
    const char *used[2];
};

/**
 * @param label what the line of the hierarchy in /proc/self/cgroup has after its number
 */
static int64_t left_by_group(const char *table, const char *label, const char *root,
                             const struct group_files *files, int version)
{
    char folder[PATH_MAX];
    const char *line = strstr(table, label);
    if (line == NULL) {
        return -1;
    }
    line += strlen(label);
    snprintf(folder, sizeof(folder), "%s%.*s", root, (int)strcspn(line, "\n"), line);
    if (access(folder, F_OK) != 0) {
        snprintf(folder, sizeof(folder), "%s", root); /* As in a container that sees its own. */
    }
    return left_in_all(folder, strlen(root), files->limit[version - 1], files->used[version - 1]);
}

static int64_t left_by_groups(const struct group_files *files)
{
    char table[8192];
    char label[32];
    char root[64];
    read_small("/proc/self/cgroup", table, sizeof(table));
    snprintf(label, sizeof(label), ":%s:", files->controller);
    snprintf(root, sizeof(root), GROUPS "/%s", files->controller);
    return smaller(left_by_group(table, label, root, files, 1),
                   left_by_group(table, "0::", GROUPS, files, 2));
}

static int64_t free_memory(void)
{
    static const struct group_files files = {
        .controller = "memory",
        .limit = {"memory.limit_in_bytes", "memory.max"},
        .used = {"memory.usage_in_bytes", "memory.current"},
    };
    char text[8192];
    read_small("/proc/meminfo", text, sizeof(text));
    return smaller(admission_meminfo(text, "MemAvailable"), left_by_groups(&files));
}

static int64_t free_tasks(void)
{
    static const struct group_files files = {
        .controller = "pids",
        .limit = {"pids.max", "pids.max"},
        .used = {"pids.current", "pids.current"},
    };
    char text[64];
    struct rlimit limit;
    read_small("/proc/sys/kernel/threads-max", text, sizeof(text));
    int64_t of_kernel = to_number(text);
    int64_t of_user = getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                              limit.rlim_cur < (rlim_t)NO_LIMIT_FROM
                          ? (int64_t)limit.rlim_cur
                          : -1;
    /* Of these it is not known how many others use; half of them are left to them. */
    int64_t shared = smaller(of_kernel, of_user);
    return smaller(shared < 0 ? -1 : shared / 2, left_by_groups(&files));
}

struct admission_room admission_look(void)
{
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                    limit.rlim_cur < (rlim_t)NO_LIMIT_FROM;
    return (struct admission_room){
        .descriptors = is_known ? (int64_t)limit.rlim_cur : -1,
        .free_bytes = free_memory(),
        .free_tasks = free_tasks(),
    };
}

struct admission_room admission_share(struct admission_room room, size_t shares)
{
    int64_t count = shares < 2 ? 1 : (int64_t)shares;
    room.descriptors = room.descriptors < 0 ? -1 : room.descriptors / count;
    room.free_bytes = room.free_bytes < 0 ? -1 : room.free_bytes / count;
    room.free_tasks = room.free_tasks < 0 ? -1 : room.free_tasks / count;
    return room;
}

/** Loops that fit; -1 = any number. */
static int64_t fitting(int64_t room, int64_t spare, int64_t each)
{
    return room < 0 ? -1 : room <= spare ? 0 : (room - spare) / each;
}

static void lower(struct admission *admission, int64_t loops, const char *by)
{
    if (loops >= 0 && (uint64_t)loops < admission->max_loops) {
        admission->max_loops = (uint64_t)loops;
        snprintf(admission->limited_by, sizeof(admission->limited_by), "%s", by);
    }
}

static int64_t beside(uint64_t running, int64_t more)
{
    return more < 0 ? -1 : (int64_t)running + more;
}

struct admission admission_decide(uint64_t wanted, uint64_t running,
                                  const struct admission_room *room)
{
    struct admission admission = {.max_loops = LIMIT_LOOPS_PER_PROCESS, .limited_by = "process"};
    if (wanted > 0) {
        lower(&admission, (int64_t)(wanted < INT64_MAX ? wanted : INT64_MAX), "option");
    }
    lower(&admission,
          fitting(room->descriptors, ADMISSION_SPARE_DESCRIPTORS, ADMISSION_LOOP_DESCRIPTORS),
          "descriptors");
    lower(&admission,
          beside(running, fitting(room->free_bytes, ADMISSION_SPARE_BYTES, ADMISSION_LOOP_BYTES)),
          "memory");
    lower(&admission,
          beside(running, fitting(room->free_tasks, ADMISSION_SPARE_TASKS, ADMISSION_LOOP_TASKS)),
          "threads");
    if (admission.max_loops == 0) {
        admission.max_loops = 1; /* A server that executes nothing is of no use to anybody. */
    }
    return admission;
}
