// SPDX-License-Identifier: Apache-2.0
/*
 * Start to first iteration: from the start of the process until the first body runs, for a program
 * of the library on an existing and on a new store, and for the command line until its worker runs.
 */
#include "measure.h"

#include <unistd.h>

static const char *program(const struct bench *bench, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", bench->programs, name);
    return path;
}

static void measure_library(struct bench *bench, const char *name, bool is_new)
{
    const char *store = bench_path(bench, "start.db");
    const char *const first[] = {program(bench, "bench_first"), store, NULL};
    const char *const floor[] = {"/bin/true", NULL};
    bench_remove_store(store);
    bench_spawn_us(first);
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        if (is_new) {
            bench_remove_store(store);
        }
        double began = now_us();
        samples_add(&ours, (bench_spawn_number(first) - began) / 1e3);
        samples_add(&bare, bench_spawn_us(floor) / 1e3);
    }
    bench_row(bench,
              &(struct report_row){.name = name,
                                   .floor_name = "/bin/true",
                                   .unit = "ms",
                                   .goal_kind = GOAL_EXCESS_MAX,
                                   .goal = 5},
              &ours, &bare);
}

/** Time from the start of a program until its worker has noted that it runs. */
static double begin_worker_ms(const char *const *argv, const char *mark)
{
    unlink(mark);
    double began = now_us();
    bench_spawn_us(argv);
    FILE *file = fopen(mark, "r");
    double begun = 0;
    if (file == NULL || fscanf(file, "%lf", &begun) != 1) {
        bench_die("the worker left no mark");
    }
    fclose(file);
    return (begun - began) / 1e3;
}

static void measure_command_line(struct bench *bench)
{
    const char *store = bench_path(bench, "cli.db");
    const char *mark = bench_path(bench, "mark");
    const char *marker = program(bench, "bench_mark");
    const char *const argv[] = {bench->cli, "loop", "--store", store, "--", marker, mark, NULL};
    const char *const floor[] = {marker, mark, NULL};
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 50); round++) {
        samples_add(&ours, begin_worker_ms(argv, mark));
        samples_add(&bare, begin_worker_ms(floor, mark));
    }
    bench_row(bench,
              &(struct report_row){.name = "rondo loop: start until the worker runs",
                                   .floor_name = "the worker alone",
                                   .unit = "ms",
                                   .goal_kind = GOAL_EXCESS_MAX,
                                   .goal = 5},
              &ours, &bare);
}

void figure_start(struct bench *bench)
{
    measure_library(bench, "library: start to first body, existing store", false);
    measure_library(bench, "library: start to first body, new store", true);
    if (bench->cli != NULL) {
        measure_command_line(bench);
    }
}
