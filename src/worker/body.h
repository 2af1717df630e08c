// SPDX-License-Identifier: Apache-2.0
/*
 * What runs the bodies of a loop: a worker command, a coding agent or the agent of a role. The
 * executor of a run, in the foreground or for a server, opens it around the loop and runs it until
 * something else must be done.
 *
 * A body belongs to the thread of its loop.
 */
#pragma once

#include "agent/agent.h"
#include "loop/driver/driver.h"
#include "worker/child.h"
#include "worker/coding_agent.h"
#include "worker/worker.h"

struct body {
    struct loop *loop;
    struct worker *worker;            /**< owned; or */
    struct coding_agent *coding;      /**< owned; or */
    struct agent *agent;              /**< which is the caller's; or */
    struct worker_children *children; /**< owned: those of a PRD's run */
};

/** Whether this program can run the bodies of a run: those of a library run somewhere else. */
bool body_is_known(const struct loop_spec *spec);

/**
 * Open what the loop's spec requests.
 * @param worker_options for a worker command
 * @param agent          opened for the run, which then is one of a role; attached here. Or NULL
 * @param ret_body       body_close(), before the loop is freed
 */
int body_open(struct loop *loop, const struct worker_options *worker_options, struct agent *agent,
              struct body *ret_body, struct rondo_error *err);

/** NULL is allowed, and a body that could not be opened. */
void body_close(struct body *body);

/**
 * Run the body that loop_next has handed out, and report it. A worker that cannot be handed its
 * files ends the run.
 * @return 0, or a negative code when nothing can be recorded any more
 */
int body_run(struct body *body, struct rondo_error *err);

/** A tier that a spec requests and that does not work here. */
struct body_sandbox {
    enum sandbox_tier tier;
    bool is_worker;   /**< it is the worker's, else that of the exit conditions */
    char reason[256]; /**< for people */
};

/**
 * Find out by trying whether the sandboxes that a spec requests work here. Takes some milliseconds.
 * @param ret_missing set when the answer is false
 */
bool body_has_sandbox(const struct loop_spec *spec, struct body_sandbox *ret_missing);
