// SPDX-License-Identifier: Apache-2.0
/*
 * The name under which a process holds runs: host, boot, pid namespace, pid, start time and a
 * random part, in one line of text that the store treats as opaque. From it another process on the
 * same machine can tell whether the holder is certainly dead, and need not wait for its lease to
 * end.
 */
#pragma once

#include "base/random.h"
#include "store/store.h"

/** Name for this process. @param ret_owner STORE_OWNER_SIZE bytes */
void owner_new(struct random *random, char *ret_owner);

/** Whether the named process is certainly gone. False whenever it cannot be known. */
bool owner_is_dead(const char *owner);

/** Bytes that owner_describe writes at most. */
#define OWNER_DESCRIPTION_SIZE 256

/** "process 812 on build7", or "another process". @param ret_text OWNER_DESCRIPTION_SIZE bytes */
void owner_name(const char *owner, char *ret_text);

/** Who holds a run, for people: "process 812 on build7, lease until 2026-...". */
void owner_describe(const struct store_run *holder, char *ret_text);
