// SPDX-License-Identifier: Apache-2.0
/* Tries to enter its own run, and the loop of an exclusive agent, a second time. */
#include "program.h"

static void try_again(struct rondo *rondo, const struct rondo_loop *loop,
                      const struct rondo_loop_options *options)
{
    struct rondo_error error = {0};
    char pid[32];
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    struct rondo_loop *second = rondo_loop_resume(rondo, rondo_loop_run_id(loop), NULL, &error);
    printf("second entry %s\n", second == NULL ? rondo_code_name(error.code) : "allowed");
    printf("the message %s the holder\n",
           strstr(error.message, pid) != NULL ? "names" : error.message);
    second = rondo_loop_start(rondo, options, &error);
    printf("exclusive agent %s\n", second == NULL ? rondo_code_name(error.code) : "allowed");
}

int main(void)
{
    struct rondo_error error = {0};
    struct rondo *rondo = open_store();
    struct rondo_loop_options options = {
        .agent_id = "reentry", .is_exclusive = true, .max_iterations = 1};
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &options, &error), &error);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        try_again(rondo, loop, &options);
    }
    print_end(loop);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
