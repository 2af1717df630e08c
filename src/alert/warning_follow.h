// SPDX-License-Identifier: Apache-2.0
/*
 * Warnings as they come into the store, by whichever monitor, each once and in their order. One
 * thread.
 */
#pragma once

#include "alert/warning.h"

struct warning_follow;

/** Before the first warning. Never NULL; warning_follow_free(). */
struct warning_follow *warning_follow_new(void);
/** NULL is allowed. */
void warning_follow_free(struct warning_follow *follow);

/** Pass over what is there already. */
int warning_follow_skip(struct warning_follow *follow, struct store *store,
                        struct rondo_error *err);

/** Call `fn` with each warning that is new since the last call, until it returns false. */
int warning_follow_next(struct warning_follow *follow, struct store *store, warning_fn *fn,
                        void *context, struct rondo_error *err);
