// SPDX-License-Identifier: Apache-2.0
/*
 * Carrying out a PRD: what a task takes beyond its worker and its checks, in a repository of 10,000
 * files, and of a PRD of 1,000 tasks; and the memory of the process that has eight tasks at once.
 */
#include "measure.h"

#include "base/json/json.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDERS 100
#define FILES   100 /* in each */
#define TASKS   1000
#define JOBS    8
/** Bytes of the events of a run. */
#define LOG_BYTES (64 * 1024 * 1024)

extern char **environ;

static void shell(const char *format, const char *folder)
{
    char script[8192];
    snprintf(script, sizeof(script), format, folder);
    const char *const argv[] = {"/bin/sh", "-ec", script, NULL};
    (void)bench_spawn_us(argv);
}

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        bench_die("%s: %s", path, strerror(errno));
    }
    return file;
}

/** A repository with one commit. @return its path; free() */
static char *make_repository(const struct bench *bench, const char *name, int folders)
{
    char path[4300];
    char *top = strdup(bench_path(bench, name));
    if (top == NULL || mkdir(top, 0700) != 0) {
        bench_die("the repository cannot be made");
    }
    for (int i = 0; i < folders; i++) {
        snprintf(path, sizeof(path), "%s/d%03d", top, i);
        (void)mkdir(path, 0700);
        for (int k = 0; k < FILES; k++) {
            snprintf(path, sizeof(path), "%s/d%03d/f%03d.c", top, i, k);
            FILE *file = create(path);
            for (int line = 0; line < 40; line++) {
                fprintf(file, "int value_%d_%d_%d;\n", i, k, line);
            }
            (void)fclose(file);
        }
    }
    shell("cd '%s'; echo x >x; git init -q -b main .; git config user.name bench; "
          "git config user.email bench@example.org; git add .; git commit -qm begin",
          top);
    return top;
}

/** The first `done` tasks are done already. */
static void write_prd(const char *top, int tasks, int done)
{
    char path[4300];
    snprintf(path, sizeof(path), "%s/prd.json", top);
    FILE *file = create(path);
    fputs("{\"project\":\"bench\",\"branchName\":\"work\",\"userStories\":[\n", file);
    for (int i = 0; i < tasks; i++) {
        fprintf(file,
                "{\"id\":\"T-%d\",\"title\":\"Task %d\",\"description\":\"What it is about.\","
                "\"acceptanceCriteria\":[\"It is there\",\"It works\"],\"priority\":%d,"
                "\"passes\":%s,\"notes\":\"\"}%s\n",
                i, i, i + 1, i < done ? "true" : "false", i + 1 < tasks ? "," : "");
    }
    fputs("]}\n", file);
    (void)fclose(file);
}

/** Begin anew: no branch, no progress, no store. */
static void reset(const struct bench *bench, const char *top, int tasks, int done)
{
    shell("cd '%s'; git branch -qD work 2>/dev/null || true; rm -f progress.txt .prd.json.bak",
          top);
    write_prd(top, tasks, done);
    bench_remove_store(bench_path(bench, "prd.db"));
}

static pid_t start_run(const struct bench *bench, const char *top, const char *jobs,
                       const char *script)
{
    char command[9000];
    pid_t pid = 0;
    snprintf(command, sizeof(command), "cd '%s' && exec \"$@\" >'%s' 2>&1", top,
             bench_path(bench, "prd.log"));
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                command,
                                "sh",
                                bench->cli,
                                "prd",
                                "run",
                                "prd.json",
                                "--quiet",
                                "--max-attempts",
                                "2000",
                                "--store",
                                bench_path(bench, "prd.db"),
                                "--jobs",
                                jobs,
                                "--gate",
                                "true=true",
                                "--",
                                "/bin/sh",
                                "-c",
                                script,
                                NULL};
    int failure = posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ);
    if (failure != 0) {
        bench_die("rondo prd run: %s", strerror(failure));
    }
    return pid;
}

static void end_run(const struct bench *bench, pid_t pid)
{
    int status = 0;
    char said[2000];
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        const char *const argv[] = {"/usr/bin/tail", bench_path(bench, "prd.log"), NULL};
        bench_spawn_text(argv, said, sizeof(said));
        bench_die("rondo prd run has failed: %s", said);
    }
}

