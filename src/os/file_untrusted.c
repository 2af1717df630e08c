// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel resolves a path without links in one call (openat2). What was opened is examined by
 * its descriptor, so nothing can be exchanged between the look and the use. No state; any thread.
 */
#include "os/file_untrusted.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is renamed while it is opened is tried again; that may happen for ever. */
#define OPEN_TRIES 32
/* As many links as the kernel follows in one path. */
#define LINKS_MAX     40
#define NEW_FILE_MODE 0600
/* O_NONBLOCK keeps open() from waiting for the other end of a FIFO. */
#define READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int file_open_folder(const char *path, struct rondo_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd
                   : error_set_errno(err, RONDO_ERR_IO, errno, "cannot open the folder %s", path);
}

/* --- below a folder --- */

/** Whether a path stays below its folder by its text alone. */
static bool is_beneath(const char *relative)
{
    if (*relative == '/') {
        return false;
    }
    while (*relative != '\0') {
        size_t len = strcspn(relative, "/");
        if (len == 2 && memcmp(relative, "..", 2) == 0) {
            return false;
        }
        relative += len;
        relative += strspn(relative, "/");
    }
    return true;
}

static int open_resolved(int folder_fd, const char *path, int flags, unsigned long long resolve)
{
    const struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC,
        .mode = (flags & O_CREAT) != 0 ? NEW_FILE_MODE : 0,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
    };
    long fd = -1;
    for (int i = 0; i < OPEN_TRIES; i++) {
        fd = syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) {
            break;
        }
    }
    return (int)fd;
}

/** One step into a folder. A link is ENOTDIR to O_DIRECTORY; it shall be ELOOP as in openat2. */
static int step_into(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd < 0 && errno == ENOTDIR) {
        bool is_link =
            fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
        errno = is_link ? ELOOP : ENOTDIR;
    }
    return fd;
}

int file_open_beneath_by_steps(int folder_fd, const char *relative, int flags)
{
    if (!is_beneath(relative)) {
        errno = EXDEV;
        return -1;
    }
    auto_free char *path = memory_dup_string(relative);
    auto_close int fd = -1;
    int above = folder_fd;
    char *name = path;
    for (char *slash = strchr(name, '/'); slash != NULL; slash = strchr(name, '/')) {
        *slash = '\0';
        int below = *name == '\0' ? fcntl(above, F_DUPFD_CLOEXEC, 0) : step_into(above, name);
        if (below < 0) {
            return -1;
        }
        if (fd >= 0) {
            close(fd);
        }
        fd = above = below;
        name = slash + 1;
    }
    return openat(above, *name == '\0' ? "." : name, flags | O_NOFOLLOW | O_CLOEXEC, NEW_FILE_MODE);
}

int file_open_beneath(int folder_fd, const char *relative, int flags)
{
    if (!is_beneath(relative)) {
        errno = EXDEV;
        return -1;
    }
    int fd = open_resolved(folder_fd, relative, flags, RESOLVE_BENEATH);
    bool is_unavailable = fd < 0 && (errno == ENOSYS || errno == EPERM);
    return is_unavailable ? file_open_beneath_by_steps(folder_fd, relative, flags) : fd;
}

/* --- refusals --- */

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK:
        return "a symbolic link";
    case S_IFDIR:
        return "a folder";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

