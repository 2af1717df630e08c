// SPDX-License-Identifier: Apache-2.0
/*
 * The state folder and the folders of projects in it. Every folder is checked at each use:
 * a process that could write one of them could decide which commands a resume executes.
 */
#include "os/state_folder.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/host.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Characters of a project's name and of its digest in the name of its folder. */
#define PROJECT_NAME_LEN 40
#define PROJECT_HASH_LEN 12

static char *join(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return buf_steal(&path);
}

static bool is_absolute(const char *path)
{
    return path != NULL && path[0] == '/';
}

int state_folder_path(char **ret_path, struct rondo_error *err)
{
    const char *given = getenv("XDG_STATE_HOME");
    if (is_absolute(given)) {
        *ret_path = join(given, "rondo");
        return 0;
    }
    auto_free char *home = host_home();
    if (home == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "you have no home folder to keep state in; set XDG_STATE_HOME to a "
                         "folder of your own");
    }
    *ret_path = join(home, ".local/state/rondo");
    return 0;
}

/** A home that does not exist is not made: its user has none, as many system users. */
static int check_home(struct rondo_error *err)
{
    auto_free char *home = is_absolute(getenv("XDG_STATE_HOME")) ? NULL : host_home();
    if (home != NULL && !file_exists(home)) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "the home folder %s, in which state is kept, does not exist; set "
                         "XDG_STATE_HOME to a folder of your own",
                         home);
    }
    return 0;
}

/** Whether nobody else can have put anything into a folder. */
static int check_private(const char *path, struct rondo_error *err)
{
    static const char advice[] = "or set XDG_STATE_HOME to a folder of your own";
    struct stat status;
    if (lstat(path, &status) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", path);
    }
    if (S_ISLNK(status.st_mode)) {
        return error_set(err, RONDO_ERR_DENIED,
                         "%s is a symbolic link, and Rondo's state must be a real folder: replace "
                         "the link by what it leads to, %s",
                         path, advice);
    }
    if (!S_ISDIR(status.st_mode)) {
        return error_set(err, RONDO_ERR_DENIED, "%s is not a folder: remove it, %s", path, advice);
    }
    if (status.st_uid != geteuid()) {
        return error_set(err, RONDO_ERR_DENIED,
                         "%s belongs to user %ld, and you are user %ld: change its owner, %s", path,
                         (long)status.st_uid, (long)geteuid(), advice);
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return error_set(err, RONDO_ERR_DENIED,
                         "other users can write to %s: check what is in it, then `chmod 700` it, "
                         "%s",
                         path, advice);
    }
    return 0;
}

/** Take over `path`, a folder that is made first if it may be. */
static int examine(char *path, bool may_create, char **ret_path, struct rondo_error *err)
{
    auto_free char *owned = path;
    int r = may_create && !file_exists(path) ? file_make_folder(path, err) : 0;
    if (r == 0) {
        r = check_private(path, err);
    }
    if (r == 0) {
        *ret_path = steal_pointer(&owned);
    }
    return r;
}

static int open_state(bool may_create, char **ret_path, struct rondo_error *err)
{
    char *path = NULL;
    int r = check_home(err);
    r = r < 0 ? r : state_folder_path(&path, err);
    return r < 0 ? r : examine(path, may_create, ret_path, err);
}

int state_folder(char **ret_path, struct rondo_error *err)
{
    return open_state(true, ret_path, err);
}

int state_folder_find(char **ret_path, struct rondo_error *err)
{
    return open_state(false, ret_path, err);
}

static int open_sub_folder(const char *name, bool may_create, char **ret_path,
                           struct rondo_error *err)
{
    auto_free char *state = NULL;
    int r = open_state(may_create, &state, err);
    return r < 0 ? r : examine(join(state, name), may_create, ret_path, err);
}

int state_sub_folder(const char *name, char **ret_path, struct rondo_error *err)
{
    return open_sub_folder(name, true, ret_path, err);
}

static bool is_plain(char c)
{
    return ascii_is_letter_or_digit(c) || c == '-' || c == '_';
}

/** NAME-HASH. The name is for people; the hash tells projects apart. */
static char *project_name(const char *canonical)
{
    const char *last = strrchr(canonical, '/') + 1;
    struct buf name = {0};
    for (size_t i = 0; i < PROJECT_NAME_LEN && last[i] != '\0'; i++) {
        char c = is_plain(last[i]) ? last[i] : '_';
        buf_append(&name, &c, 1);
    }
    unsigned char sum[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, canonical, strlen(canonical));
    digest_finish(&digest, sum);
    digest_hex(sum, hex);
    buf_printf(&name, "%s%.*s", name.len == 0 ? "root-" : "-", PROJECT_HASH_LEN, hex);
    return buf_steal(&name);
}

