// SPDX-License-Identifier: Apache-2.0
/*
 * Passing a cancel on to a loop that is executed for somebody: a thread of its own waits for it. A
 * higher level that comes later is passed on, too.
 */
#pragma once

#include "base/cancel.h"
#include "loop/driver/driver.h"

#include <pthread.h>

struct loop_passing {
    struct cancel *from; /**< NULL = there is nothing to pass on */
    struct loop *to;
    bool parks; /**< the run is parked, and can be continued; else it is stopped */

    /* Its own. */
    struct cancel done;
    pthread_t thread;
    bool is_started;
};

/** Begin. @param passing with its first three members set; outlives loop_passing_end() */
int loop_passing_begin(struct loop_passing *passing, struct rondo_error *err);

/** End, and join the thread. One that has not begun is allowed. */
void loop_passing_end(struct loop_passing *passing);
