// SPDX-License-Identifier: Apache-2.0
#include "inject.h"

#include "base/auto.h"
#include "check.h"
#include "os/file.h"
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG_LIMIT ((size_t)64 << 20)

bool inject_is_possible(void)
{
    const char *const argv[] = {"strace",      "-qq", "-o",
                                "/dev/null",   "-f",  "-e",
                                "trace=fsync", "-e",  "inject=fsync:error=EIO",
                                "true",        NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0) {
        waitpid(pid, &status, 0);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) {
        print_message("strace is missing, or may not trace here\n");
    }
    return status == 0;
}

/** Lines of the victim that acknowledge something; see victim.c. */
static bool is_ack(const char *line)
{
    static const char *const kinds[] = {"\"s ", "\"w ", "\"a ", "\"c ", "\"e ", "\"p "};
    const char *call = strstr(line, "write(1<");
    const char *text = call == NULL ? NULL : strchr(call, '"');
    for (size_t i = 0; text != NULL && i < COUNT(kinds); i++) {
        if (strncmp(text, kinds[i], 3) == 0) {
            return true;
        }
    }
    return false;
}

/** SQLite does not look at the result when it syncs a folder: nobody can notice that one. */
static bool is_noticeable(const char *line)
{
    return strstr(line, "(INJECTED)") != NULL && strstr(line, ".db") != NULL;
}

static void read_log(const char *path, struct injected *result)
{
    auto_buf struct buf log = {0};
    if (file_read(path, LOG_LIMIT, &log, NULL) < 0 || log.len == 0) {
        return;
    }
    char *rest = NULL;
    for (char *line = strtok_r(log.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        result->is_acked = result->is_acked || (result->is_noticeable && is_ack(line));
        result->is_hit = result->is_hit || strstr(line, "(INJECTED)") != NULL;
        result->is_noticeable = result->is_noticeable || is_noticeable(line);
    }
}

struct injected inject_run(struct crash_scene *scene, const char *syscalls, const char *fault,
                           const char *const *argv)
{
    char log[SCENE_PATH + 16], trace[128], inject[256];
    snprintf(log, sizeof(log), "%s/strace", scene->folder);
    snprintf(trace, sizeof(trace), "trace=%s,write", syscalls);
    snprintf(inject, sizeof(inject), "inject=%s:%s", syscalls, fault);
    const char *const first[] = {"strace", "-f", "-y", "-qq", "-o", log, "-e", trace, "-e", inject};
    const char *all[INJECT_ARGUMENTS] = {0};
    size_t count = COUNT(first);
    memcpy(all, first, sizeof(first));
    /* Then the kernel stops a process at these calls only; but strace injects no signals so. */
    if (strstr(fault, "signal=") == NULL) {
        all[count++] = "--seccomp-bpf";
    }
    while (*argv != NULL && count + 1 < INJECT_ARGUMENTS) {
        all[count++] = *argv++;
    }
    struct child *child = child_start(scene, all);
    struct injected result = {.status = child_wait(child)};
    read_log(log, &result);
    result.is_killed = WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGKILL;
    buf_append(&result.output, buf_string(&child->out), child->out.len);
    child_end(child);
    return result;
}
