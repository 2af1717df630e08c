// SPDX-License-Identifier: Apache-2.0
/* A finished set of policies. */
#pragma once

#include "policy/cedar/ast.h"

#include <stdatomic.h>

struct policy_index;

struct cedar_policies {
    _Atomic uint64_t references;
    struct arena arena;
    const struct policy *const *policies; /**< those that decide, in their order */
    uint32_t count;
    struct policy_index *index; /**< NULL for small sets */
};
