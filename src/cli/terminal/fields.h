// SPDX-License-Identifier: Apache-2.0
/* Lines of a label and a value, the values in one column and wrapped. One thread. */
#pragma once

#include "cli/terminal/style.h"

#include <stddef.h>

/** Column at which values begin. */
#define FIELDS_VALUE_COLUMN 16

struct fields {
    const struct style *style;
    size_t columns;
    struct buf *out;
};

/** Append one line; the value is made safe for terminals. */
void fields_add(struct fields *fields, const char *label, const char *value);
