// SPDX-License-Identifier: Apache-2.0
/*
 * Deciding whose a store is. What cannot be found out counts as not the user's own.
 *
 * all opens: only compares names and owners; a store that is not the user's own is copied, not
 * opened.
 */
#include "store/locate/origin.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/host.h"
#include "os/state_folder.h"
#include "os/trust.h"
#include "store/copy.h"
#include "store/log_files.h"
#include "store/place.h"
#include "store/sqlite/sqlite.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Runs of an old store that are looked at, newest first, and events of each. */
#define OLD_RUNS   1000
#define OLD_EVENTS 3

static int examine(const char *path, struct statx *ret_status, struct rondo_error *err)
{
    unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, wanted, ret_status) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine the store %s", path);
    }
    if (!S_ISREG(ret_status->stx_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a regular file", path);
    }
    return 0;
}

int store_origin_identity(const char *path, struct buf *ret_bytes, struct rondo_error *err)
{
    struct statx status;
    int r = examine(path, &status, err);
    if (r == 0) {
        bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
        buf_printf(ret_bytes, "inode %" PRIu64 " born %" PRId64 ".%09" PRIu32 "\n",
                   (uint64_t)status.stx_ino, has_birth ? (int64_t)status.stx_btime.tv_sec : 0,
                   has_birth ? (uint32_t)status.stx_btime.tv_nsec : 0);
    }
    return r;
}

/** Whether a store needs no record. The state folder is examined, or made, first. */
static int is_in_state(const char *path, bool *ret_is_in, struct rondo_error *err)
{
    auto_free char *state = NULL;
    int r = state_folder(&state, err);
    if (r == 0) {
        *ret_is_in = store_is_in_state(path);
    }
    return r;
}

/* ---- Stores of Rondo 0.1 -------------------------------------------------------------------- */

struct origin_search {
    struct store *store;
    char boot[64]; /**< as in the name of an owner, with the blanks around it */
    char host[80];
    char run_id[ID_SIZE];
    int64_t oldest_ns;
    int64_t newest_ns;
    bool is_found;
};

static bool take_claim(const struct store_event *event, void *context)
{
    struct origin_search *search = context;
    if (strcmp(event->type, "run.claimed") == 0 && strstr(event->data, search->boot) != NULL &&
        strstr(event->data, search->host) != NULL) {
        search->is_found = true;
    }
    return true;
}

struct run_ids {
    char (*ids)[ID_SIZE];
    size_t count;
    struct origin_search *search;
};

static bool take_run(const struct store_run *run, void *context)
{
    struct run_ids *list = context;
    struct origin_search *search = list->search;
    if (search->oldest_ns == 0 || run->created_ns < search->oldest_ns) {
        search->oldest_ns = run->created_ns;
    }
    if (run->updated_ns > search->newest_ns) {
        search->newest_ns = run->updated_ns;
    }
    if (list->count < OLD_RUNS) {
        memcpy(list->ids[list->count++], run->id, ID_SIZE);
    }
    return true;
}

/** Whether this machine, since it was started, has executed a run of the store. */
static bool names_this_boot(struct store *store, struct origin_search *search)
{
    struct host_process self;
    host_describe_self(&self);
    if (self.boot_id[0] == '\0') {
        return false;
    }
    snprintf(search->boot, sizeof(search->boot), " boot=%s ", self.boot_id);
    snprintf(search->host, sizeof(search->host), " host=%s\"", self.host);
    auto_free char(*ids)[ID_SIZE] = memory_new_zero(OLD_RUNS, sizeof(*ids));
    struct run_ids list = {.ids = ids, .search = search};
    struct store_run_query query = {0};
    if (store->ops->list_runs(store, &query, take_run, &list, NULL) < 0) {
        return false;
    }
    for (size_t i = 0; i < list.count && !search->is_found; i++) {
        if (store->ops->read_events(store, ids[i], 0, OLD_EVENTS, take_claim, search, NULL) < 0) {
            return false;
        }
    }
    return search->is_found;
}

