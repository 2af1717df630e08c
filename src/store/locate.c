// SPDX-License-Identifier: Apache-2.0
/* Locating the store. Never creates the store's file itself, only the folder around it. */
#include "store/locate.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "store/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** A cloned or shared tree may hold somebody else's store; root's is trusted like the system. */
static bool is_ours(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

static char *path_in(const char *folder, size_t folder_len)
{
    struct buf path = {0};
    buf_append(&path, folder, folder_len);
    buf_append_string(&path, "/" STORE_FOLDER_NAME "/" STORE_FILE_NAME);
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

/** Search from `folder` up to the root. @return owned path, or NULL */
static char *find_upwards(const char *folder)
{
    for (size_t len = strlen(folder);; len--) {
        if (folder[len] != '/' && folder[len] != '\0') {
            continue;
        }
        auto_free char *path = path_in(folder, len == 1 ? 0 : len);
        struct stat status;
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && is_ours(&status)) {
            return steal_pointer(&path);
        }
        if (len == 0) {
            return NULL;
        }
    }
}

static int make_folder(const char *store_path, struct rondo_error *err)
{
    auto_free char *folder =
        memory_dup_bytes(store_path, (size_t)(strrchr(store_path, '/') - store_path));
    const char *name = strrchr(folder, '/');
    if (name == NULL || strcmp(name + 1, STORE_FOLDER_NAME) != 0) {
        return 0; /* A place of the user's own: a missing folder may well be a typing error. */
    }
    int r = file_make_folder(folder, err);
    if (r < 0) {
        return r;
    }
    auto_buf struct buf ignore = {0};
    buf_printf(&ignore, "%s/.gitignore", folder);
    return file_exists(buf_string(&ignore)) ? 0 : file_replace(buf_string(&ignore), "*\n", 2, err);
}

static int locate_given(const char *given, char **ret_path, struct rondo_error *err)
{
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

static int locate_default(bool may_create, char **ret_path, struct rondo_error *err)
{
    auto_free char *folder = working_directory(err);
    if (folder == NULL) {
        return RONDO_ERR_SYSTEM;
    }
    auto_free char *path = find_upwards(folder);
    if (path == NULL && !may_create) {
        return error_set(
            err, RONDO_ERR_NOT_FOUND,
            "there is no store in %s or above it; `rondo run` or `rondo loop` makes one, or give "
            "--store FILE",
            folder);
    }
    if (path == NULL) {
        path = path_in(folder, strlen(folder));
        struct stat status;
        if (stat(path, &status) == 0 && !is_ours(&status)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%s belongs to another user; give it with --store if you trust its "
                             "content",
                             path);
        }
    }
    *ret_path = steal_pointer(&path);
    return 0;
}

int store_locate(const char *given, bool may_create, char **ret_path, struct rondo_error *err)
{
    if (given == NULL) {
        given = getenv("RONDO_STORE");
    }
    bool is_given = given != NULL && given[0] != '\0';
    auto_free char *path = NULL;
    int r = is_given ? locate_given(given, &path, err) : locate_default(may_create, &path, err);
    if (r < 0) {
        return r;
    }
    assert(path != NULL);
    r = may_create ? make_folder(path, err) : 0;
    if (r == 0) {
        *ret_path = steal_pointer(&path);
    }
    return r;
}

int store_open_default(const char *given, bool may_create, struct store **ret_store,
                       char **ret_path, struct rondo_error *err)
{
    auto_free char *path = NULL;
    int r = store_locate(given, may_create, &path, err);
    if (r < 0) {
        return r;
    }
    struct store_sqlite_options options = {.path = path, .may_create = may_create};
    r = store_sqlite_open(&options, ret_store, err);
    if (r == 0 && ret_path != NULL) {
        *ret_path = steal_pointer(&path);
    }
    return r;
}
