// SPDX-License-Identifier: Apache-2.0
/* An agent that meets an error beyond recovery in iteration N; checkpoints are rare. */
#include "program.h"

int main(int argc, char **argv)
{
    struct rondo_error error = {0};
    struct rondo *rondo = open_store();
    struct rondo_loop_options options = {.agent_id = "abort", .checkpoint_interval = 100};
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &options, &error), &error);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        if (rondo_loop_iteration(loop) == strtoull(argc > 1 ? argv[1] : "3", NULL, 10)) {
            rondo_loop_abort(loop, "the disk melted");
        }
    }
    print_end(loop);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
