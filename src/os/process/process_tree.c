// SPDX-License-Identifier: Apache-2.0
/*
 * Walking proc(5). A process that ends between the look and the signal is no harm: numbers are
 * handed out in a circle, so that one is not used again at once. No state; any thread.
 */
#include "os/process/process_tree.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A fork bomb needs several rounds of stopping, as its members stop one after the other. */
#define STOP_LIMIT_NS (2 * NS_PER_S)

struct process {
    pid_t pid;
    pid_t parent;
    bool is_descendant;
    bool is_stopped; /* or asleep in the kernel, where signals wait too */
};

struct process_list {
    struct process *items;
    size_t count;
    size_t room;
};

/** State letter and parent of a process or thread. */
static bool read_stat(int proc, const char *path, char *ret_state, pid_t *ret_parent)
{
    char text[512];
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *fields = strrchr(text, ')');
    return fields != NULL && sscanf(fields, ") %c %d", ret_state, ret_parent) == 2;
}

static bool has_ended(char state)
{
    return state == 'Z' || state == 'X';
}

/**
 * State of a thread that has not ended, of a process whose first thread has: /proc shows the state
 * of the first one as the state of the process, although the others run on.
 */
static char state_of_others(int proc, pid_t pid)
{
    char path[64];
    char result = 'Z';
    pid_t parent;
    snprintf(path, sizeof(path), "%d/task", (int)pid);
    int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *threads = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    while (threads != NULL && has_ended(result) && (entry = readdir(threads)) != NULL) {
        char state;
        snprintf(path, sizeof(path), "%.20s/stat", entry->d_name);
        if (ascii_is_digit(entry->d_name[0]) && read_stat(fd, path, &state, &parent)) {
            result = state;
        }
    }
    if (threads != NULL) {
        closedir(threads);
    } else if (fd >= 0) {
        close(fd);
    }
    return result;
}

/** @return false for a process that is gone or only waits to be reaped */
static bool read_process(int proc, pid_t pid, char *ret_state, pid_t *ret_parent)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/stat", (int)pid);
    if (!read_stat(proc, path, ret_state, ret_parent)) {
        return false;
    }
    if (has_ended(*ret_state)) {
        *ret_state = state_of_others(proc, pid);
    }
    return !has_ended(*ret_state);
}

bool process_tree_is_alive(int proc_fd, pid_t pid)
{
    char state;
    pid_t parent;
    return read_process(proc_fd, pid, &state, &parent);
}

static void list_add(struct process_list *list, struct process process)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 256 : list->room * 2;
        list->items = memory_resize(list->items, list->room, sizeof(*list->items));
    }
    list->items[list->count++] = process;
}

static struct process_list list_all(void)
{
    struct process_list list = {0};
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        if (ascii_is_digit(entry->d_name[0])) {
            struct process process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};
            char state;
            if (read_process(dirfd(proc), process.pid, &state, &process.parent)) {
                process.is_stopped = state == 'T' || state == 't' || state == 'D';
                list_add(&list, process);
            }
        }
    }
    if (proc != NULL) {
        closedir(proc);
    }
    return list;
}

static int compare_processes(const void *left, const void *right)
{
    const struct process *a = left;
    const struct process *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/** `list` is sorted. */
static bool is_parent_marked(const struct process_list *list, pid_t parent, pid_t root)
{
    if (parent == root) {
        return true;
    }
    const struct process key = {.pid = parent};
    const struct process *found =
        bsearch(&key, list->items, list->count, sizeof(key), compare_processes);
    return found != NULL && found->is_descendant;
}

/** Mark descendants until a whole round finds no more. */
static void mark_descendants(struct process_list *list, pid_t root)
{
    bool has_changed = list->count > 0;
    if (has_changed) {
        qsort(list->items, list->count, sizeof(*list->items), compare_processes);
    }
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < list->count; i++) {
            struct process *item = &list->items[i];
            if (!item->is_descendant && is_parent_marked(list, item->parent, root)) {
                item->is_descendant = true;
                has_changed = true;
            }
        }
    }
}

static struct process_list list_descendants(pid_t root)
{
    struct process_list list = list_all();
    mark_descendants(&list, root);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].is_descendant) {
            list.items[count++] = list.items[i];
        }
    }
    list.count = count;
    return list;
}

size_t process_tree_signal(pid_t root, int signal_number)
{
    struct process_list list = list_descendants(root);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        count += kill(list.items[i].pid, signal_number) == 0 ? 1 : 0;
    }
    free(list.items);
    return count;
}

/**
 * Stop all descendants, and keep those that still run from starting another: a limit of one process
 * holds for what they start in this moment too. (It does not bind root; control groups do.)
 * @return how many ran
 */
static size_t stop_running(pid_t root)
{
    static const struct rlimit one = {.rlim_cur = 1, .rlim_max = 1};
    struct process_list list = list_descendants(root);
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (!list.items[i].is_stopped) {
            kill(list.items[i].pid, SIGSTOP);
            (void)prlimit(list.items[i].pid, RLIMIT_NPROC, &one, NULL);
            count++;
        }
    }
    free(list.items);
    return count;
}

void process_tree_kill(pid_t root)
{
    int64_t deadline_ns = clock_monotonic(clock_system()) + STOP_LIMIT_NS;
    while (stop_running(root) > 0 && clock_monotonic(clock_system()) < deadline_ns) {
    }
    process_tree_signal(root, SIGKILL);
}