/** Milliseconds of each task without its checks, the first one left out: it makes the tree. */
static void read_tasks(const struct bench *bench, struct samples *samples)
{
    static char log[LOG_BYTES];
    const char *const argv[] = {bench->cli, "logs", "last", "--store", bench_path(bench, "prd.db"),
                                "--json",   NULL};
    double checks = 0;
    int seen = 0;
    bench_spawn_text(argv, log, sizeof(log));
    char *rest = NULL;
    for (char *line = strtok_r(log, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        struct json_object *event = json_tokener_parse(line);
        struct json_object *data = json_member(event, "data");
        const char *type = json_get_string(event, "type", "");
        double ms = (double)json_get_int(data, "duration_ns", 0) / 1e6;
        if (strcmp(type, "task.checked") == 0) {
            checks += ms;
        } else if (strcmp(type, "task.ended") == 0) {
            if (seen++ > 0) {
                samples_add(samples, ms - checks);
            }
            checks = 0;
        }
        json_object_put(event);
    }
}

static const char worker_script[] = "echo done >\"new-$RONDO_TASK_ID\"";

/** @param done of the tasks, before it begins */
static void measure_tasks(struct bench *bench, const char *top, int tasks, int done,
                          struct samples *samples)
{
    reset(bench, top, tasks, done);
    end_run(bench, start_run(bench, top, "1", worker_script));
    read_tasks(bench, samples);
}

/** The worker alone, in milliseconds. */
static void measure_worker(struct bench *bench, struct samples *samples)
{
    char script[4300];
    snprintf(script, sizeof(script), "cd '%s' && RONDO_TASK_ID=x && %s", bench->folder,
             worker_script);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    samples_add(samples, bench_spawn_us(argv) / 1e3);
}

static void measure_large(struct bench *bench, const char *top)
{
    struct samples ours = {0};
    struct samples again = {0};
    struct samples worker = {0};
    struct samples add = {0};
    char *tree = strdup(bench_path(bench, "worktree"));
    const char *const adding[] = {"/usr/bin/env", "git", "-C",       top,  "worktree",
                                  "add",          "-q",  "--detach", tree, NULL};
    for (size_t round = 0; round < bench_rounds(bench, 15); round++) {
        measure_tasks(bench, top, 5, 0, &ours);
        measure_worker(bench, &worker);
        samples_add(&add, bench_spawn_us(adding) / 1e3);
        shell("cd '%s' && git worktree remove --force ../worktree", top);
    }
    free(tree);
    samples_copy(&again, &ours);
    bench_row(bench,
              &(struct report_row){.name = "task of a PRD, 10,000 files, without checks",
                                   .floor_name = "the worker alone",
                                   .unit = "ms",
                                   .goal_kind = GOAL_EXCESS_MAX,
                                   .goal = 50},
              &ours, &worker);
    bench_row(
        bench,
        &(struct report_row){.name = "the same", .floor_name = "git worktree add", .unit = "ms"},
        &again, &add);
}

static void measure_many(struct bench *bench, const char *top)
{
    struct samples many = {0};
    struct samples few = {0};
    for (size_t round = 0; round < bench_rounds(bench, 15); round++) {
        measure_tasks(bench, top, TASKS, TASKS - 5, &many);
        measure_tasks(bench, top, 10, 5, &few);
    }
    bench_row(bench,
              &(struct report_row){.name = "task of a PRD of 1,000 tasks",
                                   .floor_name = "of a PRD of 10",
                                   .unit = "ms"},
              &many, &few);
}

/** Peak of a run with eight tasks at once. MiB */
static double peak_mib(struct bench *bench, const char *top, const char *jobs)
{
    char path[64];
    double peak = 0;
    siginfo_t info = {0};
    reset(bench, top, 3 * JOBS, 0);
    pid_t pid = start_run(bench, top, jobs, "sleep 0.5; echo done >\"new-$RONDO_TASK_ID\"");
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        double kib = status_kib_of(path, "VmHWM:");
        peak = kib / 1024 > peak ? kib / 1024 : peak;
        usleep(5000);
    }
    end_run(bench, pid);
    return peak;
}

static void measure_memory(struct bench *bench, const char *top)
{
    struct samples eight = {0};
    struct samples one = {0};
    for (size_t round = 0; round < 3; round++) {
        samples_add(&eight, peak_mib(bench, top, "8"));
        samples_add(&one, peak_mib(bench, top, "1"));
    }
    bench_row(bench,
              &(struct report_row){.name = "peak memory, 8 tasks at once",
                                   .floor_name = "one at a time",
                                   .unit = "MiB",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 12},
              &eight, &one);
}

void figure_prd(struct bench *bench)
{
    if (bench->cli == NULL) {
        return;
    }
    setenv("HOME", bench->folder,
           1); /* Working trees are in its cache, on the disk to be measured. */
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_STATE_HOME");
    char *large = make_repository(bench, "large", FOLDERS);
    char *small = make_repository(bench, "small", 1);
    measure_large(bench, large);
    measure_many(bench, small);
    measure_memory(bench, small);
    free(large);
    free(small);
}
