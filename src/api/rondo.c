// SPDX-License-Identifier: Apache-2.0
/* Opening and closing. Any thread. */
#include "api/internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/version.h"
#include "policy/watch.h"
#include "store/locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rondo_version(void)
{
    return RONDO_VERSION;
}

/** What sandboxed verifiers must not see: a store in its own folder with the folder, else its
 * files. Texts are owned by the caller; the list ends with NULL. */
static void hide_store(const char *path, char *ret_paths[4])
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    const char *slash = strrchr(path, '/');
    size_t folder_len = slash == NULL ? 0 : (size_t)(slash - path);
    size_t name_len = strlen(STORE_FOLDER_NAME);
    if (folder_len > name_len && path[folder_len - name_len - 1] == '/' &&
        strncmp(path + folder_len - name_len, STORE_FOLDER_NAME, name_len) == 0) {
        ret_paths[0] = memory_dup_bytes(path, folder_len);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(path) + strlen(suffixes[i]) + 1;
        ret_paths[i] = memory_new(size);
        snprintf(ret_paths[i], size, "%s%s", path, suffixes[i]);
    }
}

static int start_runtime(struct rondo *rondo, const struct rondo_options *options,
                         struct rondo_error *err)
{
    char *hidden[4] = {NULL};
    hide_store(rondo->path, hidden);
    auto_free char *beside = watch_default_path(rondo->path);
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
        .lease_ns = options->lease_ns,
        .supervisor = options->supervisor,
        .hide_paths = (const char *const *)hidden,
    };
    int r = runtime_new(&runtime_options, &rondo->runtime, err);
    for (size_t i = 0; hidden[i] != NULL; i++) {
        free(hidden[i]);
    }
    return r;
}

struct rondo *rondo_open(const struct rondo_options *options, struct rondo_error *err)
{
    static const struct rondo_options defaults = {0};
    options = options == NULL ? &defaults : options;
    struct rondo *rondo = memory_new_zero(1, sizeof(*rondo));
    int r = store_open_default(options->store, true, &rondo->store, &rondo->path, err);
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
    free(rondo);
}

const char *rondo_store_path(const struct rondo *rondo)
{
    return rondo->path;
}
