// SPDX-License-Identifier: Apache-2.0
/* An agent that uses 30 tokens an iteration, under a token budget. */
#include "program.h"

int main(int argc, char **argv)
{
    struct rondo_error error = {0};
    struct rondo *rondo = open_store();
    struct rondo_loop_options options = {
        .agent_id = "budget",
        .max_iterations = 1000,
        .max_tokens = strtoll(argc > 1 ? argv[1] : "100", NULL, 10),
    };
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &options, &error), &error);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        rondo_loop_use(loop, 30, 0);
    }
    print_end(loop);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