static bool is_private(const char *path, const struct statx *file)
{
    auto_free char *folder = memory_dup_bytes(path, (size_t)(strrchr(path, '/') - path));
    struct stat status;
    return file->stx_uid == geteuid() && file->stx_nlink == 1 && (file->stx_mode & 0077) == 0 &&
           lstat(folder[0] == '\0' ? "/" : folder, &status) == 0 && status.st_uid == geteuid() &&
           (!store_is_in_old_folder(path) || (status.st_mode & 0077) == 0);
}

/**
 * The author of an archive does not know the boot. One that has it (a copy made on this
 * machine) still cannot make a file older than it is.
 */
static bool was_made_here_before(const char *path)
{
    struct statx file;
    if (examine(path, &file, NULL) < 0 || !is_private(path, &file) ||
        (file.stx_mask & STATX_BTIME) == 0) {
        return false;
    }
    struct store *store = NULL;
    if (store_origin_open_copy(path, &store, NULL) < 0) {
        return false;
    }
    struct origin_search search = {0};
    bool is_named = names_this_boot(store, &search);
    store_close(store);
    int64_t born_ns = file.stx_btime.tv_sec * NS_PER_S + file.stx_btime.tv_nsec;
    return is_named && search.oldest_ns >= born_ns && search.newest_ns <= clock_now(clock_system());
}

/* ---- Looking and recording ------------------------------------------------------------------ */

static int record(const char *path, struct rondo_error *err)
{
    auto_buf struct buf identity = {0};
    int r = store_origin_identity(path, &identity, err);
    r = r < 0 ? r : trust_confirm(TRUST_STORE, path, identity.data, identity.len, err);
    if (r < 0) {
        error_prefix(err, "while recording that the store %s was made here", path);
    }
    return r;
}

int store_origin_look(const char *path, bool *ret_is_own, struct rondo_error *err)
{
    bool is_own = false;
    int r = is_in_state(path, &is_own, err);
    if (r < 0 || is_own) {
        *ret_is_own = is_own;
        return r;
    }
    auto_buf struct buf identity = {0};
    enum trust_verdict verdict = TRUST_UNKNOWN;
    r = store_origin_identity(path, &identity, err);
    if (r == 0) {
        r = trust_look(TRUST_STORE, path, identity.data, identity.len, &verdict, err);
    }
    if (r == 0 && verdict == TRUST_UNKNOWN && was_made_here_before(path)) {
        /* Its log was read, too, to find that out. */
        r = store_log_files_accept(path, err);
        r = r < 0 ? r : trust_confirm(TRUST_STORE, path, identity.data, identity.len, err);
        verdict = TRUST_CONFIRMED;
    }
    if (r == 0) {
        *ret_is_own = verdict == TRUST_CONFIRMED;
    }
    return r;
}

int store_origin_record(const char *path, struct rondo_error *err)
{
    bool is_in = false;
    int r = is_in_state(path, &is_in, err);
    return r < 0 || is_in ? r : record(path, err);
}

int store_origin_refuse(const char *path, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_DENIED,
                     "the store %s was not created here by you, so it is read-only (`rondo runs`, "
                     "`rondo show`): its creator decides which commands a run executes. If "
                     "you trust its content: rondo trust '%s'",
                     path, path);
}

int store_origin_open_copy(const char *path, struct store **ret_store, struct rondo_error *err)
{
    auto_free char *copy = NULL;
    int lock = -1;
    int r = store_copy_make(path, &copy, &lock, err);
    if (r < 0) {
        return r;
    }
    struct store_sqlite_options options = {.path = copy, .private_lock = lock, .is_private = true};
    r = store_sqlite_open(&options, ret_store, err);
    if (r < 0) {
        store_copy_remove(copy, lock);
    }
    return r;
}
