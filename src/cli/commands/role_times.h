// SPDX-License-Identifier: Apache-2.0
/* When the triggers of a role that follow the clock are due next, for people. */
#pragma once

#include "cli/terminal/fields.h"

#include <stdint.h>

struct json_object;

/** Append one line for each cron trigger: schedule, zone and its next times after a moment. */
void role_times_add(struct json_object *triggers, int64_t now_seconds, struct fields *fields);
