// SPDX-License-Identifier: Apache-2.0
/*
 * Watching. The signature of what was looked at last is one atomic number, so that a look that
 * finds nothing new needs no lock; rulesets are handed over under the lock.
 */
#include "policy/watch.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "os/trust.h"
#include "policy/replica.h"
#include "policy/source_lock.h"
#include "policy/watch_files.h"
#include "store/store.h"

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
    struct store *shared;
    struct policy_replica replica;
    watch_loaded_fn *loaded;
    void *context;

    _Atomic uint64_t signature;  /* of the files that were looked at last; 0 = never */
    _Atomic uint64_t generation; /* counts rulesets */
    _Atomic uint64_t refusal;    /* counts files that were refused */
    _Atomic bool is_waiting;     /* the files were refused because nobody has confirmed them */
    _Atomic uint64_t stamp;      /* of the confirmation that there was then */
    _Atomic bool is_guarded;     /* agents can write the files; set under the lock */

    pthread_mutex_t lock;     /* guards what follows */
    bool is_named;            /* a person names them: the next reading may confirm them */
    bool is_confirmed;        /* somebody has confirmed `ruleset`; else it was loaded unguarded */
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

/** The project that a folder of the state folder belongs to. @return owned, or NULL */
static char *project_of(const char *store_path)
{
    const char *slash = strrchr(store_path, '/');
    auto_buf struct buf file = {0};
    auto_buf struct buf text = {0};
    if (slash == NULL) {
        return NULL;
    }
    buf_printf(&file, "%.*s/" STATE_PROJECT_FILE, (int)(slash - store_path), store_path);
    /* opens: beside a store, where no agent writes */
    if (file_read(buf_string(&file), LIMIT_POLICY_SOURCE_BYTES, &text, NULL) < 0) {
        return NULL;
    }
    char *project = buf_steal(&text);
    project[strcspn(project, "\n")] = '\0';
    return project;
}

char *watch_path_of_store(const char *store_path)
{
    char *own = watch_default_path(store_path);
    /* opens: only whether it is there; beside a store */
    if (own == NULL || file_exists(own)) {
        return own;
    }
    auto_free char *project = project_of(store_path);
    if (project == NULL || project[0] != '/') {
        return own;
    }
    struct buf shared = {0};
    buf_printf(&shared, "%s/" WATCH_SHARED_NAME, project);
    /* opens: only whether it is there; it counts when it is confirmed */
    if (file_exists(buf_string(&shared)) || trust_stamp(TRUST_POLICY, buf_string(&shared)) != 0) {
        free(own);
        return buf_steal(&shared);
    }
    buf_fini(&shared);
    return own;
}

bool watch_is_shared_path(const char *path)
{
    static const char end[] = "/" WATCH_SHARED_NAME;
    size_t len = strlen(path);
    return len >= sizeof(end) - 1 && strcmp(path + len - (sizeof(end) - 1), end) == 0;
}

struct watch *watch_new(const struct watch_options *options)
{
    struct watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->path = memory_dup_string(options->path);
    watch->is_optional = options->is_optional || options->path == NULL;
    watch->shared = options->shared;
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

void watch_set_reach(struct watch *watch, enum watch_reach reach)
{
    if (reach == WATCH_OUT_OF_REACH) {
        return;
    }
    pthread_mutex_lock(&watch->lock);
    if (!atomic_exchange(&watch->is_guarded, true) || reach == WATCH_NAMED) {
        atomic_store(&watch->signature, 0); /* What counted so far must be seen to be confirmed. */
    }
    watch->is_named = reach == WATCH_NAMED;
    pthread_mutex_unlock(&watch->lock);
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
        ret_files->is_guarded = atomic_load(&watch->is_guarded);
    }
}

/** Whether there is nothing new: the files are as they were, and nobody has confirmed them since.
 */
static bool is_known(const struct watch *watch, uint64_t signature)
{
    return signature == atomic_load(&watch->signature) &&
           (!atomic_load(&watch->is_waiting) ||
            trust_stamp(TRUST_POLICY, watch->path) == atomic_load(&watch->stamp));
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
    if (watch->ruleset != NULL && strcmp(watch->ruleset->source, RULESET_BUILT_IN) != 0) {
        /* Removing a file must not lift limits from active runs: replacing may look so. */
        return error_set(err, RONDO_ERR_NOT_FOUND, "the policy file %s is gone", watch->path);
    }
    return ruleset_make(RULESET_BUILT_IN, NULL, 0, NULL, NULL, ret_ruleset, err);
}

/** What a confirmation is about; built-in policies count for files that are absent. */
static const char *confirmed_text(const struct ruleset *ruleset)
{
    return strcmp(ruleset->source, RULESET_BUILT_IN) == 0 ? "" : ruleset->digest;
}

