// SPDX-License-Identifier: Apache-2.0
/* Costs that must not grow with history: an iteration, and a resume, after 10,000 iterations. */
#include "loops.h"
#include "measure.h"

#include <string.h>

#define SHORT 10
#define LONG  10000

/** Median time of the next few iterations. */
static double iteration_us(struct rondo_loop *loop)
{
    struct samples samples = {0};
    for (int i = 0; i < SHORT; i++) {
        double began = now_us();
        loops_turn(loop);
        samples_add(&samples, now_us() - began);
    }
    double median = samples_spread(&samples).median;
    samples_fini(&samples);
    return median;
}

static void measure_iterations(struct bench *bench, struct rondo *rondo, struct rondo_loop *old)
{
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 60); round++) {
        struct rondo_loop *young = loops_start(rondo);
        loops_turns(young, SHORT / 2);
        samples_add(&bare, iteration_us(young));
        rondo_loop_free(young);
        samples_add(&ours, iteration_us(old));
    }
    bench_row(bench,
              &(struct report_row){.name = "iteration 10,000",
                                   .floor_name = "iteration 10",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.1},
              &ours, &bare);
}

/** Time from the request to resume until the next body. */
static double resume_us(struct rondo *rondo, const char *run_id)
{
    double began = now_us();
    struct rondo_loop *loop = loops_resume(rondo, run_id);
    loops_turn(loop);
    double duration = now_us() - began;
    rondo_loop_free(loop);
    return duration;
}

static void measure_resumes(struct bench *bench, struct rondo *rondo, const char *old_id,
                            const char *young_id)
{
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 100); round++) {
        samples_add(&ours, resume_us(rondo, old_id));
        samples_add(&bare, resume_us(rondo, young_id));
    }
    bench_row(bench,
              &(struct report_row){.name = "resume after 10,000 iterations",
                                   .floor_name = "resume after 10",
                                   .unit = "us",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.1},
              &ours, &bare);
}

void figure_history(struct bench *bench)
{
    struct rondo *rondo = loops_open(bench_path(bench, "history.db"));
    struct rondo_loop *old = loops_start(rondo);
    loops_turns(old, LONG);
    measure_iterations(bench, rondo, old);
    struct rondo_loop *young = loops_start(rondo);
    loops_turns(young, SHORT);
    char old_id[64];
    char young_id[64];
    snprintf(old_id, sizeof(old_id), "%s", rondo_loop_run_id(old));
    snprintf(young_id, sizeof(young_id), "%s", rondo_loop_run_id(young));
    rondo_loop_free(old);
    rondo_loop_free(young);
    measure_resumes(bench, rondo, old_id, young_id);
    rondo_close(rondo);
}