char *file_find_link(int folder_fd, const char *relative)
{
    auto_free char *part = memory_dup_string(relative);
    for (char *end = part; end != NULL;) {
        end = strchr(end, '/');
        if (end != NULL) {
            *end = '\0';
        }
        struct stat status;
        if (fstatat(folder_fd, part, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            return NULL;
        }
        if (S_ISLNK(status.st_mode)) {
            return steal_pointer(&part);
        }
        if (end != NULL) {
            *end++ = '/';
        }
    }
    return NULL;
}

static int refuse_open(int folder_fd, const char *relative, int os_errno, struct rondo_error *err)
{
    struct stat status;
    if (os_errno == EXDEV) {
        return error_set(err, RONDO_ERR_INVALID, "%s leads out of its folder", relative);
    }
    if (os_errno == ELOOP) {
        auto_free char *link = file_find_link(folder_fd, relative);
        bool is_whole = link == NULL || strcmp(link, relative) == 0;
        return error_set(err, RONDO_ERR_INVALID, "%s %s%s; put the file itself there", relative,
                         is_whole ? "is a symbolic link" : "goes through the symbolic link ",
                         is_whole ? "" : link);
    }
    if ((os_errno == ENXIO || os_errno == ENODEV) &&
        fstatat(folder_fd, relative, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is %s, not a regular file", relative,
                         kind_of(status.st_mode));
    }
    return error_set_errno(err, RONDO_ERR_IO, os_errno, "cannot open %s", relative);
}

static int check_kind_and_size(const struct stat *status, const char *path, size_t limit,
                               struct rondo_error *err)
{
    if (!S_ISREG(status->st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is %s, not a regular file", path,
                         kind_of(status->st_mode));
    }
    if (status->st_size > 0 && (uintmax_t)status->st_size > limit) {
        return error_set(err, RONDO_ERR_LIMIT, "%s is larger than %zu bytes", path, limit);
    }
    return 0;
}

/** @param folder_owner trusted as much as this user: the folder is theirs */
static int check_untrusted(const struct stat *status, uid_t folder_owner, const char *path,
                           size_t limit, struct rondo_error *err)
{
    int r = check_kind_and_size(status, path, limit, err);
    if (r < 0) {
        return r;
    }
    if (status->st_uid != geteuid() && status->st_uid != 0 && status->st_uid != folder_owner) {
        return error_set(err, RONDO_ERR_INVALID, "%s belongs to another user (id %u)", path,
                         (unsigned)status->st_uid);
    }
    if (status->st_nlink > 1) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s is a hard link to a file with another name; put a copy there", path);
    }
    return 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct stat *before, const struct stat *after)
{
    return after->st_dev == before->st_dev && after->st_ino == before->st_ino &&
           after->st_nlink == before->st_nlink && after->st_size == before->st_size &&
           is_same_time(&after->st_mtim, &before->st_mtim) &&
           is_same_time(&after->st_ctim, &before->st_ctim);
}

/**
 * Wait for a removal of `relative` that is under way: for all its time it holds the lock of the
 * folder, which looking for a name that nobody looked for before takes too.
 */
static void await_removal(int folder_fd, const char *relative)
{
    const char *slash = strrchr(relative, '/');
    int parent_len = slash == NULL ? 0 : (int)(slash + 1 - relative);
    struct stat ignored;
    auto_buf struct buf name = {0};
    buf_printf(&name, "%.*s.rondo-%" PRIx64, parent_len, relative,
               (uint64_t)clock_monotonic(clock_system()));
    (void)!fstatat(folder_fd, buf_string(&name), &ignored, AT_SYMLINK_NOFOLLOW);
}

/**
 * Whether the name by which a file was opened exists to this moment. A hard link that is removed
 * once it is open leaves one name, the secret's own; the kernel says of such a descriptor that its
 * name is gone, even when another link has the same name by now.
 */
static bool has_its_name(int fd)
{
    static const char gone[] = " (deleted)";
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path));
    size_t gone_len = sizeof(gone) - 1;
    return len > 0 &&
           ((size_t)len < gone_len || memcmp(path + len - gone_len, gone, gone_len) != 0);
}

/** Files are replaced by renaming as a rule; then the next attempt finds the new one. */
static int open_settled(int folder_fd, const char *relative, int flags, struct stat *ret_status,
                        struct rondo_error *err)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        auto_close int fd = file_open_beneath(folder_fd, relative, flags);
        if (fd < 0) {
            return refuse_open(folder_fd, relative, errno, err);
        }
        if (fstat(fd, ret_status) != 0) {
            return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", relative);
        }
        await_removal(folder_fd, relative);
        if (!S_ISREG(ret_status->st_mode) || has_its_name(fd)) {
            return steal_fd(&fd);
        }
    }
    return error_set(err, RONDO_ERR_INVALID, "%s is removed or replaced again and again", relative);
}

/**
 * Open a file for reading that an agent may have made.
 * @param limit largest size in bytes
 * @return descriptor, or a negative code
 */
static int file_open_untrusted(int folder_fd, const char *relative, size_t limit,
                               struct rondo_error *err)
{
    struct stat status;
    struct stat folder;
    auto_close int fd = open_settled(folder_fd, relative, READ_FLAGS, &status, err);
    if (fd < 0) {
        return fd;
    }
    if (fstat(folder_fd, &folder) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine the folder of %s",
                               relative);
    }
    int r = check_untrusted(&status, folder.st_uid, relative, limit, err);
    return r < 0 ? r : steal_fd(&fd);
}

/* --- reading --- */

