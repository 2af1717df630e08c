// SPDX-License-Identifier: Apache-2.0
/* Whether a mount namespace that another program has set up shows what it was asked to show. */
#pragma once

#include "os/sandbox/paths.h"

#include <sys/types.h>

/**
 * Check the mounts that a process sees against the rules. bubblewrap mounts by path, and commands
 * that run beside may have renamed something meanwhile: what was opened when the paths were
 * collected must be what is mounted now, with the right to write that its rule says.
 * @param inner      a process of bubblewrap in the new namespace, before or after its last pivot
 * @param ret_reason what is wrong; untouched when the process is gone
 * @return whether all rules hold. Any thread
 */
bool sandbox_verify(const struct path_list *paths, pid_t inner, char ret_reason[256]);
