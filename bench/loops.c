// SPDX-License-Identifier: Apache-2.0
/* Loops of the public library for the figures. No state; any thread. */
#include "loops.h"

#include "measure.h"

static const struct rondo_loop_options options = {
    .agent_id = "bench",
    .max_iterations = 1000000000,
    .workspace = "/tmp",
};

struct rondo *loops_open(const char *path)
{
    struct rondo_error err = {0};
    struct rondo *rondo = rondo_open(&(struct rondo_options){.store = path}, &err);
    if (rondo == NULL) {
        bench_die("rondo_open: %s", err.message);
    }
    return rondo;
}

struct rondo_loop *loops_start(struct rondo *rondo)
{
    return loops_start_with(rondo, NULL);
}

struct rondo_loop *loops_start_with(struct rondo *rondo, const char *policy)
{
    struct rondo_error err = {0};
    struct rondo_loop_options ruled = options;
    ruled.policy = policy;
    struct rondo_loop *loop = rondo_loop_start(rondo, &ruled, &err);
    if (loop == NULL) {
        bench_die("rondo_loop_start: %s", err.message);
    }
    return loop;
}

struct rondo_loop *loops_resume(struct rondo *rondo, const char *run_id)
{
    struct rondo_error err = {0};
    struct rondo_loop *loop = rondo_loop_resume(rondo, run_id, NULL, &err);
    if (loop == NULL) {
        bench_die("rondo_loop_resume: %s", err.message);
    }
    return loop;
}

void loops_turn(struct rondo_loop *loop)
{
    enum rondo_turn turn = rondo_loop_next(loop);
    if (turn != RONDO_CONTINUE) {
        bench_die("rondo_loop_next: %d, %s, %s", turn, rondo_loop_status_name(loop),
                  rondo_loop_error(loop)->message);
    }
}

void loops_turns(struct rondo_loop *loop, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        loops_turn(loop);
    }
}
