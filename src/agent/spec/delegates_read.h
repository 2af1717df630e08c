// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the roles that work can be given to: when a run is made. They are checked and confirmed
 * as its own role is, and recorded in its options: no agent can put another file in their place,
 * and a resume reads none.
 */
#pragma once

#include "agent/spec/options.h"
#include "rondo/error.h"

struct json_object;
struct role;

/**
 * Read the role files that a role names, and those that they name, each once.
 * @param options of the run; those that decide how files are confirmed
 * @param spec    its workspace decides which files agents can write
 * @param ret_delegates an object; NULL when the role names none. json_object_put()
 * @return RONDO_ERR_INVALID names the file and what is wrong; RONDO_ERR_DENIED when one must be
 *         confirmed; RONDO_ERR_LIMIT above LIMIT_DELEGATES
 */
int delegates_read(const struct role *role, const struct agent_options *options,
                   const struct loop_spec *spec, struct json_object **ret_delegates,
                   struct rondo_error *err);
