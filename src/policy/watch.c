// SPDX-License-Identifier: Apache-2.0
/*
 * Watching. The signature of what was looked at last is one atomic number, so that a look that
 * finds nothing new needs no lock; rulesets are handed over under the lock.
 */
#include "policy/watch.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "policy/watch_files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Times that files are read again because they changed while they were being read. */
#define READ_TRIES 20

struct watch {
    char *path;
    bool is_optional;
    watch_loaded_fn *loaded;
    void *context;

    _Atomic uint64_t signature;  /* of the files that were looked at last; 0 = never */
    _Atomic uint64_t generation; /* counts rulesets */
    _Atomic uint64_t refusal;    /* counts files that were refused */

    pthread_mutex_t lock;     /* guards what follows */
    struct watch_files files; /* as they were when they were read last, also to be refused */
    struct ruleset *ruleset;
    char changed_by[WATCH_BY_SIZE];
    char refused_by[WATCH_BY_SIZE];
    struct rondo_error refused; /* what was wrong with the files that were refused last */
};

char *watch_default_path(const char *store_path)
{
    if (store_path == NULL) {
        return NULL;
    }
    const char *slash = strrchr(store_path, '/');
    struct buf path = {0};
    buf_append(&path, store_path, slash == NULL ? 0 : (size_t)(slash + 1 - store_path));
    buf_append_string(&path, WATCH_DEFAULT_NAME);
    return buf_steal(&path);
}

struct watch *watch_new(const struct watch_options *options)
{
    struct watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->path = memory_dup_string(options->path);
    watch->is_optional = options->is_optional || options->path == NULL;
    watch->loaded = options->loaded;
    watch->context = options->context;
    pthread_mutex_init(&watch->lock, NULL);
    return watch;
}

void watch_free(struct watch *watch)
{
    if (watch == NULL) {
        return;
    }
    pthread_mutex_destroy(&watch->lock);
    watch_files_fini(&watch->files);
    ruleset_unref(watch->ruleset);
    free(watch->path);
    free(watch);
}

void watch_view_fini(struct watch_view *view)
{
    ruleset_unref(view->ruleset);
    *view = (struct watch_view){0};
}

static void find(const struct watch *watch, struct watch_files *ret_files)
{
    if (watch->path == NULL) {
        *ret_files = (struct watch_files){.is_missing = true, .signature = 1};
    } else {
        watch_files_find(watch->path, ret_files);
    }
}

static int load(const struct watch *watch, const struct watch_files *files,
                struct ruleset **ret_ruleset, struct rondo_error *err)
{
    if (!files->is_missing) {
        return watch_files_load(watch->path, files, NULL, NULL, ret_ruleset, err);
    }
    if (!watch->is_optional) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no policy file %s", watch->path);
    }
    if (watch->ruleset != NULL) {
        /* Removing a file must not lift limits from runs that go on: replacing may look so. */
        return error_set(err, RONDO_ERR_NOT_FOUND, "the policy file %s is gone", watch->path);
    }
    return ruleset_make(RULESET_BUILT_IN, NULL, 0, NULL, NULL, ret_ruleset, err);
}

/** Keep what was read, so that the next look knows which files were written since. */
static void take_files(struct watch *watch, struct watch_files *files)
{
    watch_files_fini(&watch->files);
    watch->files = *files;
    *files = (struct watch_files){0};
}

/** Takes the files over. */
static void refuse(struct watch *watch, struct watch_files *files, const struct rondo_error *err)
{
    watch->refused = *err;
    watch_files_owner(files, watch->refused_by, sizeof(watch->refused_by));
    take_files(watch, files);
    atomic_fetch_add(&watch->refusal, 1);
    atomic_store(&watch->signature, watch->files.signature);
}

/** Takes the files over. */
static void hand_out(struct watch *watch, struct watch_files *files, struct ruleset *ruleset)
{
    bool is_first = watch->ruleset == NULL;
    bool is_same = !is_first && strcmp(watch->ruleset->digest, ruleset->digest) == 0;
    take_files(watch, files);
    if (is_same) {
        ruleset_unref(ruleset); /* Touched, not changed. */
    } else {
        watch_files_owner(&watch->files, watch->changed_by, sizeof(watch->changed_by));
        if (watch->loaded != NULL) {
            watch->loaded(watch->context, ruleset, is_first, watch->changed_by,
                          sizeof(watch->changed_by));
        }
        ruleset_unref(watch->ruleset);
        watch->ruleset = ruleset;
        atomic_fetch_add(&watch->generation, 1);
    }
    atomic_store(&watch->signature, watch->files.signature);
}

