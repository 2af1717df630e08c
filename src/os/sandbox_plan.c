// SPDX-License-Identifier: Apache-2.0
/* Interim: every sandbox tier is refused until it is built. */
#include "os/sandbox_plan.h"

#include <stdio.h>

int sandbox_plan_make(const struct spawn_request *request, struct sandbox_plan **ret_plan,
                      char ret_reason[256], struct rondo_error *err)
{
    (void)request;
    (void)err;
    *ret_plan = NULL;
    snprintf(ret_reason, 256, "this build has no sandbox yet");
    return 0;
}

const char *sandbox_plan_program(const struct sandbox_plan *plan)
{
    (void)plan;
    return NULL;
}

const char *const *sandbox_plan_argv(const struct sandbox_plan *plan)
{
    (void)plan;
    return NULL;
}

const char *const *sandbox_plan_envp(const struct sandbox_plan *plan)
{
    (void)plan;
    return NULL;
}

const int *sandbox_plan_carried(const struct sandbox_plan *plan, size_t *ret_count)
{
    (void)plan;
    *ret_count = 0;
    return NULL;
}

const char *const *sandbox_plan_groups(const struct sandbox_plan *plan)
{
    (void)plan;
    return NULL;
}

void sandbox_plan_started(struct sandbox_plan *plan)
{
    (void)plan;
}

int sandbox_plan_poll_fd(const struct sandbox_plan *plan)
{
    (void)plan;
    return -1;
}

void sandbox_plan_advance(struct sandbox_plan *plan)
{
    (void)plan;
}

bool sandbox_plan_terminate(struct sandbox_plan *plan)
{
    (void)plan;
    return false;
}

bool sandbox_plan_has_run(struct sandbox_plan *plan, const char *output, char ret_reason[256])
{
    (void)plan;
    (void)output;
    (void)ret_reason;
    return true;
}

void sandbox_plan_free(struct sandbox_plan *plan)
{
    (void)plan;
}
