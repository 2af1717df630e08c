// SPDX-License-Identifier: Apache-2.0
/* Helper: start a loop and print when its first body runs (CLOCK_MONOTONIC, us). bench_first STORE
 */
#include "loops.h"
#include "measure.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    struct rondo *rondo = loops_open(argv[1]);
    struct rondo_loop *loop = loops_start(rondo);
    loops_turn(loop);
    printf("%.3f\n", now_us());
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
