// SPDX-License-Identifier: Apache-2.0
/*
 * Two walks: one over the folders of the working tree, for the names that git opens in them, and
 * one over the refs of each nested repository, because git resolves its HEAD to see whether it is
 * one. What git could not reach by its path (longer than PATH_MAX) is left alone. all opens: below
 * a descriptor and without links, but where git itself follows one: `.git`, its `gitdir:` and its
 * `commondir`. What is found there is only looked at.
 */
#include "git/inspect.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "os/file_untrusted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
/* "gitdir: PATH", and a line end. */
#define LINK_BYTES (PATH_MAX + 16)

struct inspection {
    const struct git_repository *repository;
    size_t max_folders;
    size_t folder_count; /* over all walks */
    uint64_t rules_bytes;
};

struct walk {
    struct inspection *inspection;
    int root_fd;
    char **pending; /* folders below the root that are still to be listed; owned */
    size_t count;
    size_t room;
    int (*look)(struct walk *walk, int fd, const char *path, const struct dirent *entry,
                struct rondo_error *err);
};

static int refuse(const char *path, const char *name, const char *why, struct rondo_error *err)
{
    auto_buf struct buf clean = {0};
    text_clean(path, strnlen(path, 300), &clean);
    return error_set(err, RONDO_ERR_DENIED, "git cannot work in this working tree: %s%s%s %s",
                     buf_string(&clean), clean.len == 0 ? "" : "/", name, why);
}

/* --- walking --- */

static int add_pending(struct walk *walk, const char *path, const char *name,
                       struct rondo_error *err)
{
    if (strlen(path) + strlen(name) + 2 > PATH_MAX) {
        return 0;
    }
    if (++walk->inspection->folder_count > walk->inspection->max_folders) {
        return error_set(err, RONDO_ERR_LIMIT, "the working tree has more than %zu folders",
                         walk->inspection->max_folders);
    }
    if (walk->count == walk->room) {
        walk->room = walk->room == 0 ? 64 : 2 * walk->room;
        walk->pending = memory_resize(walk->pending, walk->room, sizeof(*walk->pending));
    }
    struct buf below = {0};
    buf_printf(&below, "%s%s%s", path, *path == '\0' ? "" : "/", name);
    walk->pending[walk->count++] = buf_steal(&below);
    return 0;
}

static bool is_folder(int fd, const struct dirent *entry)
{
    struct stat status;
    return entry->d_type == DT_DIR ||
           (entry->d_type == DT_UNKNOWN &&
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
}

/** Git enters what it cannot list, when it is ours; what is another user's it cannot enter. */
static int judge_closed(const struct walk *walk, const char *path, struct rondo_error *err)
{
    struct stat status;
    auto_close int fd = file_open_beneath(walk->root_fd, path, O_PATH | O_DIRECTORY);
    return fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid()
               ? refuse("", path, "is a folder that cannot be listed", err)
               : 0;
}

static int list_folder(struct walk *walk, const char *path, struct rondo_error *err)
{
    int fd = file_open_beneath(walk->root_fd, *path == '\0' ? "." : path, FOLDER_FLAGS);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        return errno == EACCES ? judge_closed(walk, path, err)
               : errno == EMFILE || errno == ENFILE
                   ? error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot list a folder")
                   : 0;
    }
    int r = 0;
    for (const struct dirent *entry; r == 0 && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            r = walk->look(walk, fd, path, entry, err);
        }
    }
    closedir(folder);
    return r;
}

static int walk_run(struct walk *walk, struct rondo_error *err)
{
    int r = list_folder(walk, "", err);
    while (r == 0 && walk->count > 0) {
        auto_free char *path = walk->pending[--walk->count];
        r = list_folder(walk, path, err);
    }
    while (walk->count > 0) {
        free(walk->pending[--walk->count]);
    }
    free(walk->pending);
    return r;
}

/* --- nested repositories --- */

/**
 * A file in a git folder that git reads to its end. A name of a ref in it must lead to a ref: git
 * would open any other file of that name.
 */
