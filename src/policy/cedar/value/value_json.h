// SPDX-License-Identifier: Apache-2.0
/* Values in Cedar's JSON form, as cedar_json_value reads it. */
#pragma once

#include "base/json/json.h"
#include "policy/cedar/value/value.h"

/** Write a value. @param key of the object that is being written, NULL in an array or alone */
void cedar_value_write_json(struct cedar_value value, const char *key, struct json_writer *writer);
