// SPDX-License-Identifier: Apache-2.0
/* The fork that the branches of those go to who may not push to the repository. */
#pragma once

#include "forge/forge.h"

/**
 * Read the fork, and check that branches of pull requests can be pushed to it.
 * @param repository its name, for people
 * @param fork "OWNER/NAME"
 * @param ret_fork forge_fork_fini()
 * @return RONDO_ERR_NOT_FOUND, RONDO_ERR_INVALID for what is no fork of the repository,
 *         RONDO_ERR_DENIED when it cannot be pushed to; RONDO_ERR_IO when the forge cannot tell now
 */
int issue_fork_read(struct forge *forge, const char *repository, const char *fork,
                    struct forge_fork *ret_fork, struct rondo_error *err);