static int check_ref(int fd, const char *path, const char *name, struct rondo_error *err)
{
    auto_buf struct buf content = {0};
    struct rondo_error why = {0};
    int r = file_read_untrusted(fd, name, LIMIT_GIT_RECORD_BYTES, &content, &why);
    if (r == RONDO_ERR_NOT_FOUND) {
        return 0;
    }
    if (r != 0) {
        return refuse(path, name,
                      "(of a nested repository) is not a regular file of at most 16 KiB", err);
    }
    const char *text = buf_string(&content);
    if (strncmp(text, "ref:", 4) != 0) {
        return 0;
    }
    text += 4 + strspn(text + 4, " \t\n\v\f\r");
    return strncmp(text, "refs/", 5) == 0
               ? 0
               : refuse(path, name, "(of a nested repository) points elsewhere", err);
}

static int look_at_ref(struct walk *walk, int fd, const char *path, const struct dirent *entry,
                       struct rondo_error *err)
{
    return is_folder(fd, entry) ? add_pending(walk, path, entry->d_name, err)
                                : check_ref(fd, path, entry->d_name, err);
}

/** Whether it is a regular file or missing, and within a size; a link is neither. */
static bool is_plain(int fd, const char *name, uint64_t max_bytes)
{
    struct stat status;
    return fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           (S_ISREG(status.st_mode) && (uint64_t)status.st_size <= max_bytes);
}

static int check_refs(struct inspection *inspection, int git_fd, const char *name, const char *path,
                      struct rondo_error *err)
{
    struct stat status;
    if (fstatat(git_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    if (!S_ISDIR(status.st_mode)) {
        return refuse(path, name, "(of a nested repository) is not a folder", err);
    }
    auto_close int fd = openat(git_fd, name, FOLDER_FLAGS | O_NOFOLLOW);
    struct walk walk = {.inspection = inspection, .root_fd = fd, .look = look_at_ref};
    return fd >= 0 ? walk_run(&walk, err) : refuse(path, name, "cannot be listed", err);
}

static int check_git_folder(struct inspection *inspection, int fd, const char *path, bool is_common,
                            struct rondo_error *err)
{
    static const char *const small[] = {"commondir", "config", "config.worktree", "gitdir"};
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        if (!is_plain(fd, small[i], LIMIT_GIT_RULES_BYTES)) {
            return refuse(path, small[i],
                          "(of a nested repository) is not a regular file of at most 1 MiB", err);
        }
    }
    if (!is_plain(fd, "packed-refs", LIMIT_GIT_LIST_BYTES)) {
        return refuse(path, "packed-refs",
                      "(of a nested repository) is not a regular file of at most 64 MiB", err);
    }
    int r = check_ref(fd, path, "HEAD", err);
    r = r != 0 ? r : check_refs(inspection, fd, "refs", path, err);
    r = r != 0 ? r : check_refs(inspection, fd, "reftable", path, err);
    auto_buf struct buf common = {0};
    if (r != 0 || is_common ||
        file_read_untrusted(fd, "commondir", LINK_BYTES, &common, NULL) != 0) {
        return r;
    }
    auto_free char *target =
        memory_dup_bytes(buf_string(&common), strcspn(buf_string(&common), "\r\n"));
    auto_close int common_fd = openat(fd, target, FOLDER_FLAGS);
    return common_fd < 0 ? 0 : check_git_folder(inspection, common_fd, path, true, err);
}

/**
 * Open the git folder that a `.git` leads to.
 * @param folder_fd of the folder that has the `.git`
 * @return descriptor; -1 when git takes it for none
 */
static int open_git_folder(int folder_fd)
{
    static const char prefix[] = "gitdir: ";
    char bytes[LINK_BYTES + 1];
    struct stat status;
    if (fstatat(folder_fd, ".git", &status, 0) != 0) {
        return -1;
    }
    if (!S_ISREG(status.st_mode)) {
        return S_ISDIR(status.st_mode) ? openat(folder_fd, ".git", FOLDER_FLAGS) : -1;
    }
    auto_close int fd = openat(folder_fd, ".git", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, bytes, LINK_BYTES);
    if (len < (ssize_t)sizeof(prefix) || memcmp(bytes, prefix, sizeof(prefix) - 1) != 0) {
        return -1;
    }
    bytes[len] = '\0';
    bytes[strcspn(bytes, "\r\n")] = '\0';
    return openat(folder_fd, bytes + sizeof(prefix) - 1, FOLDER_FLAGS);
}

/** Whether a descriptor is a folder in the repository's own git folder. */
static bool is_own(const struct git_repository *repository, int git_fd)
{
    char link[64];
    char path[PATH_MAX];
    size_t len = strlen(repository->common_folder);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", git_fd);
    ssize_t got = git_fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
    return got > (ssize_t)len && strncmp(path, repository->common_folder, len) == 0 &&
           path[len] == '/';
}

static int check_nested(struct inspection *inspection, int fd, const char *path,
                        struct rondo_error *err)
{
    auto_buf struct buf below = {0};
    auto_close int git_fd = open_git_folder(fd);
    if (git_fd < 0 || is_own(inspection->repository, git_fd)) {
        return 0;
    }
    buf_printf(&below, "%s/.git", path);
    return check_git_folder(inspection, git_fd, buf_string(&below), false, err);
}

/* --- the working tree --- */

/** Git does not follow links to these, and takes a folder for nothing. */
static int check_rules(struct inspection *inspection, int fd, const char *path, const char *name,
                       struct rondo_error *err)
{
    struct stat status;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(status.st_mode) ||
        S_ISDIR(status.st_mode)) {
        return 0;
    }
    if (!S_ISREG(status.st_mode)) {
        return refuse(path, name, "is not a regular file", err);
    }
    inspection->rules_bytes += (uint64_t)status.st_size;
    if (status.st_size > LIMIT_GIT_RULES_BYTES) {
        return refuse(path, name, "is larger than 1 MiB", err);
    }
    return inspection->rules_bytes <= LIMIT_GIT_RULES_SUM_BYTES
               ? 0
               : refuse(path, name, "and similar files are larger than 64 MiB together", err);
}

