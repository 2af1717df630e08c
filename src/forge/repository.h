// SPDX-License-Identifier: Apache-2.0
/* Other repositories of the same forge, as calls about forks need them. */
#pragma once

#include "forge/request.h"

/**
 * Check the name of a fork.
 * @param ret_place forge_place_fini()
 * @return FORGE_CONFLICT for what is no name of another repository of this forge
 */
enum forge_end repository_find_fork(struct forge *forge, const char *fork,
                                    struct forge_place *ret_place);

/**
 * Read a repository by its place. What is answered has an id above 0 and the name of the place.
 * @param ret_reply forge_reply_fini()
 */
enum forge_end repository_read_at(struct forge *forge, const struct forge_place *place,
                                  struct forge_reply *ret_reply);
