// SPDX-License-Identifier: Apache-2.0
/* What the agent programs of the acceptance tests share: ending on an error. */
#pragma once

#include <rondo/rondo.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void *need(void *object, const struct rondo_error *error)
{
    if (object == NULL) {
        fprintf(stderr, "%s: %s\n", rondo_code_name(error->code), error->message);
        exit(1);
    }
    return object;
}

static inline void need_ok(int code, const struct rondo_error *error)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", rondo_code_name(code), error->message);
        exit(1);
    }
}

static inline struct rondo *open_store(void)
{
    struct rondo_error error = {0};
    return need(rondo_open(&(struct rondo_options){0}, &error), &error);
}

static inline void print_end(const struct rondo_loop *loop)
{
    struct rondo_violation violation;
    printf("status %s\n", rondo_loop_status_name(loop));
    if (rondo_loop_violation(loop, &violation)) {
        printf("violation policy=%s limit_name=%s limit=%lld value=%lld iteration=%llu\n",
               violation.policy_id, violation.limit_name, (long long)violation.limit,
               (long long)violation.value, (unsigned long long)violation.iteration);
    }
}