static int look_at_entry(struct walk *walk, int fd, const char *path, const struct dirent *entry,
                         struct rondo_error *err)
{
    const char *name = entry->d_name;
    if (strcmp(name, ".gitignore") == 0 || strcmp(name, ".gitattributes") == 0) {
        return check_rules(walk->inspection, fd, path, name, err);
    }
    if (strcmp(name, ".git") == 0) {
        return *path == '\0' ? 0 : check_nested(walk->inspection, fd, path, err);
    }
    if (*path == '\0' && strcmp(name, ".gitmodules") == 0) {
        return is_folder(fd, entry) || is_plain(fd, name, LIMIT_GIT_RULES_BYTES)
                   ? 0
                   : refuse(path, name, "is not a regular file of at most 1 MiB", err);
    }
    return is_folder(fd, entry) ? add_pending(walk, path, name, err) : 0;
}

int git_tree_inspect(const struct git_repository *repository, int folder_fd, size_t max_folders,
                     struct rondo_error *err)
{
    struct inspection inspection = {.repository = repository, .max_folders = max_folders};
    struct walk walk = {.inspection = &inspection, .root_fd = folder_fd, .look = look_at_entry};
    return walk_run(&walk, err);
}

/* --- submodules --- */

static bool has_entries(int folder_fd)
{
    int fd = openat(folder_fd, ".", FOLDER_FLAGS);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    bool has = folder == NULL; /* what cannot be listed may be full */
    for (const struct dirent *entry; !has && (entry = readdir(folder)) != NULL;) {
        has = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return has;
}

bool git_submodule_is_strange(const struct git_repository *repository, int folder_fd,
                              const char *path)
{
    auto_close int fd = file_open_beneath(folder_fd, path, FOLDER_FLAGS);
    if (fd < 0) {
        return errno == EACCES;
    }
    auto_close int git_fd = open_git_folder(fd);
    return has_entries(fd) && !is_own(repository, git_fd);
}