/** See that the folder is that of this project, or make it so when it is new. */
static int check_project_file(const char *folder, const char *canonical, bool may_create,
                              struct rondo_error *err)
{
    auto_free char *path = join(folder, STATE_PROJECT_FILE);
    auto_buf struct buf wanted = {0};
    buf_printf(&wanted, "%s\n", canonical);
    auto_buf struct buf content = {0};
    int r = file_read(path, LIMIT_STATE_PROJECT_BYTES, &content, err);
    if (r == RONDO_ERR_NOT_FOUND && may_create) {
        return file_replace_durably(path, wanted.data, wanted.len, err);
    }
    if (r == 0 && strcmp(buf_string(&content), buf_string(&wanted)) != 0) {
        r = error_set(
            err, RONDO_ERR_DENIED,
            "%s does not contain the path of the project %s: the folder around it belongs "
            "to another project; remove it if you do not need it",
            path, canonical);
    }
    return r;
}

static int open_project(const char *project, bool may_create, char **ret_path,
                        struct rondo_error *err)
{
    auto_free char *canonical = realpath(project, NULL);
    if (canonical == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot find the folder %s", project);
    }
    auto_free char *projects = NULL;
    int r = open_sub_folder(STATE_PROJECTS, may_create, &projects, err);
    if (r < 0) {
        return r;
    }
    auto_free char *name = project_name(canonical);
    auto_free char *path = NULL;
    r = examine(join(projects, name), may_create, &path, err);
    if (r == 0) {
        r = check_project_file(path, canonical, may_create, err);
    }
    if (r == 0) {
        *ret_path = steal_pointer(&path);
    }
    return r;
}

int state_project_path(const char *project, char **ret_path, struct rondo_error *err)
{
    auto_free char *canonical = realpath(project, NULL);
    if (canonical == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot find the folder %s", project);
    }
    auto_free char *state = NULL;
    int r = state_folder_path(&state, err);
    if (r == 0) {
        auto_free char *projects = join(state, STATE_PROJECTS);
        auto_free char *name = project_name(canonical);
        *ret_path = join(projects, name);
    }
    return r;
}

int state_project_folder(const char *project, char **ret_path, struct rondo_error *err)
{
    return open_project(project, true, ret_path, err);
}

int state_project_find(const char *project, char **ret_path, struct rondo_error *err)
{
    return open_project(project, false, ret_path, err);
}

bool state_is_in_project(const char *path)
{
    const char *slash = strrchr(path, '/');
    auto_free char *named =
        slash == NULL ? memory_dup_string(".") : memory_dup_bytes(path, (size_t)(slash - path) + 1);
    auto_free char *folder = realpath(named, NULL);
    for (size_t len = folder == NULL ? 0 : strlen(folder); len > 0;) {
        auto_free char *project = NULL;
        if (state_project_path(folder, &project, NULL) == 0 && file_exists(project)) {
            return true;
        }
        while (len > 0 && folder[len - 1] != '/') {
            len--;
        }
        len -= len > 0;
        folder[len] = '\0';
    }
    return false;
}

/** The path that a folder of STATE/projects names, if nothing is there any more. Owned, or NULL. */
static char *read_lost(const char *folder)
{
    auto_free char *path = join(folder, STATE_PROJECT_FILE);
    auto_buf struct buf content = {0};
    if (file_read(path, LIMIT_STATE_PROJECT_BYTES, &content, NULL) < 0 || content.len < 2) {
        return NULL;
    }
    content.data[content.len - 1] = '\0';
    return content.data[0] != '/' || file_exists(content.data) ? NULL : buf_steal(&content);
}

bool state_project_find_moved(const char *project, char **ret_was, char **ret_path)
{
    auto_free char *canonical = realpath(project, NULL);
    auto_free char *projects = NULL;
    if (canonical == NULL || open_sub_folder(STATE_PROJECTS, false, &projects, NULL) < 0) {
        return false;
    }
    DIR *list = opendir(projects);
    bool is_found = false;
    for (struct dirent *entry; !is_found && list != NULL && (entry = readdir(list)) != NULL;) {
        auto_free char *folder = join(projects, entry->d_name);
        auto_free char *was = entry->d_name[0] == '.' ? NULL : read_lost(folder);
        is_found = was != NULL && strcmp(strrchr(was, '/'), strrchr(canonical, '/')) == 0;
        if (is_found) {
            *ret_was = steal_pointer(&was);
            *ret_path = steal_pointer(&folder);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    return is_found;
}
