// SPDX-License-Identifier: Apache-2.0
/* Memory: the peak of one loop's process, and what each of many loops at once adds. */
#include "measure.h"

#include <string.h>

static double measure(const struct bench *bench, const char *mode, const char *count)
{
    char program[4096];
    snprintf(program, sizeof(program), "%s/bench_memory", bench->programs);
    const char *store = bench_path(bench, "memory.db");
    const char *const argv[] = {program, mode, store, count, NULL};
    bench_remove_store(store);
    return bench_spawn_number(argv);
}

void figure_memory(struct bench *bench)
{
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 5); round++) {
        samples_add(&ours, measure(bench, "one", "1000"));
        samples_add(&bare, measure(bench, "bare", "1000"));
    }
    bench_row(bench,
              &(struct report_row){.name = "peak memory of one loop, 1,000 iterations",
                                   .floor_name = "1,000 bare commits",
                                   .unit = "MiB",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 8},
              &ours, &bare);
    for (size_t round = 0; round < 3; round++) {
        samples_add(&ours, 1024 * measure(bench, "many", "1000"));
        samples_add(&bare, 1024 * measure(bench, "bare", "1000"));
    }
    bench_row(bench,
              &(struct report_row){.name = "memory that each of 1,000 loops adds",
                                   .floor_name = "a whole process of bare commits",
                                   .unit = "KiB"},
              &ours, &bare);
}
