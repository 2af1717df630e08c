// SPDX-License-Identifier: Apache-2.0
/* Bodies: a worker's or an agent's. */
#include "worker/body.h"

#include "os/spawn/sandbox_trial.h"

bool body_is_known(const struct loop_spec *spec)
{
    return spec->command != NULL || spec->agent != NULL;
}

int body_open(struct loop *loop, const struct worker_options *worker_options, struct agent *agent,
              struct body *ret_body, struct rondo_error *err)
{
    *ret_body = (struct body){.loop = loop, .agent = agent};
    return agent != NULL ? agent_attach(agent, loop, err)
                         : worker_new(loop, worker_options, &ret_body->worker, err);
}

void body_close(struct body *body)
{
    if (body != NULL) {
        worker_free(body->worker);
        body->worker = NULL;
    }
}

int body_run(struct body *body, struct rondo_error *err)
{
    if (body->agent != NULL) {
        return agent_run(body->agent, NULL, err);
    }
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    if (worker_run(body->worker, err) < 0) {
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
