// SPDX-License-Identifier: Apache-2.0
/*
 * Who may do what. GitHub says of each author whether he is a member; for the others the accounts
 * that may write are read once and remembered for some minutes.
 */
#pragma once

#include "forge/request.h"

/** Fill in the trust of authors, where the answer does not have it. */
enum forge_end people_fill_issues(struct forge *forge, struct forge_issues *issues);
enum forge_end people_fill_comments(struct forge *forge, struct forge_comments *comments);

/** The trust of an account by the list of members, read again when `is_fresh`. */
enum forge_end people_find(struct forge *forge, const char *login, bool is_fresh,
                           enum forge_trust *ret_trust);

/** Release what is remembered. */
void people_forget(struct forge *forge);