/** Whether a ruleset of guarded files may count. @return 0 or RONDO_ERR_DENIED */
static int check_confirmed(const struct watch *watch, const struct ruleset *ruleset, bool is_named,
                           struct rondo_error *err)
{
    enum trust_verdict verdict = TRUST_UNKNOWN;
    const char *text = confirmed_text(ruleset);
    bool is_absent = text[0] == '\0';
    auto_free char *path = NULL;
    int r = trust_path(watch->path, &path, err);
    if (r == 0 && strcmp(path, watch->path) != 0) {
        return error_set(err, RONDO_ERR_DENIED,
                         "the folder of the policy file %s was replaced by a link; put it "
                         "back, or name the file with --policy",
                         watch->path);
    }
    r = r < 0 ? r : trust_look(TRUST_POLICY, path, text, strlen(text), &verdict, err);
    if (r < 0 || verdict == TRUST_CONFIRMED || (is_absent && verdict == TRUST_UNKNOWN)) {
        return r;
    }
    if (is_absent) {
        return error_set(err, RONDO_ERR_DENIED,
                         "the policy file %s that you confirmed is gone; put it back, or "
                         "withdraw its confirmation with `rondo trust --forget %s`",
                         watch->path, watch->path);
    }
    if (verdict == TRUST_UNKNOWN && is_named) {
        return trust_confirm(TRUST_POLICY, watch->path, text, strlen(text), err);
    }
    return trust_require(TRUST_POLICY, watch->path, text, strlen(text), "the policy file", err);
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
    watch->is_confirmed = watch->is_guarded;
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

/** Read the files, and see that they may count. @param ret_ruleset untouched on failure */
static int load_confirmed(struct watch *watch, const struct watch_files *files,
                          struct ruleset **ret_ruleset, struct rondo_error *err)
{
    struct ruleset *ruleset = NULL;
    bool is_guarded = watch->is_guarded && watch->path != NULL;
    bool is_named = watch->is_named;
    watch->is_named = false;
    uint64_t stamp = is_guarded ? trust_stamp(TRUST_POLICY, watch->path) : 0;
    int r = load(watch, files, &ruleset, err);
    if (is_guarded && (stamp != 0 || watch->ruleset != NULL) && r == RONDO_ERR_INVALID) {
        /* It may be a link to anything: nothing of what is there is repeated. */
        error_set(err, r,
                  "the policy file %s changed after you confirmed it and is not usable; put it "
                  "back, or see `rondo policy check %s`",
                  watch->path, watch->path);
    }
    int checked = r < 0 || !is_guarded ? r : check_confirmed(watch, ruleset, is_named, err);
    atomic_store(&watch->stamp, stamp);
    atomic_store(&watch->is_waiting, r == 0 && checked < 0);
    if (checked < 0) {
        ruleset_unref(ruleset);
        return checked;
    }
    *ret_ruleset = ruleset;
    return 0;
}

/** Load what is there now, under the lock. @return 0, also when nothing could be decided yet */
static int reload(struct watch *watch, struct rondo_error *err)
{
    for (int i = 0; i < READ_TRIES; i++) {
        struct watch_files files = {0};
        struct watch_files after = {0};
        struct ruleset *ruleset = NULL;
        find(watch, &files);
        if (is_known(watch, files.signature) ||
            watch_files_are_being_written(&files, &watch->files, clock_now(clock_system()))) {
            watch_files_fini(&files);
            return 0;
        }
        int r = load_confirmed(watch, &files, &ruleset, err);
        /* A change that is recorded but not made yet, or the other way round, must not be seen. */
        int lock =
            watch->loaded != NULL && watch->path != NULL ? source_lock(watch->path, false) : -1;
        find(watch, &after);
        bool is_stable = after.signature == files.signature;
        if (is_stable && r == 0) {
            hand_out(watch, &files, ruleset);
        } else if (is_stable) {
            refuse(watch, &files, err);
        } else {
            ruleset_unref(ruleset);
        }
        source_unlock(lock);
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
    bool must_confirm = view->ruleset == NULL && watch->is_guarded && !watch->is_confirmed;
    view->refusal = refusal;
    if (watch->ruleset == NULL || must_confirm) {
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

bool watch_rely(struct watch *watch, struct store_premise *ret_premise)
{
    *ret_premise = (struct store_premise){0};
    return watch->shared == NULL || policy_replica_rely(watch->path, &watch->replica, ret_premise);
}

int watch_look(struct watch *watch, struct watch_view *view, struct watch_message *ret_message,
               struct rondo_error *err)
{
    if (watch->shared != NULL) {
        int r = policy_replica_pull(watch->shared, watch->path, &watch->replica, err);
        if (r < 0 && view->ruleset == NULL) {
            return r; /* What is here may be old. Later the next commit fails as well. */
        }
    }
    return watch_look_here(watch, view, ret_message, err);
}

int watch_look_here(struct watch *watch, struct watch_view *view, struct watch_message *ret_message,
                    struct rondo_error *err)
{
    struct watch_files files = {0};
    struct rondo_error reason = {0};
    find(watch, &files);
    uint64_t signature = files.signature;
    watch_files_fini(&files);
    if (view->ruleset != NULL && is_known(watch, signature) &&
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
