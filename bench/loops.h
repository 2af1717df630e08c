// SPDX-License-Identifier: Apache-2.0
/* Loops of the public library as the figures use them. Every function dies on failure. */
#pragma once

#include "rondo/rondo.h"

/** Open a store file. */
struct rondo *loops_open(const char *path);

/** Start a loop without conditions and in effect without limits. */
struct rondo_loop *loops_start(struct rondo *rondo);

/** The same with the policies of a file. */
struct rondo_loop *loops_start_with(struct rondo *rondo, const char *policy);

/** Resume a run by its id. */
struct rondo_loop *loops_resume(struct rondo *rondo, const char *run_id);

/** Begin one more iteration; its body does nothing. */
void loops_turn(struct rondo_loop *loop);

/** Several of them. */
void loops_turns(struct rondo_loop *loop, size_t count);
