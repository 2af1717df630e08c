// SPDX-License-Identifier: Apache-2.0
/*
 * Locating the store. Never creates the store's file itself, only the project's folder.
 *
 * all opens: looks for stores, and follows no link to one; store/locate/origin decides whether it
 * counts.
 */
#include "store/locate/locate.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "store/locate/database.h"
#include "store/locate/origin.h"
#include "store/log_files.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"
#include "store/store.h"
#include "store/transfer/mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/** A cloned or shared tree may hold somebody else's store; root's is trusted like the system. */
static bool is_ours(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

static char *join(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return buf_steal(&path);
}

/** @return owned, or NULL with `err` filled: RONDO_ERR_SYSTEM */
static char *working_directory(struct rondo_error *err)
{
    char *folder = getcwd(NULL, 0);
    if (folder == NULL) {
        error_set(err, RONDO_ERR_SYSTEM, "cannot find the working directory: %s", strerror(errno));
    }
    return folder;
}

static int refuse_old(const char *path, const char *what, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_DENIED,
                     "%s is %s, and is not used as a store: remove it, or name the store with "
                     "--store FILE",
                     path, what);
}

/** The store that Rondo 0.1 made in a folder. @param ret_path stays NULL when there is none */
static int find_old(const char *folder, char **ret_path, struct rondo_error *err)
{
    auto_free char *own_folder = join(folder, STORE_OLD_FOLDER_NAME);
    auto_free char *path = join(own_folder, STORE_FILE_NAME);
    struct stat status;
    if (lstat(own_folder, &status) != 0 || !is_ours(&status)) {
        return 0;
    }
    if (S_ISLNK(status.st_mode)) {
        return refuse_old(own_folder, "a symbolic link", err);
    }
    if (lstat(path, &status) != 0 || !is_ours(&status)) {
        return 0;
    }
    if (S_ISLNK(status.st_mode)) {
        return refuse_old(path, "a symbolic link", err);
    }
    if (!S_ISREG(status.st_mode)) {
        return refuse_old(path, "not a regular file", err);
    }
    if (status.st_nlink != 1) {
        return refuse_old(path, "a file with several names (hard links)", err);
    }
    *ret_path = steal_pointer(&path);
    return 0;
}

/** The store of one folder. @param ret_path stays NULL when there is none */
static int find_in(const char *folder, char **ret_path, struct rondo_error *err)
{
    auto_free char *project = NULL;
    struct rondo_error problem;
    int r = state_project_find(folder, &project, &problem);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        *err = problem;
        return r;
    }
    auto_free char *path = project == NULL ? NULL : join(project, STORE_FILE_NAME);
    /* What is in the state folder comes first: nobody can plant it. */
    if (path == NULL || !file_exists(path)) {
        r = find_old(folder, ret_path, err);
        if (r < 0 || *ret_path != NULL) {
            return r;
        }
    }
    *ret_path = steal_pointer(&path);
    return 0;
}

/** Search from `folder` up to the root. @param ret_path stays NULL when there is none */
static int find_upwards(const char *folder, char **ret_path, struct rondo_error *err)
{
    auto_free char *level = memory_dup_string(folder);
    for (;;) {
        int r = find_in(level, ret_path, err);
        char *slash = strrchr(level, '/');
        if (r < 0 || *ret_path != NULL || slash[1] == '\0') {
            return r;
        }
        slash[slash == level ? 1 : 0] = '\0';
    }
}

static bool begins_with_scheme(const char *text)
{
    static const char *const schemes[] = {"file:", "sqlite:", ":memory:"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-");
    return len > 0 && ascii_is_letter(text[0]) && strncmp(text + len, "://", 3) == 0;
}

static int locate_given(const char *given, char **ret_path, struct rondo_error *err)
{
    if (store_database_is_address(given)) {
        return store_database_place(given, ret_path, err);
    }
    if (begins_with_scheme(given + strspn(given, " \t"))) {
        /* The rest of it may be a secret. */
        return error_set(err, RONDO_ERR_INVALID,
                         "the store %.*s... is a URL of an unknown kind: give the path of a "
                         "file on a local disk (./NAME for a file that has such a name), or an "
                         "address that begins with postgresql://",
                         (int)strcspn(given, ":") + 1, given);
    }
    if (given[0] == '/') {
        *ret_path = memory_dup_string(given);
        return 0;
    }
    auto_free char *folder = working_directory(err);
    if (folder == NULL) {
        return RONDO_ERR_SYSTEM;
    }
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, given);
    *ret_path = buf_steal(&path);
    return 0;
}

/** That there is no store, and what became of it if the project was moved. */
static int report_none(const char *folder, struct rondo_error *err)
{
    auto_free char *was = NULL;
    auto_free char *from = NULL;
    auto_free char *to = NULL;
    if (state_project_find_moved(folder, &was, &from) &&
        state_project_path(folder, &to, NULL) == 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "there is no store for %s; if this project was in %s before, move its "
                         "store too: mv %s %s && pwd -P >%s/" STATE_PROJECT_FILE,
                         folder, was, from, to, to);
    }
    return error_set(err, RONDO_ERR_NOT_FOUND,
                     "there is no store for %s or a folder above it; `rondo run` or `rondo loop` "
                     "makes one, or give --store FILE",
                     folder);
}

