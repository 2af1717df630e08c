// SPDX-License-Identifier: Apache-2.0
/* all opens: the cache folder is the user's, and out of the reach of sandboxed workers. */
#include "work/trees.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *below(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

void work_trees_init(struct work_trees *trees, const char *cache, size_t most)
{
    *trees = (struct work_trees){.cache = memory_dup_string(cache)};
    trees->most = most < LIMIT_WORK_JOBS ? most : LIMIT_WORK_JOBS;
    pthread_mutex_init(&trees->lock, NULL);
}

/** Remove one with its folder. */
static void drop(const struct git_repository *repository, const char *folder)
{
    auto_free char *path = below(folder, "tree");
    git_worktree_remove(repository, path, NULL);
    file_remove_tree(folder, NULL);
}

static bool pop(struct work_trees *trees, struct work_tree *ret_tree)
{
    pthread_mutex_lock(&trees->lock);
    bool is_there = trees->count > 0;
    if (is_there) {
        *ret_tree = trees->items[--trees->count];
    }
    pthread_mutex_unlock(&trees->lock);
    return is_there;
}

void work_trees_remove(struct work_trees *trees, const struct git_repository *repository)
{
    struct work_tree tree;
    while (pop(trees, &tree)) {
        drop(repository, tree.folder);
        free(tree.folder);
    }
}

void work_trees_fini(struct work_trees *trees, const struct git_repository *repository)
{
    if (trees->cache == NULL) {
        return;
    }
    work_trees_remove(trees, repository);
    rmdir(trees->cache);
    free(trees->cache);
    pthread_mutex_destroy(&trees->lock);
    *trees = (struct work_trees){0};
}

/* ---- Giving --------------------------------------------------------------------------------- */

/** @return owned; NULL when there are enough */
static char *next_folder(struct work_trees *trees)
{
    char name[40];
    pthread_mutex_lock(&trees->lock);
    bool is_full = trees->count >= trees->most;
    snprintf(name, sizeof(name), "free-%" PRIu64, trees->next++);
    pthread_mutex_unlock(&trees->lock);
    return is_full ? NULL : below(trees->cache, name);
}

static int keep(const struct git_repository *repository, const char *path, const char *base_index,
                const char *folder)
{
    auto_free char *tree = below(folder, "tree");
    auto_free char *base = below(folder, "base");
    if (mkdir(folder, 0700) != 0 || rename(base_index, base) != 0) {
        return RONDO_ERR_IO;
    }
    return git_worktree_move(repository, path, tree, NULL);
}

bool work_trees_give(struct work_trees *trees, const struct git_repository *repository,
                     const char *path, const char *base_index, const struct git_tree_mark *mark)
{
    auto_free char *folder = next_folder(trees);
    bool is_kept = folder != NULL && keep(repository, path, base_index, folder) == 0;
    if (is_kept) {
        pthread_mutex_lock(&trees->lock);
        is_kept = trees->count < trees->most;
        if (is_kept) {
            trees->items[trees->count++] =
                (struct work_tree){.folder = steal_pointer(&folder), .mark = *mark};
        }
        pthread_mutex_unlock(&trees->lock);
    }
    if (folder != NULL) {
        drop(repository, folder);
    }
    return is_kept;
}

/* ---- Taking --------------------------------------------------------------------------------- */

/** Bring a used one to its place, as new. */
static int reuse(struct git *git, const struct git_worktree_request *request,
                 struct work_tree *tree)
{
    auto_free char *path = below(tree->folder, "tree");
    auto_free char *base = below(tree->folder, "base");
    if (rename(base, request->base_index_path) != 0) {
        return RONDO_ERR_IO;
    }
    int r = git_worktree_move(git->repository, path, request->path, NULL);
    return r != 0 ? r : git_worktree_reset(git, request, &tree->mark, NULL);
}

static int add(struct git *git, const struct git_worktree_request *request,
               struct git_tree_mark *ret_mark, bool *ret_has_mark, struct rondo_error *err)
{
    int r = git_worktree_add(git, request, err);
    *ret_has_mark =
        r == 0 && git_worktree_mark(request->path, request->base_index_path, ret_mark, NULL) == 0;
    return r;
}

int work_trees_take(struct work_trees *trees, struct git *git,
                    const struct git_worktree_request *request, struct git_tree_mark *ret_mark,
                    bool *ret_has_mark, struct rondo_error *err)
{
    struct work_tree tree;
    int r = git_worktree_remove(git->repository, request->path, err);
    while (r == 0 && pop(trees, &tree)) {
        bool is_good = reuse(git, request, &tree) == 0;
        if (is_good) {
            file_remove_tree(tree.folder, NULL);
            *ret_mark = tree.mark;
            *ret_has_mark = true;
        } else {
            drop(git->repository, tree.folder);
            r = git_worktree_remove(git->repository, request->path, err);
        }
        free(tree.folder);
        if (is_good) {
            return 0;
        }
    }
    return r != 0 ? r : add(git, request, ret_mark, ret_has_mark, err);
}
