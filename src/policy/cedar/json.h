// SPDX-License-Identifier: Apache-2.0
/*
 * Cedar's JSON forms of values (language reference, "JSON forms"), read from nodes
 * (base/json/reader.h). In one step that would not do: what `{"__extn":{...` is, and whether errors
 * in it count, is decided when its end has been seen.
 *
 * What is refused is what the real engine refuses, with these exceptions: nesting goes to
 * CEDAR_LIMIT_DEPTH (there about 120), a number that no double can hold is fine where it is
 * ignored, and the function `unknown` of partial evaluation does not exist. One thread at a time.
 */
#pragma once

#include "base/json/reader.h"
#include "policy/cedar/value/value.h"

/** The members of a struct json_reader with Cedar's limits. */
#define CEDAR_JSON_LIMITS .max_bytes = CEDAR_LIMIT_TEXT_BYTES, .max_depth = CEDAR_LIMIT_DEPTH

/** Read a Cedar value: bool, integer, string, array, object, `__entity`, `__extn`. */
int cedar_json_value(struct json_reader *json, struct cedar_value *ret_value);

/** A record, or a uid, from a node that was read. */
int cedar_json_to_record(struct json_reader *json, const struct json_node *node,
                         const struct cedar_record **ret_record);
/** @param arena where the uid is put */
int cedar_json_to_uid(struct json_reader *json, const struct json_node *node, struct arena *arena,
                      const struct cedar_uid **ret_uid);
