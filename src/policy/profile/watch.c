// SPDX-License-Identifier: Apache-2.0
/* Hot reload of profiles. all opens: beside a store, where no agent writes, or named by a person */
#include "policy/profile/watch.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A file that is written in place is left alone until it has rested for so long. */
#define REST_NS (100 * NS_PER_MS)
/** Evaluators that are kept for the next decisions. */
#define KEPT_EVALUATORS 16

enum { FILE_POLICIES, FILE_ENTITIES, FILE_COUNT };

/** The files as they were found. */
struct look {
    struct file_state states[FILE_COUNT];
    bool is_missing[FILE_COUNT];
};

struct profile_watch {
    char *paths[FILE_COUNT]; /**< NULL = none */
    void (*refused)(void *context, const char *message);
    void *context;
    pthread_mutex_t lock; /* guards what follows */
    bool has_looked;
    struct look last;
    struct profiles *profiles; /**< NULL = the files were wrong from the start */
    struct rondo_error problem;
    struct profile_evaluator *evaluators[KEPT_EVALUATORS];
    size_t evaluator_count;
};

/** profiles.entities.json beside profiles.cedar. @return owned */
static char *entities_path(const char *path)
{
    static const char ending[] = ".cedar";
    size_t len = strlen(path);
    struct buf text = {0};
    if (len >= sizeof(ending) - 1 && strcmp(path + len - (sizeof(ending) - 1), ending) == 0) {
        len -= sizeof(ending) - 1;
    }
    buf_printf(&text, "%.*s.entities.json", (int)len, path);
    return buf_steal(&text);
}

struct profile_watch *profile_watch_new(const char *folder,
                                        void (*refused)(void *context, const char *message),
                                        void *context)
{
    struct profile_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->refused = refused;
    watch->context = context;
    pthread_mutex_init(&watch->lock, NULL);
    if (folder != NULL) {
        struct buf path = {0};
        buf_printf(&path, "%s/" PROFILE_FILE_NAME, folder);
        watch->paths[FILE_POLICIES] = buf_steal(&path);
        watch->paths[FILE_ENTITIES] = entities_path(watch->paths[FILE_POLICIES]);
    }
    return watch;
}

void profile_watch_free(struct profile_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    for (size_t i = 0; i < watch->evaluator_count; i++) {
        profile_evaluator_free(watch->evaluators[i]);
    }
    profiles_unref(watch->profiles);
    pthread_mutex_destroy(&watch->lock);
    free(watch->paths[FILE_POLICIES]);
    free(watch->paths[FILE_ENTITIES]);
    free(watch);
}

/* ---- Files ---------------------------------------------------------------------------------- */

/** @param ret_has whether there is one; NULL = there must be */
static int read_file(const char *path, struct buf *ret_text, bool *ret_has, struct rondo_error *err)
{
    int r = file_read(path, LIMIT_POLICY_BYTES, ret_text, err);
    if (r == RONDO_ERR_NOT_FOUND && ret_has != NULL) {
        *ret_has = false;
        return 0;
    }
    return r;
}

static int load(char *const *paths, bool needs_policies, struct profiles **ret_profiles,
                struct rondo_error *err)
{
    auto_buf struct buf policies = {0};
    auto_buf struct buf entities = {0};
    bool has_policies = true;
    bool has_entities = true;
    int r = read_file(paths[FILE_POLICIES], &policies, needs_policies ? NULL : &has_policies, err);
    r = r < 0 ? r : read_file(paths[FILE_ENTITIES], &entities, &has_entities, err);
    if (r < 0) {
        return r;
    }
    struct profiles_source source = {
        .policies = has_policies ? buf_string(&policies) : NULL,
        .policies_len = policies.len,
        .entities = has_entities ? buf_string(&entities) : NULL,
        .entities_len = entities.len,
    };
    return profiles_make(&source, ret_profiles, err);
}

int profile_read(const char *path, struct profiles **ret_profiles, struct rondo_error *err)
{
    auto_free char *entities = entities_path(path);
    auto_free char *policies = memory_dup_string(path);
    char *const paths[FILE_COUNT] = {policies, entities};
    return load(paths, true, ret_profiles, err);
}

int profile_watch_try(const struct profile_watch *watch, const char *policies, size_t len,
                      struct profiles **ret_profiles, struct rondo_error *err)
{
    auto_buf struct buf entities = {0};
    bool has_entities = watch->paths[FILE_ENTITIES] != NULL;
    int r =
        has_entities ? read_file(watch->paths[FILE_ENTITIES], &entities, &has_entities, err) : 0;
    struct profiles_source source = {
        .policies = policies,
        .policies_len = len,
        .entities = has_entities ? buf_string(&entities) : NULL,
        .entities_len = entities.len,
    };
    return r < 0 ? r : profiles_make(&source, ret_profiles, err);
}

static int look_at(const struct profile_watch *watch, struct look *ret_look,
                   struct rondo_error *err)
{
    *ret_look = (struct look){.is_missing = {true, true}};
    for (size_t i = 0; i < FILE_COUNT && watch->paths[i] != NULL; i++) {
        int problem =
            file_state_look(watch->paths[i], &ret_look->states[i], &ret_look->is_missing[i]);
        if (problem != 0 && !ret_look->is_missing[i]) {
            return error_set_errno(err, RONDO_ERR_IO, problem, "cannot look at %s",
                                   watch->paths[i]);
        }
    }
    return 0;
}

