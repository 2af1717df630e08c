// SPDX-License-Identifier: Apache-2.0
/* What a role file says, for people. */
#pragma once

#include "cli/terminal/style.h"
#include "role/role.h"

struct role_summary {
    const char *file;
    const struct role *role; /**< NULL when the file has errors */
    size_t errors;
    size_t warnings;
    bool is_valid;
};

/** Append the verdict, and of a role its name, model, tools and limits. */
void role_summary_text(const struct role_summary *summary, const struct style *style,
                       size_t columns, struct buf *ret_buf);
