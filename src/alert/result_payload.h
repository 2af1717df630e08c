// SPDX-License-Identifier: Apache-2.0
/* What a sink of a role gets: the run and its result, read from its journal. Any thread. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct json_object;
struct store;

/** A run that has ended. */
struct result_run {
    struct json_object *created; /**< data of its first event; owned */
    char *workspace;
    bool is_success;
    struct buf output;  /**< what the agent said last */
    struct buf error;   /**< why there is no success; "" = there is */
    struct buf payload; /**< JSON object */
    struct buf line;    /**< the same as a line of text */
};

/**
 * Read it.
 * @param base_url of the dashboard, or NULL
 * @param ret_run  result_run_fini(), always
 * @return 0, or RONDO_ERR_NOT_FOUND when there is no such run any more
 */
int result_run_read(struct store *store, const char *run_id, const char *base_url,
                    struct result_run *ret_run, struct rondo_error *err);
void result_run_fini(struct result_run *run);

/** The agent options of the run: the role and where it comes from. Borrowed. */
struct json_object *result_run_agent(const struct result_run *run);
