// SPDX-License-Identifier: Apache-2.0
/* Watching the desk file. What was read once is kept: decisions under way use it. */
#include "handoff/desks/watch.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/desks/internal.h"
#include "os/file.h"
#include "os/file_state.h"
#include "os/file_untrusted.h"
#include "os/trust.h"
#include "policy/watch_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** One that was in force. */
struct desks_version {
    struct desks_version *next;
    struct desks *desks;
};

struct desks_watch {
    char *path;
    pthread_mutex_t lock;
    bool is_guarded;
    bool is_known;   /**< the file was looked at */
    bool is_missing; /**< as it was then */
    bool is_waiting; /**< it was refused because nobody has confirmed it */
    uint64_t stamp;  /**< of the confirmation that there was then */
    struct file_state state;
    const struct desks *current;
    struct desks_version *versions;
    struct rondo_error problem;
    uint64_t problems;
};

/** Nobody is on any desk: what decides cannot be read. */
static const struct desks unusable = {.is_unusable = true};

char *desks_path_of_store(const char *store_path)
{
    struct buf path = {0};
    if (store_path == NULL) {
        return NULL;
    }
    const char *slash = strrchr(store_path, '/');
    buf_append(&path, store_path, slash == NULL ? 0 : (size_t)(slash + 1 - store_path));
    buf_append_string(&path, DESKS_FILE);
    return buf_steal(&path);
}

struct desks_watch *desks_watch_new(const char *path)
{
    struct desks_watch *watch = memory_new_zero(1, sizeof(*watch));
    watch->path = memory_dup_string(path);
    pthread_mutex_init(&watch->lock, NULL);
    return watch;
}

void desks_watch_free(struct desks_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    while (watch->versions != NULL) {
        struct desks_version *version = watch->versions;
        watch->versions = version->next;
        desks_free(version->desks);
        free(version);
    }
    pthread_mutex_destroy(&watch->lock);
    free(watch->path);
    free(watch);
}

const char *desks_watch_path(const struct desks_watch *watch)
{
    return watch->path;
}

void desks_watch_guard(struct desks_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->is_known = watch->is_known && watch->is_guarded;
    watch->is_guarded = true;
    pthread_mutex_unlock(&watch->lock);
}

bool desks_watch_is_guarded(struct desks_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    bool is_guarded = watch->is_guarded;
    pthread_mutex_unlock(&watch->lock);
    return is_guarded;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

int desks_load(const char *path, struct desks **ret_desks, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    /* opens: a file that a person names, or beside the store */
    int r = file_read(path, LIMIT_DESKS_BYTES, &text, err);
    return r < 0 ? r : desks_read(buf_string(&text), text.len, name_of(path), ret_desks, err);
}

/** One that agents could exchange is not followed through links, and must be confirmed. */
static int load_guarded(const struct desks_watch *watch, struct desks **ret_desks,
                        struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    auto_free char *path = NULL;
    int r = trust_path(watch->path, &path, err);
    auto_close int root_fd = r < 0 ? -1 : file_open_folder("/", err); /* opens: the root itself */
    r = r < 0 ? r : root_fd < 0 ? root_fd : 0;
    r = r < 0 ? r : file_read_untrusted(root_fd, path + 1, LIMIT_DESKS_BYTES, &text, err);
    r = r < 0 ? r
              : trust_require(TRUST_DESKS, path, buf_string(&text), text.len, "the desk file", err);
    return r < 0 ? r : desks_read(buf_string(&text), text.len, name_of(path), ret_desks, err);
}

static void keep(struct desks_watch *watch, struct desks *desks)
{
    for (struct desks_version *version = watch->versions; version != NULL;
         version = version->next) {
        if (strcmp(desks_digest(version->desks), desks_digest(desks)) == 0) {
            watch->current = version->desks; /* It was there before. */
            desks_free(desks);
            return;
        }
    }
    struct desks_version *version = memory_new_zero(1, sizeof(*version));
    *version = (struct desks_version){.next = watch->versions, .desks = desks};
    watch->versions = version;
    watch->current = desks;
}

static void refuse(struct desks_watch *watch, const struct rondo_error *err)
{
    watch->problem = *err;
    watch->problems++;
    if (watch->current == NULL) {
        watch->current = &unusable;
    }
}

/** Read what is there now. The lock is held. */
static void reload(struct desks_watch *watch, uint64_t stamp)
{
    struct desks *desks = NULL;
    struct rondo_error err = {0};
    bool is_guarded = watch->is_guarded || stamp != 0;
    int r = 0;
    watch->is_waiting = false;
    if (watch->is_missing && stamp == 0 &&
        (watch->current == NULL || watch->current == &unusable)) {
        watch->current = NULL;
        return;
    }
    if (watch->is_missing) {
        r = error_set(&err, RONDO_ERR_NOT_FOUND,
                      "the desk file %s is gone; put it back, or restart Rondo to do without it",
                      watch->path);
    } else {
        r = is_guarded ? load_guarded(watch, &desks, &err) : desks_load(watch->path, &desks, &err);
    }
    watch->is_waiting = r == RONDO_ERR_DENIED;
    if (r < 0) {
        refuse(watch, &err);
    } else {
        keep(watch, desks);
    }
}

/** Whether the file is as it was, or is being written. The lock is held. */
static bool is_same(const struct desks_watch *watch, const struct file_state *state,
                    bool is_missing, uint64_t stamp)
{
    if (!watch->is_known || is_missing != watch->is_missing ||
        (watch->is_waiting && stamp != watch->stamp)) {
        return false;
    }
    if (is_missing || file_state_is_untouched(&watch->state, state)) {
        return true;
    }
    int64_t age_ns = clock_now(clock_system()) - state->modified_ns;
    return file_state_is_same_file(&watch->state, state) && age_ns >= 0 && age_ns < WATCH_REST_NS;
}

const struct desks *desks_watch_look(struct desks_watch *watch)
{
    struct file_state state = {0};
    bool is_missing = false;
    if (watch->path == NULL) {
        return NULL;
    }
    /* opens: looks only */
    int failure = file_state_look(watch->path, &state, &is_missing);
    pthread_mutex_lock(&watch->lock);
    is_missing = failure != 0 && is_missing;
    /* Whether somebody has confirmed it matters while it waits for that, and when it is read. */
    bool is_settled = !watch->is_waiting && is_same(watch, &state, is_missing, watch->stamp);
    uint64_t stamp = is_settled ? watch->stamp : trust_stamp(TRUST_DESKS, watch->path);
    if (!is_settled && !is_same(watch, &state, is_missing, stamp)) {
        watch->is_known = true;
        watch->is_missing = is_missing;
        watch->state = state;
        watch->stamp = stamp;
        reload(watch, stamp);
    }
    const struct desks *current = watch->current;
    pthread_mutex_unlock(&watch->lock);
    return current;
}

bool desks_watch_problem(struct desks_watch *watch, uint64_t *seen, struct rondo_error *err)
{
    pthread_mutex_lock(&watch->lock);
    bool is_new = *seen != watch->problems;
    *seen = watch->problems;
    if (is_new) {
        *err = watch->problem;
    }
    pthread_mutex_unlock(&watch->lock);
    return is_new;
}
