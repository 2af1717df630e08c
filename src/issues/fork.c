// SPDX-License-Identifier: Apache-2.0
#include "issues/fork.h"

#include "base/error.h"

static int check(const char *repository, const char *name, const struct forge_fork *fork,
                 struct rondo_error *err)
{
    if (!fork->is_fork) {
        return error_set(err, RONDO_ERR_INVALID, "--fork %.120s is not a fork of %.120s", name,
                         repository);
    }
    if (fork->is_archived) {
        return error_set(err, RONDO_ERR_DENIED, "--fork %.120s is archived: it is read-only", name);
    }
    return fork->can_push
               ? 0
               : error_set(err, RONDO_ERR_DENIED,
                           "--fork %.120s cannot be pushed to: the token needs write access to it",
                           name);
}

int issue_fork_read(struct forge *forge, const char *repository, const char *fork,
                    struct forge_fork *ret_fork, struct rondo_error *err)
{
    struct forge_fork read = {0};
    enum forge_end end = forge_read_fork(forge, fork, &read);
    if (end == FORGE_ABSENT || end == FORGE_GONE || end == FORGE_MOVED) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "--fork %.120s: there is no such repository, or the token may not read it",
                         fork);
    }
    if (end != FORGE_OK) {
        return error_set(err, end == FORGE_CONFLICT ? RONDO_ERR_INVALID : RONDO_ERR_IO,
                         "--fork %.120s: %s", fork, forge_outcome(forge)->message);
    }
    int r = check(repository, fork, &read, err);
    if (r < 0) {
        forge_fork_fini(&read);
        return r;
    }
    *ret_fork = read;
    return 0;
}