/** Read an open file; what is written meanwhile would be half old and half new. */
static int read_unchanged(int fd, const char *path, size_t limit, struct buf *ret_buf,
                          struct rondo_error *err)
{
    struct stat before;
    struct stat after;
    auto_buf struct buf content = {0};
    if (fstat(fd, &before) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", path);
    }
    int r = file_read_all(fd, path, limit, &content, err);
    if (r < 0) {
        return r;
    }
    if (fstat(fd, &after) != 0 || !is_unchanged(&before, &after) ||
        (uintmax_t)after.st_size != content.len) {
        return error_set(err, RONDO_ERR_INVALID, "%s changed while it was read", path);
    }
    buf_append(ret_buf, buf_string(&content), content.len);
    return 0;
}

int file_read_untrusted(int folder_fd, const char *relative, size_t limit, struct buf *ret_buf,
                        struct rondo_error *err)
{
    auto_close int fd = file_open_untrusted(folder_fd, relative, limit, err);
    return fd < 0 ? fd : read_unchanged(fd, relative, limit, ret_buf, err);
}

/* --- files that a person named --- */

/** The folder of a list that a canonical path is in; NULL when it is in none. */
static const char *find_around(const char *path, char *const *folders)
{
    for (size_t i = 0; folders[i] != NULL; i++) {
        size_t len = strcmp(folders[i], "/") == 0 ? 0 : strlen(folders[i]);
        if (strncmp(path, folders[i], len) == 0 && (path[len] == '/' || path[len] == '\0')) {
            return folders[i];
        }
    }
    return NULL;
}

static void folders_free(char ***slot)
{
    for (char **folder = *slot; folder != NULL && *folder != NULL; folder++) {
        free(*folder);
    }
    free(*slot);
}

#define auto_folders __attribute__((cleanup(folders_free)))

/** The folders' canonical paths; one that is missing has nothing in it. */
static char **find_folders(const char *const *agent_folders)
{
    static const char *const working_folder[] = {".", NULL};
    const char *const *given = agent_folders == NULL ? working_folder : agent_folders;
    size_t count = 0;
    while (given[count] != NULL) {
        count++;
    }
    char **folders = memory_new_zero(count + 1, sizeof(*folders));
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        folders[n] = realpath(given[i], NULL); /* opens: the folder itself, not what is in it */
        n += folders[n] != NULL ? 1 : 0;
    }
    return folders;
}

struct folder_walk {
    const char *named;
    char *const *folders;
    struct buf done; /* canonical, without a slash at its end; "" is the root */
    char *rest;      /* what is left to walk; owned */
    int links;
    bool may_make; /* whether the last name may be missing */
};

static void cut(struct buf *path, size_t len)
{
    if (path->data != NULL) {
        path->len = len;
        path->data[len] = '\0';
    }
}

/** Take the next name off the rest. @return owned; NULL at the end */
static char *take_name(struct folder_walk *walk)
{
    const char *name = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(name, "/");
    char *taken = len == 0 ? NULL : memory_dup_bytes(name, len);
    memmove(walk->rest, name + len, strlen(name + len) + 1);
    return taken;
}

/** Put what a link says in the place of its name, which is the last one of `done`. */
static int follow_link(struct folder_walk *walk, size_t parent_len, struct rondo_error *err)
{
    auto_free char *link = memory_dup_string(buf_string(&walk->done));
    cut(&walk->done, parent_len);
    if (find_around(buf_string(&walk->done), walk->folders) != NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s goes through the symbolic link %s, which agents can change; "
                         "put the file itself there",
                         walk->named, link);
    }
    char target[PATH_MAX];
    ssize_t len = readlink(link, target, sizeof(target) - 1);
    if (len < 0 || ++walk->links > LINKS_MAX) {
        return error_set_errno(err, RONDO_ERR_IO, len < 0 ? errno : ELOOP, "cannot open %s",
                               walk->named);
    }
    target[len] = '\0';
    if (*target == '/') {
        cut(&walk->done, 0);
    }
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/%s", target, walk->rest);
    free(walk->rest);
    walk->rest = buf_steal(&path);
    return 0;
}

