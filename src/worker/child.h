// SPDX-License-Identifier: Apache-2.0
/*
 * The body of a PRD's run (work/executor.h) with the runs that work on its tasks: each is a run of
 * its own, with its own journal and body, executed on a thread of its attempt. It is under the
 * policies and limits of the parent as well as its own, is parked when the parent is, and nobody
 * but the parent continues it.
 */
#pragma once

#include "loop/driver/driver.h"
#include "worker/worker.h"

struct worker_children;
struct agent;

/** How the bodies of these runs are executed: what worker/body.h does for any run. */
struct worker_bodies {
    int (*open)(struct loop *loop, const struct worker_options *options, struct agent *agent,
                void **ret_body, struct rondo_error *err);
    int (*run)(void *body, struct rondo_error *err);
    void (*close)(void *body);
};

/** Open the body. @param loop outlives it @param bodies static. The rest as for body_open */
int worker_children_new(struct loop *loop, const struct worker_options *options,
                        const struct worker_bodies *bodies, struct worker_children **ret_children,
                        struct rondo_error *err);

/** Run the body of one iteration. */
int worker_children_run(struct worker_children *children, struct rondo_error *err);

/** Park what runs, and release. NULL is allowed. */
void worker_children_free(struct worker_children *children);
