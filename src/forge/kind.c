// SPDX-License-Identifier: Apache-2.0
/* The table of kinds. */
#include "forge/kind.h"

#include <assert.h>
#include <string.h>

static const struct forge_ops *const kinds[FORGE_KIND_COUNT] = {
    [FORGE_GITHUB] = &forge_github,
    [FORGE_GITEA] = &forge_gitea,
    [FORGE_GITLAB] = &forge_gitlab,
};

const struct forge_ops *forge_ops_of(enum forge_kind kind)
{
    assert(kind >= 0 && kind < FORGE_KIND_COUNT);
    return kinds[kind];
}

const char *forge_kind_name(enum forge_kind kind)
{
    return forge_ops_of(kind)->name;
}

bool forge_kind_from_name(const char *name, enum forge_kind *ret_kind)
{
    /* Forgejo began as Gitea, and speaks its language. */
    if (strcmp(name, "forgejo") == 0) {
        *ret_kind = FORGE_GITEA;
        return true;
    }
    for (int i = 0; i < FORGE_KIND_COUNT; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            *ret_kind = (enum forge_kind)i;
            return true;
        }
    }
    return false;
}
