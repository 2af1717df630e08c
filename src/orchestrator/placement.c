// SPDX-License-Identifier: Apache-2.0
/*
 * Where a run may be executed. A pool is labels that a server must have. A workspace is a folder of
 * one machine: where others share the store, a run that somebody had is executed on that machine
 * only, going by the host's name, unless the workspace is in a folder that this server was told is
 * shared. A person who resumes a run on another machine moves it there.
 */
#include "orchestrator/internal.h"

#include <string.h>

struct placement placement_of(const struct loop_spec *spec)
{
    /* A run that works on tasks stays with the queue of issues that has started it, which is in one
       process, as long as that lives: without an agent it is not in the queue of all servers. */
    return (struct placement){
        .agent = spec->work == NULL ? spec->agent_id : NULL,
        .pool = spec->pool,
        .workspace = spec->workspace,
    };
}

bool placement_fits(const struct orchestrator *orchestrator, const char *pool)
{
    return labels_have_all(orchestrator->server.pool, pool);
}

/** "/srv/../etc" is not in "/srv". */
static bool has_dots(const char *path)
{
    const char *at = path;
    while ((at = strstr(at, "/..")) != NULL) {
        if (at[3] == '/' || at[3] == '\0') {
            return true;
        }
        at += 3;
    }
    return false;
}

static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    len -= len > 0 && folder[len - 1] == '/' ? 1 : 0; /* "/" has everything */
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_shared(const struct orchestrator *orchestrator, const char *workspace)
{
    char **folder = orchestrator->shared_folders;
    for (; workspace != NULL && folder != NULL && *folder != NULL; folder++) {
        if (is_in(workspace, *folder) && !has_dots(workspace)) {
            return true;
        }
    }
    return false;
}

bool placement_allows(const struct orchestrator *orchestrator, const struct placement *place,
                      const char *owner)
{
    if (!placement_fits(orchestrator, place->pool)) {
        return false;
    }
    return owner[0] == '\0' || !store_is_shared(orchestrator_store(orchestrator)) ||
           owner_is_here(owner) || is_shared(orchestrator, place->workspace);
}
