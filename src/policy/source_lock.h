// SPDX-License-Identifier: Apache-2.0
/*
 * A lock around what a policy file says and what the history of policies says about it. A change
 * holds it while it records itself and replaces the file; a reader of the file holds it while
 * it makes sure that the file is still the same and enters it in the history. Without it a process
 * that has read the old file just before would enter that on top of the change.
 */
#pragma once

#include <stdbool.h>

/**
 * Lock the source at a path: the folder that it lies in, or is.
 * @param is_exclusive for a change; readers do not exclude each other
 * @return to be given to source_unlock; -1 = not locked, since the folder cannot be opened or
 *         somebody keeps it locked: the policies count all the same
 */
int source_lock(const char *path, bool is_exclusive);
/** @param lock -1 is allowed */
void source_unlock(int lock);
