// SPDX-License-Identifier: Apache-2.0
/*
 * What --protect names is the same for each check as it is in the commit. Checks run programs that
 * a worker may have written, and what git ignores is in no commit: so after the worker, and after
 * each check, files that the commit does not have are removed, and others must be as they were.
 */
#include "work/attempt_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** One walk over a tree. */
struct guard_walk {
    struct attempt *attempt;
    struct attempt_guard *guard;
    int folder_fd;
    const char *by; /* the command that was run; NULL = the worker */
    char *denied;   /* why the attempt is refused; owned */
    bool has_removed;
    bool is_first; /* what is there may stay */
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_kept(const struct attempt_guard *guard, const char *path)
{
    return guard->kept_count > 0 && bsearch(&path, guard->kept, guard->kept_count,
                                            sizeof(*guard->kept), compare_names) != NULL;
}

static void keep(struct attempt_guard *guard, const char *path)
{
    size_t count = guard->kept_count;
    if ((count & (count + 1)) == 0) {
        guard->kept = memory_resize(guard->kept, 2 * count + 1, sizeof(*guard->kept));
    }
    guard->kept[guard->kept_count++] = memory_dup_string(path);
}

void attempt_guard_fini(struct attempt_guard *guard)
{
    for (size_t i = 0; i < guard->kept_count; i++) {
        free(guard->kept[i]);
    }
    free(guard->kept);
    *guard = (struct attempt_guard){0};
}

/** Remove a file below the tree. No link on the way is followed. */
static int remove_file(const struct guard_walk *walk, const char *path, struct rondo_error *err)
{
    auto_free char *copy = memory_dup_string(path);
    size_t len = strlen(copy);
    if (len > 0 && copy[len - 1] == '/') {
        copy[len - 1] = '\0';
    }
    char *slash = strrchr(copy, '/');
    if (slash == NULL) {
        return file_folder_remove(walk->folder_fd, copy, err);
    }
    *slash = '\0';
    auto_close int fd = file_open_beneath(walk->folder_fd, copy, O_PATH | O_DIRECTORY);
    return fd < 0 ? error_set(err, RONDO_ERR_DENIED, "%.300s/%.300s cannot be removed", copy,
                              slash + 1)
                  : file_folder_remove(fd, slash + 1, err);
}

static int take_file(void *context, enum git_change_kind kind, const char *path,
                     struct rondo_error *err)
{
    struct guard_walk *walk = context;
    const char *glob = attempt_protected_by(walk->attempt->work->protect, path);
    if (glob == NULL) {
        return 0;
    }
    if (kind == GIT_ADDED && walk->is_first) {
        keep(walk->guard, path);
        return 0;
    }
    if (kind == GIT_ADDED) {
        bool stays = is_kept(walk->guard, path);
        walk->has_removed = walk->has_removed || !stays;
        return stays ? 0 : remove_file(walk, path, err);
    }
    if (walk->denied == NULL && !walk->is_first) {
        struct buf words = {0};
        buf_printf(&words, "%.200s was %s by %.200s, but it is protected (--protect %s)", path,
                   kind == GIT_DELETED ? "deleted" : "changed",
                   walk->by == NULL ? "the worker" : walk->by, glob);
        walk->denied = buf_steal(&words);
    }
    return 0;
}

/** @return whether the attempt continues */
static bool walk_tree(struct guard_walk *walk, const struct attempt_place *place)
{
    struct attempt *attempt = walk->attempt;
    struct rondo_error err = {0};
    struct git git = attempt_git(attempt);
    const struct git_changes_request request = attempt_changes_request(attempt, place);
    /* opens: the attempt's own folder has it; what is below is opened without links */
    auto_close int fd = open(place->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    walk->folder_fd = fd;
    int r = git_changes_drift(&git, &request, take_file, walk, &err);
    auto_free char *denied = walk->denied;
    if (r == RONDO_ERR_LIMIT || r == RONDO_ERR_DENIED) {
        return attempt_fail(attempt, "refused", "%s", err.message);
    }
    if (r < 0) {
        return attempt_fail_by(attempt, &err);
    }
    return denied == NULL || attempt_fail(attempt, "refused", "%s", denied);
}

static bool is_needed(const struct attempt *attempt)
{
    return attempt->work->protect != NULL && attempt->work->protect[0] != NULL;
}

bool attempt_guard_begin(struct attempt *attempt, const struct attempt_place *place,
                         struct attempt_guard *guard)
{
    struct guard_walk walk = {.attempt = attempt, .guard = guard, .is_first = true};
    if (!is_needed(attempt)) {
        return true;
    }
    bool is_good = walk_tree(&walk, place);
    if (guard->kept_count > 0) {
        qsort(guard->kept, guard->kept_count, sizeof(*guard->kept), compare_names);
    }
    return is_good;
}

bool attempt_guard_hold(struct attempt *attempt, const struct attempt_place *place,
                        struct attempt_guard *guard, const char *by, bool *ret_has_removed)
{
    struct guard_walk walk = {.attempt = attempt, .guard = guard, .by = by};
    bool is_good = !is_needed(attempt) || walk_tree(&walk, place);
    if (ret_has_removed != NULL) {
        *ret_has_removed = walk.has_removed;
    }
    return is_good;
}
