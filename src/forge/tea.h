// SPDX-License-Identifier: Apache-2.0
/* Logins of `tea`, the client of Gitea: a list in its file config.yml. Any thread. */
#pragma once

#include "forge/forge.h"

struct secret;

/**
 * The token of the login for a host.
 * @param ret_token set when there is one
 * @return whether there is one
 */
bool tea_read_login(const struct forge_place *place, struct secret *ret_token);

/** The same from the text of the file. Pure. */
bool tea_find_token(const char *text, size_t len, const char *host, struct secret *ret_token);
