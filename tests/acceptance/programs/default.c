// SPDX-License-Identifier: Apache-2.0
/* An agent with nothing but defaults: works N times and says that it is done. */
#include "program.h"

int main(int argc, char **argv)
{
    unsigned long long turns = strtoull(argc > 1 ? argv[1] : "1", NULL, 10);
    struct rondo_error error = {0};
    struct rondo *rondo = open_store();
    struct rondo_loop_options options = {.agent_id = "default"};
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &options, &error), &error);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        if (rondo_loop_iteration(loop) == turns) {
            need_ok(rondo_loop_finish(loop, RONDO_COMPLETED, "done", &error), &error);
        }
    }
    print_end(loop);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
