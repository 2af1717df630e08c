// SPDX-License-Identifier: Apache-2.0
/*
 * Coding agents: a body that is a session of a command line such as claude or codex. Each iteration
 * starts the program once, with the task (later: and what the last verification found) on its
 * stdin, as an argument or in a file. What it writes becomes events; what it came to is decided by
 * worker/coding/result.h, and by the exit conditions of the run. docs/coding-agents.md is the
 * contract.
 *
 * The id of a session is in the journal before the program starts where the agent lets Rondo choose
 * it, so an iteration that was cut off resumes its session.
 */
#pragma once

#include "loop/driver/driver.h"
#include "worker/coding/record.h"
#include "worker/worker.h"

struct coding_agent;

/**
 * Prepare to run the coding agent that a loop's spec holds.
 * @param loop must outlive it
 */
int coding_agent_new(struct loop *loop, const struct worker_options *options,
                     struct coding_agent **ret_agent, struct rondo_error *err);

/** Remove the hand-over folder and release. NULL is allowed. */
void coding_agent_free(struct coding_agent *agent);

/**
 * Run one iteration's body and report it. Whatever the agent does is an outcome, not an error.
 * @return 0, or a negative code when the hand-over files cannot be written or events not be kept
 */
int coding_agent_run(struct coding_agent *agent, struct rondo_error *err);

/** How the last session of a run ended. */
struct coding_ended {
    bool is_known;
    enum coding_class outcome;
    char session[CODING_WORD_SIZE]; /**< as the agent names it; "" = it has no name */
    int64_t until_ns;               /**< Unix time before which nothing should begin; 0 = at once */
    uint64_t denials;
};

/** Read it from the journal of a run, which may be over. Any thread. */
int coding_last_session(struct store *store, const char *run_id, struct coding_ended *ret_ended,
                        struct rondo_error *err);
