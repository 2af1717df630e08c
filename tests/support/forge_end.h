// SPDX-License-Identifier: Apache-2.0
/* How calls of a forge end, in words: for programs and messages of tests. */
#pragma once

#include "forge/forge.h"

static inline const char *forge_end_name(enum forge_end end)
{
    static const char *const names[] = {
        [FORGE_OK] = "ok",
        [FORGE_NOT_MODIFIED] = "not_modified",
        [FORGE_ABSENT] = "absent",
        [FORGE_GONE] = "gone",
        [FORGE_MOVED] = "moved",
        [FORGE_AUTH] = "auth",
        [FORGE_FORBIDDEN] = "forbidden",
        [FORGE_CONFLICT] = "conflict",
        [FORGE_LIMITED] = "limited",
        [FORGE_UNAVAILABLE] = "unavailable",
        [FORGE_UNCERTAIN] = "uncertain",
        [FORGE_CANCELLED] = "cancelled",
    };
    return names[end];
}
