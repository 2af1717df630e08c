// SPDX-License-Identifier: Apache-2.0
/*
 * Criteria that a command decides. A criterion counts as one only when it is nothing else: an
 * optional word or two, one command in backticks, and what says that it must succeed.
 *
 *     `npm test` passes            Run `make check`            Verify that `tsc --noEmit` exits
 * with 0
 *
 * "`npm test` passes for the new module" and "`isValid` passes" have no command: a check that tests
 * less or something else than what is written would be worse than a person who reads it.
 */
#pragma once

#include "base/arena.h"

#include <stddef.h>

/** The command of a criterion in the arena, or NULL. Pure; any thread. */
const char *prd_command_of(struct arena *arena, const char *text);
