// SPDX-License-Identifier: Apache-2.0
/* Bodies: a worker's, a coding agent's or an agent's. */
#include "worker/body.h"

#include "base/memory.h"
#include "os/spawn/sandbox_trial.h"
#include "work/spec.h"

#include <stdlib.h>

bool body_is_known(const struct loop_spec *spec)
{
    return spec->command != NULL || spec->agent != NULL || spec->coding != NULL ||
           work_is_parent(spec);
}

static int open_one(struct loop *loop, const struct worker_options *options, struct agent *agent,
                    void **ret_body, struct rondo_error *err)
{
    struct body *body = memory_new_zero(1, sizeof(*body));
    int r = body_open(loop, options, agent, body, err);
    if (r < 0) {
        free(body);
        return r;
    }
    *ret_body = body;
    return 0;
}

static int run_one(void *body, struct rondo_error *err)
{
    return body_run(body, err);
}

static void close_one(void *body)
{
    body_close(body);
    free(body);
}

static const struct worker_bodies bodies = {open_one, run_one, close_one};

int body_open(struct loop *loop, const struct worker_options *worker_options, struct agent *agent,
              struct body *ret_body, struct rondo_error *err)
{
    *ret_body = (struct body){.loop = loop, .agent = agent};
    if (loop_spec(loop)->coding != NULL) {
        return coding_agent_new(loop, worker_options, &ret_body->coding, err);
    }
    if (work_is_parent(loop_spec(loop))) {
        return worker_children_new(loop, worker_options, &bodies, &ret_body->children, err);
    }
    return agent != NULL ? agent_attach(agent, loop, err)
                         : worker_new(loop, worker_options, &ret_body->worker, err);
}

void body_close(struct body *body)
{
    if (body != NULL) {
        worker_free(body->worker);
        coding_agent_free(body->coding);
        body->coding = NULL;
        worker_children_free(body->children);
        body->worker = NULL;
        body->children = NULL;
    }
}

int body_run(struct body *body, struct rondo_error *err)
{
    if (body->agent != NULL) {
        return agent_run(body->agent, NULL, err);
    }
    if (body->children != NULL) {
        return worker_children_run(body->children, err);
    }
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    int r =
        body->coding != NULL ? coding_agent_run(body->coding, err) : worker_run(body->worker, err);
    if (r < 0) {
        struct loop_body_result failed = {.outcome = LOOP_UNRECOVERABLE, .message = err->message};
        loop_report(body->loop, &failed);
    }
    return 0;
}

static bool has_tier(int64_t number, bool is_worker, struct body_sandbox *ret_missing)
{
    struct body_sandbox found = {.tier = (enum sandbox_tier)number, .is_worker = is_worker};
    if (found.tier == SANDBOX_NONE || sandbox_is_available(found.tier, found.reason)) {
        return true;
    }
    *ret_missing = found;
    return false;
}

bool body_has_sandbox(const struct loop_spec *spec, struct body_sandbox *ret_missing)
{
    return (spec->condition_count == 0 || has_tier(spec->verifier_tier, false, ret_missing)) &&
           has_tier(spec->worker_tier, true, ret_missing);
}
