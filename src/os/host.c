// SPDX-License-Identifier: Apache-2.0
/* Facts about processes from proc(5), and about users. No state; any thread. */
#include "os/host.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/file.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROC_FILE_BYTES 65536
/** One entry of the password database. */
#define PASSWORD_ENTRY_BYTES 16384

static void read_boot_id(char boot_id[37])
{
    auto_buf struct buf content = {0};
    boot_id[0] = '\0';
    if (file_read("/proc/sys/kernel/random/boot_id", PROC_FILE_BYTES, &content, NULL) == 0) {
        snprintf(boot_id, 37, "%.36s", buf_string(&content));
    }
}

static uint64_t read_pid_space(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

void host_boot(char *ret_boot)
{
    char boot_id[37];
    struct stat status;
    read_boot_id(boot_id);
    /* Before Linux 5.6 there are no time namespaces. */
    uint64_t space = stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
    if (boot_id[0] == '\0') {
        ret_boot[0] = '\0';
    } else {
        snprintf(ret_boot, HOST_BOOT_SIZE, "%s/%" PRIu64, boot_id, space);
    }
}

/**
 * State letter and start time of a process. The name in field 2 may hold blanks and brackets, so
 * counting starts after its last bracket. The first thread's entry says the same as the
 * process's, for which the kernel adds up the times of all threads: 1,000 of them in a server.
 */
static bool read_stat(int64_t pid, char *ret_state, uint64_t *ret_started)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%" PRId64 "/task/%" PRId64 "/stat", pid, pid);
    auto_buf struct buf content = {0};
    if (file_read(path, PROC_FILE_BYTES, &content, NULL) != 0) {
        return false;
    }
    const char *fields = strrchr(buf_string(&content), ')');
    return fields != NULL &&
           sscanf(fields,
                  ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%*s %*s %" SCNu64,
                  ret_state, ret_started) == 2;
}

void host_describe_self(struct host_process *ret_process)
{
    *ret_process = (struct host_process){.pid = getpid(), .pid_space = read_pid_space()};
    if (gethostname(ret_process->host, sizeof(ret_process->host) - 1) != 0) {
        ret_process->host[0] = '\0';
    }
    read_boot_id(ret_process->boot_id);
    char state;
    if (!read_stat(ret_process->pid, &state, &ret_process->started)) {
        ret_process->started = 0;
    }
}

static bool is_same_space(const struct host_process *process)
{
    char boot_id[37];
    read_boot_id(boot_id);
    return boot_id[0] != '\0' && strcmp(boot_id, process->boot_id) == 0 &&
           process->pid_space != 0 && process->pid_space == read_pid_space();
}

bool host_is_dead(const struct host_process *process)
{
    if (process->pid <= 0 || process->pid > INT32_MAX || !is_same_space(process)) {
        return false;
    }
    if (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    /* The process may be hidden from us (mount option hidepid); then nothing is certain. */
    char state;
    uint64_t started;
    if (process->started == 0 || !read_stat(process->pid, &state, &started)) {
        return false;
    }
    return started != process->started || state == 'Z' || state == 'X';
}

bool host_is_alive(const struct host_process *process)
{
    char state;
    uint64_t started;
    return process->pid > 0 && process->started != 0 && is_same_space(process) &&
           read_stat(process->pid, &state, &started) && started == process->started &&
           state != 'Z' && state != 'X';
}

/* ---- Users ---------------------------------------------------------------------------------- */

/** @param room PASSWORD_ENTRY_BYTES, for the texts of the entry */
static bool read_user(uid_t user, struct passwd *ret_entry, char *room)
{
    struct passwd *found = NULL;
    return getpwuid_r(user, ret_entry, room, PASSWORD_ENTRY_BYTES, &found) == 0 && found != NULL;
}

bool host_user_name(uid_t user, char *ret_name, size_t size)
{
    auto_free char *room = memory_new(PASSWORD_ENTRY_BYTES);
    struct passwd entry;
    if (read_user(user, &entry, room) && strlen(entry.pw_name) < size) {
        snprintf(ret_name, size, "%s", entry.pw_name);
        return true;
    }
    snprintf(ret_name, size, "%lu", (unsigned long)user);
    return false;
}

char *host_home(void)
{
    const char *home = getenv("HOME");
    if (home != NULL && home[0] == '/') {
        return memory_dup_string(home);
    }
    auto_free char *room = memory_new(PASSWORD_ENTRY_BYTES);
    struct passwd entry;
    bool is_known = read_user(geteuid(), &entry, room) && entry.pw_dir[0] == '/';
    return is_known ? memory_dup_string(entry.pw_dir) : NULL;
}

char *host_cache(void)
{
    const char *given = getenv("XDG_CACHE_HOME");
    if (given != NULL && given[0] == '/') {
        return memory_dup_string(given);
    }
    auto_free char *home = host_home();
    struct buf path = {0};
    if (home == NULL) {
        return NULL;
    }
    buf_printf(&path, "%s/.cache", home);
    return buf_steal(&path);
}
