// SPDX-License-Identifier: Apache-2.0
/*
 * The `permissions` of a role's tool entry: {default: allow|deny, allow: [...], deny: [...]} with
 * patterns `argument=glob` (on the text of that argument; an absent one, or null, does not match)
 * or a bare glob on every text argument. Deny goes first, then allow, then the default. Globs are
 * those of Python's fnmatch: `*` `?` `[seq]` `[!seq]`, matching the whole text, line ends included.
 *
 * An argument that is no text is matched as JSON, a boolean also as Python writes it (`True`). A
 * bare glob of `deny` also looks at texts inside of arrays and objects, so that nothing refused
 * gets through one level down. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_object;

/**
 * @param permissions normal form; NULL = everything is allowed
 * @param ret_rule    when refused: the pattern, or NULL = by default; borrowed from `permissions`
 */
bool permission_allows(struct json_object *permissions, struct json_object *arguments,
                       const char **ret_rule);

/** Whether `deny` alone refuses. */
bool permission_denies(struct json_object *permissions, struct json_object *arguments,
                       const char **ret_rule);

/** For any pattern the time grows with the product of the lengths at most. */
bool glob_matches(const char *glob, const char *text);