static int locate_default(bool may_create, char **ret_path, struct rondo_error *err)
{
    auto_free char *folder = working_directory(err);
    if (folder == NULL) {
        return RONDO_ERR_SYSTEM;
    }
    auto_free char *path = NULL;
    int r = find_upwards(folder, &path, err);
    if (r == 0 && path == NULL) {
        auto_free char *project = NULL;
        r = may_create ? state_project_folder(folder, &project, err) : report_none(folder, err);
        path = r < 0 ? NULL : join(project, STORE_FILE_NAME);
    }
    if (r == 0) {
        *ret_path = steal_pointer(&path);
    }
    return r;
}

/** What the user names, be it by the environment. NULL = nothing. */
static const char *chosen(const char *given)
{
    given = given == NULL ? getenv("RONDO_STORE") : given;
    return given != NULL && given[0] != '\0' ? given : NULL;
}

int store_locate(const char *given, bool may_create, char **ret_path, struct rondo_error *err)
{
    given = chosen(given);
    return given != NULL ? locate_given(given, ret_path, err)
                         : locate_default(may_create, ret_path, err);
}

/** Whether there is nothing yet that could decide anything. */
static bool is_new(const char *path)
{
    struct stat status;
    return lstat(path, &status) != 0
               ? errno == ENOENT
               : S_ISREG(status.st_mode) && status.st_size == 0 && status.st_uid == geteuid();
}

/** Open a store of the user. What SQLite would find beside one that commands can see is checked. */
static int open_own(const char *path, bool may_create, struct store **ret_store,
                    struct rondo_error *err)
{
    bool is_hidden = store_is_in_state(path);
    struct store *store = NULL;
    const struct store_sqlite_options options = {
        .path = path, .may_create = may_create, .keeps_log = !is_hidden};
    int r = is_hidden ? 0 : store_log_files_hold(path, err);
    r = r < 0 ? r : store_sqlite_open(&options, &store, err);
    if (r == 0 && !is_hidden) {
        r = store_log_files_hold_all(path, err);
    }
    if (r < 0) {
        store_close(store);
        return r;
    }
    *ret_store = store;
    return 0;
}

/** Open a store that exists. */
static int open_existing(const char *path, enum store_access access, struct store **ret_store,
                         struct rondo_error *err)
{
    auto_free char *real = realpath(path, NULL);
    if (real == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the store %s", path);
    }
    bool is_own = false;
    int r = store_origin_look(real, &is_own, err);
    if (r < 0) {
        return r;
    }
    if (!is_own) {
        return access == STORE_READING ? store_origin_open_copy(real, ret_store, err)
                                       : store_origin_refuse(real, err);
    }
    return open_own(real, false, ret_store, err);
}

/** Make a store. It is recorded before it has a content that another process could refuse. */
static int create(const char *path, struct store **ret_store, struct rondo_error *err)
{
    int r = store_sqlite_create_file(path, err);
    if (r < 0) {
        return r;
    }
    auto_free char *real = realpath(path, NULL);
    if (real == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot find the store %s", path);
    }
    r = store_origin_record(real, err);
    return r < 0 ? r : open_own(real, true, ret_store, err);
}

static bool may_create(enum store_access access)
{
    return access == STORE_CREATING || access == STORE_COPYING;
}

/** The server says who may do what there; nothing on this machine could be forged. */
static int open_database(const char *address, enum store_access access, struct store **ret_store,
                         char **ret_path, struct rondo_error *err)
{
    const struct store_postgres_options options = {.address = address,
                                                   .may_create = may_create(access),
                                                   .may_migrate = access == STORE_MIGRATING};
    auto_free char *path = NULL;
    int r = store_database_place(address, &path, err);
    r = r < 0 ? r : store_postgres_open(&options, ret_store, err);
    if (r == 0) {
        *ret_path = steal_pointer(&path);
    }
    return r;
}

static int open_file(const char *given, enum store_access access, struct store **ret_store,
                     char **ret_path, struct rondo_error *err)
{
    auto_free char *path = NULL;
    int r = store_locate(given, may_create(access), &path, err);
    if (r < 0) {
        return r;
    }
    r = may_create(access) && is_new(path) ? create(path, ret_store, err)
                                           : open_existing(path, access, ret_store, err);
    if (r == 0) {
        *ret_path = steal_pointer(&path);
    }
    return r;
}

int store_open_default(const char *given, enum store_access access, struct store **ret_store,
                       char **ret_path, struct rondo_error *err)
{
    struct store *store = NULL;
    auto_free char *path = NULL;
    const char *name = chosen(given);
    int r = name != NULL && store_database_is_address(name)
                ? open_database(name, access, &store, &path, err)
                : open_file(given, access, &store, &path, err);
    if (r == 0 && access != STORE_COPYING) {
        auto_free char *shown = store_name_of(path);
        r = transfer_check_whole(store, shown, err);
    }
    if (r < 0) {
        store_close(store);
        return r;
    }
    *ret_store = store;
    if (ret_path != NULL) {
        *ret_path = steal_pointer(&path);
    }
    return 0;
}