static bool is_same(const struct look *a, const struct look *b)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        if (a->is_missing[i] != b->is_missing[i] ||
            (!a->is_missing[i] && !file_state_is_untouched(&a->states[i], &b->states[i]))) {
            return false;
        }
    }
    return true;
}

/** Half of a file can be a valid one that forbids less. */
static bool is_being_written(const struct profile_watch *watch, const struct look *look)
{
    int64_t now_ns = clock_now(clock_system());
    for (size_t i = 0; i < FILE_COUNT && watch->has_looked; i++) {
        int64_t rested_ns = now_ns - look->states[i].modified_ns;
        if (!look->is_missing[i] && !watch->last.is_missing[i] && rested_ns >= 0 &&
            rested_ns < REST_NS &&
            file_state_is_same_file(&look->states[i], &watch->last.states[i])) {
            return true;
        }
    }
    return false;
}

/** Removing a file must not change what counts: replacing it may look so. */
static bool is_gone(const struct profile_watch *watch, const struct look *look)
{
    for (size_t i = 0; i < FILE_COUNT && watch->has_looked; i++) {
        if (look->is_missing[i] && !watch->last.is_missing[i]) {
            return true;
        }
    }
    return false;
}

/** Under the lock. */
static void refuse(struct profile_watch *watch, const struct rondo_error *problem)
{
    bool is_new = strcmp(watch->problem.message, problem->message) != 0;
    watch->problem = *problem;
    if (watch->refused != NULL && is_new) {
        watch->refused(watch->context, problem->message);
    }
}

/** Under the lock. */
static void reload(struct profile_watch *watch, const struct look *look)
{
    struct rondo_error problem = {0};
    struct profiles *profiles = NULL;
    struct look after;
    if (is_gone(watch, look)) {
        error_set(&problem, RONDO_ERR_NOT_FOUND,
                  "a file of the profiles is gone; what it said still counts until the next start");
        refuse(watch, &problem);
        return;
    }
    static const struct profiles_source built_in = {0};
    int r = watch->paths[0] == NULL ? profiles_make(&built_in, &profiles, &problem)
                                    : load(watch->paths, false, &profiles, &problem);
    if (look_at(watch, &after, NULL) < 0 || !is_same(look, &after)) {
        profiles_unref(profiles); /* It changed meanwhile: the next look reads it. */
        return;
    }
    watch->has_looked = true;
    watch->last = *look;
    if (r < 0) {
        refuse(watch, &problem);
        return;
    }
    watch->problem = (struct rondo_error){0};
    profiles_unref(watch->profiles);
    watch->profiles = profiles;
}

/** Under the lock: bring the profiles up to date. */
static int update(struct profile_watch *watch, struct rondo_error *err)
{
    struct look look;
    struct rondo_error problem = {0};
    if (look_at(watch, &look, &problem) < 0) {
        refuse(watch, &problem);
    } else if (!watch->has_looked ||
               (!is_same(&look, &watch->last) && !is_being_written(watch, &look))) {
        reload(watch, &look);
    }
    if (watch->profiles == NULL) {
        const char *message = watch->problem.message;
        return error_set(err, RONDO_ERR_INVALID, "no profile counts: %s",
                         message[0] == '\0' ? "the files are being changed" : message);
    }
    return 0;
}

/* ---- Deciding ------------------------------------------------------------------------------- */

int profile_watch_get(struct profile_watch *watch, struct profiles **ret_profiles,
                      struct rondo_error *err)
{
    pthread_mutex_lock(&watch->lock);
    int r = update(watch, err);
    if (r == 0) {
        *ret_profiles = profiles_ref(watch->profiles);
    }
    pthread_mutex_unlock(&watch->lock);
    return r;
}

static struct profile_evaluator *borrow_evaluator(struct profile_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    struct profile_evaluator *evaluator =
        watch->evaluator_count > 0 ? watch->evaluators[--watch->evaluator_count] : NULL;
    pthread_mutex_unlock(&watch->lock);
    return evaluator != NULL ? evaluator : profile_evaluator_new();
}

static void return_evaluator(struct profile_watch *watch, struct profile_evaluator *evaluator)
{
    pthread_mutex_lock(&watch->lock);
    if (watch->evaluator_count < KEPT_EVALUATORS) {
        watch->evaluators[watch->evaluator_count++] = evaluator;
        evaluator = NULL;
    }
    pthread_mutex_unlock(&watch->lock);
    profile_evaluator_free(evaluator);
}

int profile_watch_decide(struct profile_watch *watch, const struct profile_request *request,
                         struct profile_answer *ret_answer, struct buf *ret_errors,
                         struct profiles **ret_profiles, struct rondo_error *err)
{
    int r = profile_watch_get(watch, ret_profiles, err);
    if (r == 0) {
        struct profile_evaluator *evaluator = borrow_evaluator(watch);
        profiles_decide(*ret_profiles, evaluator, request, ret_answer, ret_errors);
        return_evaluator(watch, evaluator);
    }
    return r;
}
