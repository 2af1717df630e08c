// SPDX-License-Identifier: Apache-2.0
/*
 * Removing goes down by descriptors and never up by "..", which somebody could point elsewhere. So
 * each level costs a descriptor; what is deeper than REMOVE_DEPTH is moved to the top first and
 * removed from there. No state; any thread.
 */
#include "os/file_folder.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_untrusted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each level holds a descriptor while its entries are removed. */
#define REMOVE_DEPTH 32
/* How often deep folders are moved up: a bound for folders that grow while they are removed. */
#define REMOVE_MOVES 1000000L
/* New names that are tried when somebody takes them first. */
#define WRITE_TRIES 8

static const int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/* --- removing --- */

struct removal {
    int top_fd; /* the folder that is removed */
    long moves; /* deep folders that were moved into it */
};

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/** Open a folder in a way that lets its entries be removed, even if it was made read-only. */
static int open_for_removal(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, folder_flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent_fd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0) {
        fd = openat(parent_fd, name, folder_flags);
    }
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0700) != 0700) {
        /* A failure shows when the first entry cannot be removed. */
        (void)!fchmod(fd, 0700);
    }
    return fd;
}

/** Take a folder that is too deep to the top, under a name that nothing else has. */
static int move_up(struct removal *removal, int parent_fd, const char *name,
                   struct rondo_error *err)
{
    /* Its own ".." changes, for which it must be writable. */
    auto_close int fd = open_for_removal(parent_fd, name);
    (void)fd; /* clang takes it for unused */
    while (++removal->moves <= REMOVE_MOVES) {
        char new_name[64];
        snprintf(new_name, sizeof(new_name), ".rondo-removed-%ld", removal->moves);
        if (renameat2(parent_fd, name, removal->top_fd, new_name, RENAME_NOREPLACE) == 0) {
            return 0;
        }
        /* File systems that know no flag; an empty folder of that name may be replaced. */
        if (errno == EINVAL && renameat(parent_fd, name, removal->top_fd, new_name) == 0) {
            return 0;
        }
        if (errno != EEXIST && errno != ENOTEMPTY) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot move %s", name);
        }
    }
    return error_set(err, RONDO_ERR_LIMIT, "%s is nested too deeply to be removed", name);
}

static int remove_entry(struct removal *removal, int parent_fd, const char *name, int depth,
                        struct rondo_error *err);

/** Remove what is in a folder. Takes over the descriptor. */
static int remove_content(struct removal *removal, int fd, const char *name, int depth,
                          struct rondo_error *err)
{
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        int saved_errno = errno;
        close(fd);
        return error_set_errno(err, RONDO_ERR_IO, saved_errno, "cannot list %s", name);
    }
    int r = 0;
    struct dirent *entry;
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        if (!is_dot(entry->d_name)) {
            r = remove_entry(removal, dirfd(folder), entry->d_name, depth + 1, err);
        }
    }
    closedir(folder);
    return r;
}

static int remove_entry(struct removal *removal, int parent_fd, const char *name, int depth,
                        struct rondo_error *err)
{
    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot remove %s", name);
    }
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return 0;
    }
    if (depth >= REMOVE_DEPTH) {
        return move_up(removal, parent_fd, name, err);
    }
    int fd = open_for_removal(parent_fd, name);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", name);
    }
    int r = remove_content(removal, fd, name, depth, err);
    if (r == 0 && unlinkat(parent_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot remove %s", name);
    }
    return r;
}

/** Remove what is in a folder, again for as long as deep folders were moved into it. */
static int clear(int folder_fd, const char *name, struct rondo_error *err)
{
    struct removal removal = {.top_fd = folder_fd};
    long before;
    int r;
    do {
        before = removal.moves;
        int fd = openat(folder_fd, ".", folder_flags);
        if (fd < 0) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", name);
        }
        r = remove_content(&removal, fd, name, 0, err);
    } while (r == 0 && removal.moves != before);
    return r;
}

