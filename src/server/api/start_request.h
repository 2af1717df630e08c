// SPDX-License-Identifier: Apache-2.0
/*
 * What a program requests when it wants a run: JSON to a checked spec. A request names a worker
 * command or a role (a file that this process can read, or its text); everything else is optional
 * and has the defaults of the command line. Wrong and unknown members are errors with their path.
 */
#pragma once

#include "loop/spec.h"

struct json_object;

struct start_options {
    const char *workspace;     /**< of requests that name none; absolute */
    const char *skill_folder;  /**< or NULL */
    const char *prices_file;   /**< as in struct agent_options, or NULL */
    const char *config_folder; /**< where a user's rondo.yaml may be; or NULL */
};

/**
 * @param request object, docs/api.md "Start a run"
 * @param ret_spec loop_spec_fini()
 * @param ret_findings text of the role's findings, one a line; appended, may stay empty
 * @return 0; RONDO_ERR_INVALID, RONDO_ERR_NOT_FOUND, RONDO_ERR_LIMIT, RONDO_ERR_UNSUPPORTED
 */
int start_request_read(struct json_object *request, const struct start_options *options,
                       struct loop_spec *ret_spec, struct buf *ret_findings,
                       struct rondo_error *err);
