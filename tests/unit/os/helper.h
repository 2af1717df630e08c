// SPDX-License-Identifier: Apache-2.0
/* What the tests of this layer share: scratch folders, short ways to run, looking at processes. */
#pragma once

#include "base/cancel.h"
#include "base/clock.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/spawn/spawn.h"
#include "os/spawn/supervise.h"
#include "support/scratch.h"
#include "support/test.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Nothing here takes this long, even on a slow machine under a sanitizer. */
#define GENEROUS_NS (60 * NS_PER_S)
/** For commands that would run for ever. */
#define FOREVER "sleep 1000"

extern char **environ;

/** Make a scratch folder; the caller removes it with scratch_remove. */
static inline void scratch_make(char path[PATH_MAX])
{
    assert_true(scratch_new(path, PATH_MAX));
}

static inline void scratch_remove(const char *path)
{
    assert_int_equal(file_remove_tree(path, NULL), 0);
}

/** Write a file that holds `text`. */
static inline void scratch_write(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
}

/** A request for a shell script in /tmp; `slot` holds its argv. */
static inline struct spawn_request shell_request(const char *script, const char *slot[4])
{
    slot[0] = "sh";
    slot[1] = "-c";
    slot[2] = script;
    slot[3] = NULL;
    return (struct spawn_request){
        .argv = slot,
        .envp = (const char *const *)environ,
        .directory = "/tmp",
        .total_ns = GENEROUS_NS,
        .grace_ns = GENEROUS_NS,
        .output_keep = 8192,
    };
}

/** Run, insisting that this process lacks nothing. */
static inline struct spawn_result run(const struct spawn_request *request)
{
    struct spawn_result result = {0};
    struct rondo_error error = {0};
    if (spawn_run(request, &result, &error) != 0) {
        fail_msg("%s", error.message);
    }
    return result;
}

/** A command that ignores the request to end, and says when it does. */
#define STUBBORN "trap '' TERM; echo go; while :; do sleep 0.01; done"

static inline void request_the_end(void *context, const char *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    cancel_set(context, CANCEL_GRACEFUL);
}

/** STUBBORN is asked to end as soon as it ignores that, and is killed after its grace. */
static inline void assert_killed_after_grace(struct spawn_request request)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    request.grace_ns = 100 * NS_PER_MS;
    request.cancel = &cancel;
    request.on_output = request_the_end;
    request.on_output_context = &cancel;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_CANCELLED);
    assert_int_equal(result.signal, SIGKILL);
    cancel_fini(&cancel);
    spawn_result_fini(&result);
}

/** Whether a process is gone or only waits to be reaped. */
static inline bool process_is_gone(pid_t pid)
{
    char path[64];
    char text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return true;
    }
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *end = strrchr(text, ')');
    return end == NULL || end[2] == 'Z' || end[2] == 'X';
}

/** Wait until a process is gone. */
static inline void wait_until_gone(pid_t pid)
{
    int64_t deadline = clock_monotonic(clock_system()) + GENEROUS_NS;
    while (!process_is_gone(pid)) {
        assert_true(clock_monotonic(clock_system()) < deadline);
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
}

/** How many living processes have `marker` in a file of theirs in /proc. */
static inline int count_processes_with(const char *name, const char *marker)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while ((entry = readdir(proc)) != NULL) {
        char path[300];
        char text[4096];
        snprintf(path, sizeof(path), "/proc/%.16s/%s", entry->d_name, name);
        FILE *file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "re") : NULL;
        if (file == NULL) {
            continue;
        }
        size_t len = fread(text, 1, sizeof(text), file);
        fclose(file);
        if (memmem(text, len, marker, strlen(marker)) != NULL &&
            !process_is_gone((pid_t)strtol(entry->d_name, NULL, 10))) {
            count++;
        }
    }
    closedir(proc);
    return count;
}

/** How many living processes have `marker` in their command line. */
static inline int count_processes(const char *marker)
{
    return count_processes_with("cmdline", marker);
}

/** Numbers that a command printed, one a line. @return how many */
static inline int read_numbers(const char *text, int *ret_numbers, int max)
{
    int count = 0;
    while (count < max && sscanf(text, "%d", &ret_numbers[count]) == 1) {
        count++;
        text = strchr(text, '\n');
        if (text == NULL) {
            break;
        }
        text++;
    }
    return count;
}