int file_folder_clear(int folder_fd, struct rondo_error *err)
{
    return clear(folder_fd, "the folder", err);
}

int file_folder_remove(int folder_fd, const char *name, struct rondo_error *err)
{
    if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot remove %s", name);
    }
    auto_close int fd = open_for_removal(folder_fd, name);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", name);
    }
    int r = clear(fd, name, err);
    if (r == 0 && unlinkat(folder_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot remove %s", name);
    }
    return r;
}

int file_remove_tree(const char *path, struct rondo_error *err)
{
    return file_folder_remove(AT_FDCWD, path, err);
}

/* --- making --- */

int file_folder_make(int folder_fd, const char *name, struct rondo_error *err)
{
    if (mkdirat(folder_fd, name, 0700) != 0 && errno != EEXIST) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make the folder %s", name);
    }
    auto_close int fd = openat(folder_fd, name, folder_flags);
    struct stat status;
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not a folder", name);
    }
    if (fd < 0 || fstat(fd, &status) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the folder %s", name);
    }
    if (status.st_uid != geteuid()) {
        return error_set(err, RONDO_ERR_INVALID, "the folder %s belongs to another user (id %u)",
                         name, (unsigned)status.st_uid);
    }
    return steal_fd(&fd);
}

/** Make one folder after the other below `fd`, which is taken over. @return 0 or a negative code */
static int make_beneath(int fd, const char *relative, const char *path, struct rondo_error *err)
{
    auto_close int above = fd;
    while (*relative != '\0') {
        size_t len = strcspn(relative, "/");
        auto_free char *name = memory_dup_bytes(relative, len);
        relative += len;
        relative += strspn(relative, "/");
        if (len > 0 && mkdirat(above, name, 0700) != 0 && errno != EEXIST) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make the folder %s", path);
        }
        int below = file_open_beneath(above, len > 0 ? name : ".", O_PATH | O_DIRECTORY);
        if (below < 0 && (errno == ELOOP || errno == EXDEV)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "the folder %s goes through a symbolic link or `..` at %s", path,
                             name);
        }
        if (below < 0) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make the folder %s", path);
        }
        close(above);
        above = below;
    }
    return 0;
}

int file_folder_make_path(const char *agent_folder, const char *path, struct rondo_error *err)
{
    size_t len = agent_folder == NULL ? 0 : strlen(agent_folder);
    if (len == 0 || strncmp(path, agent_folder, len) != 0 || path[len] != '/') {
        return file_make_folder(path, err);
    }
    int fd = file_open_folder(agent_folder, err);
    return fd < 0 ? fd : make_beneath(fd, path + len + 1, path, err);
}

int file_folder_make_temporary(char **ret_path, struct rondo_error *err)
{
    const char *named = getenv("TMPDIR");
    /* A sandbox refuses links in what it is given. */
    auto_free char *parent = realpath(named != NULL && named[0] == '/' ? named : "/tmp", NULL);
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/rondo-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(path.data) == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot make the folder %s", path.data);
    }
    int fd = openat(AT_FDCWD, path.data, folder_flags);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the folder %s", path.data);
    }
    *ret_path = buf_steal(&path);
    return fd;
}

/* --- writing --- */

int file_folder_write(int folder_fd, const char *name, const void *bytes, size_t len,
                      struct rondo_error *err)
{
    auto_close int fd = -1;
    for (int i = 0; i < WRITE_TRIES && fd < 0; i++) {
        int r = file_folder_remove(folder_fd, name, err);
        if (r < 0) {
            return r;
        }
        fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    if (fd < 0 || file_write_all(fd, bytes, len) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot write %s", name);
    }
    return 0;
}

bool file_folder_is_at(int fd, int folder_fd, const char *name)
{
    struct stat held;
    struct stat there;
    return fstat(fd, &held) == 0 && fstatat(folder_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}
