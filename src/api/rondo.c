// SPDX-License-Identifier: Apache-2.0
/*
 * Opening and closing. Any thread.
 *
 * all opens: paths that the program which uses the library names; only their names are resolved
 * here.
 */
#include "api/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/version.h"
#include "handoff/desks/watch.h"
#include "loop/hidden_paths.h"
#include "policy/watch.h"
#include "store/locate/locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rondo_version(void)
{
    return RONDO_VERSION;
}

static int start_runtime(struct rondo *rondo, const struct rondo_options *options,
                         struct rondo_error *err)
{
    auto_hidden_paths char **hidden = hidden_paths_of_store(rondo->path);
    auto_free char *beside = watch_path_of_store(rondo->path);
    auto_free char *desks = desks_path_of_store(rondo->path);
    auto_free char *given = NULL;
    if (options->policy != NULL) {
        given = realpath(options->policy, NULL);
        if (given == NULL) {
            return error_set_errno(err, RONDO_ERR_NOT_FOUND, errno, "the policies %s",
                                   options->policy);
        }
    }
    struct runtime_options runtime_options = {
        .store = rondo->store,
        .policy = given != NULL ? given : beside,
        .is_policy_optional = given == NULL,
        .desks = desks,
        .lease_ns = options->lease_ns,
        .supervisor = options->supervisor,
        .is_policy_named = options->policy != NULL,
        .hide_paths = (const char *const *)hidden,
        .is_store_remote = store_is_in_database(rondo->path),
    };
    return runtime_new(&runtime_options, &rondo->runtime, err);
}

struct rondo *rondo_open(const struct rondo_options *options, struct rondo_error *err)
{
    static const struct rondo_options defaults = {0};
    options = options == NULL ? &defaults : options;
    struct rondo *rondo = memory_new_zero(1, sizeof(*rondo));
    int r = store_open_default(options->store, STORE_CREATING, &rondo->store, &rondo->path, err);
    rondo->name = store_name_of(rondo->path);
    if (r == 0) {
        r = start_runtime(rondo, options, err);
    }
    if (r < 0) {
        rondo_close(rondo);
        return NULL;
    }
    return rondo;
}

void rondo_close(struct rondo *rondo)
{
    if (rondo == NULL) {
        return;
    }
    runtime_free(rondo->runtime);
    store_close(rondo->store);
    free(rondo->path);
    free(rondo->name);
    free(rondo);
}

const char *rondo_store_path(const struct rondo *rondo)
{
    return rondo->name;
}