/** Load what stands there now, under the lock. @return 0, also when nothing could be decided yet */
static int reload(struct watch *watch, struct rondo_error *err)
{
    for (int i = 0; i < READ_TRIES; i++) {
        struct watch_files files = {0};
        struct watch_files after = {0};
        struct ruleset *ruleset = NULL;
        find(watch, &files);
        bool is_known = files.signature == atomic_load(&watch->signature);
        if (is_known ||
            watch_files_are_being_written(&files, &watch->files, clock_now(clock_system()))) {
            watch_files_fini(&files);
            return 0;
        }
        int r = load(watch, &files, &ruleset, err);
        find(watch, &after);
        bool is_stable = after.signature == files.signature;
        if (is_stable && r == 0) {
            hand_out(watch, &files, ruleset);
        } else if (is_stable) {
            refuse(watch, &files, err);
        } else {
            ruleset_unref(ruleset);
        }
        watch_files_fini(&files);
        watch_files_fini(&after);
        if (is_stable) {
            return r;
        }
    }
    return error_set(err, RONDO_ERR_BUSY, "%s keeps changing while it is read", watch->path);
}

/** Bring a view up to date, under the lock. */
static int update_view(struct watch *watch, struct watch_view *view,
                       struct watch_message *ret_message, const struct rondo_error *reason,
                       struct rondo_error *err)
{
    uint64_t generation = atomic_load(&watch->generation);
    uint64_t refusal = atomic_load(&watch->refusal);
    bool is_refused = view->refusal != refusal;
    bool is_changed = view->generation != generation;
    view->refusal = refusal;
    if (watch->ruleset == NULL) {
        reason = reason->code < 0 ? reason : &watch->refused;
        return error_set(err, reason->code, "%s", reason->message);
    }
    if (is_changed) {
        ruleset_unref(view->ruleset);
        view->ruleset = ruleset_ref(watch->ruleset);
        view->generation = generation;
        snprintf(ret_message->by, sizeof(ret_message->by), "%s", watch->changed_by);
        return WATCH_CHANGED;
    }
    if (is_refused) {
        snprintf(ret_message->by, sizeof(ret_message->by), "%s", watch->refused_by);
        snprintf(ret_message->text, sizeof(ret_message->text), "%s", watch->refused.message);
        return WATCH_REFUSED;
    }
    return WATCH_SAME;
}

int watch_look(struct watch *watch, struct watch_view *view, struct watch_message *ret_message,
               struct rondo_error *err)
{
    struct watch_files files = {0};
    struct rondo_error reason = {0};
    find(watch, &files);
    uint64_t signature = files.signature;
    watch_files_fini(&files);
    if (view->ruleset != NULL && signature == atomic_load(&watch->signature) &&
        view->generation == atomic_load(&watch->generation) &&
        view->refusal == atomic_load(&watch->refusal)) {
        return WATCH_SAME;
    }
    pthread_mutex_lock(&watch->lock);
    reload(watch, &reason);
    int r = update_view(watch, view, ret_message, &reason, err);
    pthread_mutex_unlock(&watch->lock);
    return r;
}

int watch_read(const char *path, lint_fn *finding, void *context, struct ruleset **ret_ruleset,
               struct rondo_error *err)
{
    struct watch_files files = {0};
    watch_files_find(path, &files);
    int r = files.is_missing
                ? error_set(err, RONDO_ERR_NOT_FOUND, "there is no policy file %s", path)
                : watch_files_load(path, &files, finding, context, ret_ruleset, err);
    watch_files_fini(&files);
    return r;
}

int watch_read_as(const char *path, const char *text, size_t len, lint_fn *finding, void *context,
                  struct ruleset **ret_ruleset, struct rondo_error *err)
{
    struct watch_files files = {0};
    watch_files_find_as(path, text, len, &files);
    int r = watch_files_load(path, &files, finding, context, ret_ruleset, err);
    watch_files_fini(&files);
    return r;
}
