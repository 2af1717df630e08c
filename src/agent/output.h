// SPDX-License-Identifier: Apache-2.0
/*
 * Answers in JSON: the section `output` of a role with `type: json_schema`. The model is told the
 * schema. A single answer that does not fit it fails; an autonomous agent hands its answer over as
 * the summary of finish_task, which is sent back when it does not fit. Pure.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct json_object;
struct role;

/** The schema of a role that still has its normal form; owned, or NULL. */
struct json_object *output_schema(const struct role *role);
/** Append what the model is told, after the system prompt. */
void output_write_system(struct json_object *schema, bool is_autonomous, struct buf *ret_text);
/** @param ret_why what does not fit; appended */
bool output_check(struct json_object *schema, const char *answer, struct buf *ret_why);