static int walk_name(struct folder_walk *walk, const char *name, struct rondo_error *err)
{
    size_t parent_len = walk->done.len;
    if (strcmp(name, ".") == 0) {
        return 0;
    }
    if (strcmp(name, "..") == 0) {
        const char *slash = strrchr(buf_string(&walk->done), '/');
        cut(&walk->done, slash == NULL ? 0 : (size_t)(slash - walk->done.data));
        return 0;
    }
    buf_printf(&walk->done, "/%s", name);
    struct stat status;
    if (lstat(buf_string(&walk->done), &status) != 0) {
        bool is_new =
            errno == ENOENT && walk->may_make && walk->rest[strspn(walk->rest, "/")] == '\0';
        return is_new ? 0
                      : error_set_errno(err, RONDO_ERR_IO, errno, "cannot open %s", walk->named);
    }
    return S_ISLNK(status.st_mode) ? follow_link(walk, parent_len, err) : 0;
}

/** Resolve a path to one without links, following those that are a person's own. */
static int resolve(struct folder_walk *walk, char **ret_path, struct rondo_error *err)
{
    const char *path = walk->named;
    auto_buf struct buf start = {0};
    auto_free char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    if (*path != '/' && here == NULL) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot find the working folder");
    }
    buf_printf(&start, "%s/%s", here == NULL ? "" : here, path);
    walk->rest = buf_steal(&start);
    int r = 0;
    char *name = NULL;
    while (r == 0 && (name = take_name(walk)) != NULL) {
        r = walk_name(walk, name, err);
        free(name);
    }
    free(walk->rest);
    char *resolved = buf_steal(&walk->done);
    if (r < 0) {
        free(resolved);
        return r;
    }
    *ret_path = resolved;
    return 0;
}

/**
 * Open a file by the path that a person typed.
 * @param limit       largest size of one that agents can write
 * @param ret_is_ours whether it is out of agents' reach, and not examined
 * @return descriptor, or a negative code
 */
static int open_named(const char *const *agent_folders, const char *path, int flags, size_t limit,
                      bool *ret_is_ours, struct rondo_error *err)
{
    auto_folders char **folders = find_folders(agent_folders);
    auto_free char *resolved = NULL;
    struct folder_walk walk = {
        .named = path, .folders = folders, .may_make = (flags & O_CREAT) != 0};
    int r = resolve(&walk, &resolved, err);
    if (r < 0) {
        return r;
    }
    struct stat status;
    struct stat around = {0};
    const char *relative = *resolved == '\0' ? "." : resolved + 1;
    auto_close int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* Exchanged for a link since, it is refused here. */
    auto_close int fd = open_settled(root_fd, relative, flags, &status, err);
    if (fd < 0) {
        return fd;
    }
    const char *folder = find_around(resolved, folders);
    if (folder != NULL && stat(folder, &around) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", path);
    }
    r = folder == NULL ? 0 : check_untrusted(&status, around.st_uid, path, limit, err);
    *ret_is_ours = folder == NULL;
    return r < 0 ? r : steal_fd(&fd);
}

int file_open_folder_named(const char *const *agent_folders, const char *path,
                           struct rondo_error *err)
{
    auto_folders char **folders = find_folders(agent_folders);
    auto_free char *resolved = NULL;
    struct folder_walk walk = {.named = path, .folders = folders};
    int r = resolve(&walk, &resolved, err);
    if (r < 0) {
        return r;
    }
    struct stat status;
    const char *relative = *resolved == '\0' ? "." : resolved + 1;
    auto_close int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return open_settled(root_fd, relative, O_RDONLY | O_DIRECTORY | O_NONBLOCK, &status, err);
}

int file_read_named(const char *const *agent_folders, const char *path, size_t limit,
                    struct buf *ret_buf, struct rondo_error *err)
{
    bool is_ours = false;
    struct stat status;
    auto_close int fd = open_named(agent_folders, path, READ_FLAGS, limit, &is_ours, err);
    if (fd < 0 || !is_ours) {
        return fd < 0 ? fd : read_unchanged(fd, path, limit, ret_buf, err);
    }
    if (fstat(fd, &status) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot examine %s", path);
    }
    int r = check_kind_and_size(&status, path, limit, err);
    return r < 0 ? r : file_read_all(fd, path, limit, ret_buf, err);
}

int file_open_output(const char *const *agent_folders, const char *path, bool is_emptied,
                     struct rondo_error *err)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    bool is_ours = false;
    struct stat status;
    auto_close int fd = open_named(agent_folders, path, flags, SIZE_MAX, &is_ours, err);
    if (fd < 0) {
        return fd;
    }
    bool is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (is_emptied && is_regular && ftruncate(fd, 0) != 0) {
        return error_set_errno(err, RONDO_ERR_IO, errno, "cannot empty %s", path);
    }
    return steal_fd(&fd);
}
