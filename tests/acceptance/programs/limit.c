// SPDX-License-Identifier: Apache-2.0
/* An agent that never finishes by itself, under a limit of iterations. */
#include "program.h"

int main(int argc, char **argv)
{
    struct rondo_error error = {0};
    struct rondo *rondo = open_store();
    struct rondo_loop_options options = {
        .agent_id = "limit",
        .max_iterations = strtoull(argc > 1 ? argv[1] : "50", NULL, 10),
    };
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &options, &error), &error);
    int bodies = 0;
    enum rondo_turn turn;
    while ((turn = rondo_loop_next(loop)) == RONDO_CONTINUE) {
        bodies++;
    }
    printf("bodies %d\n", bodies);
    if (turn == RONDO_POLICY_VIOLATED) {
        print_end(loop);
    }
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
