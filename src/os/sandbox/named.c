// SPDX-License-Identifier: Apache-2.0
/* Walking named paths without links. No state; any thread. */
#include "os/sandbox/named.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/path.h"
#include "os/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Links that are followed one after the other, as the kernel does. */
#define LINKS_MAX  40
#define PATH_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

bool named_is_same(int left_fd, int right_fd)
{
    struct stat left;
    struct stat right;
    return fstat(left_fd, &left) == 0 && fstat(right_fd, &right) == 0 &&
           left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

/** Without ".", "..", and doubled slashes; by its text alone. Owned. */
static char *normalise(const char *path)
{
    struct buf clean = {0};
    for (const char *at = path; *at != '\0';) {
        at += strspn(at, "/");
        size_t len = strcspn(at, "/");
        if (len == 2 && strncmp(at, "..", 2) == 0) {
            const char *slash = strrchr(buf_string(&clean), '/');
            if (slash != NULL) {
                clean.len = (size_t)(slash - clean.data);
                clean.data[clean.len] = '\0';
            }
        } else if (len > 0 && !(len == 1 && at[0] == '.')) {
            buf_printf(&clean, "/%.*s", (int)len, at);
        }
        at += len;
    }
    if (clean.len == 0) {
        buf_append_string(&clean, "/");
    }
    return buf_steal(&clean);
}

/** The innermost writable folder that a path is below, and the path from there; or NULL. */
static const struct named_root *find_root(const struct named_roots *roots, const char *path,
                                          const char **ret_rest)
{
    const struct named_root *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < roots->count; i++) {
        const char *names[] = {roots->items[i].path, roots->items[i].named};
        for (size_t k = 0; k < 2; k++) {
            size_t len = strlen(names[k]);
            if (len > best_len && path_is_below(path, names[k])) {
                best = &roots->items[i];
                best_len = len;
            }
        }
    }
    *ret_rest = best == NULL ? NULL : path + best_len;
    return best;
}

static void add_parent(struct named_path *named, const char *path, int fd)
{
    named->parents =
        memory_resize(named->parents, named->parent_count + 1, sizeof(*named->parents));
    named->parents[named->parent_count++] =
        (struct named_parent){.path = memory_dup_string(path), .fd = fd};
}

static bool refuse(char ret_reason[256], const char *path, const char *why)
{
    snprintf(ret_reason, 256, "%.110s: %.140s", path, why);
    return false;
}

/** Open one name in a folder. @return false when the path is refused; -1 in ret_fd: not there. */
static bool step(int folder, const char *name, const char *path, int *ret_fd, char ret_reason[256])
{
    struct stat status;
    *ret_fd = openat(folder, name, PATH_FLAGS);
    if (*ret_fd < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? true
                   : refuse(ret_reason, path, strerrordesc_np(errno));
    }
    if (fstat(*ret_fd, &status) != 0 || S_ISLNK(status.st_mode)) {
        close(*ret_fd);
        *ret_fd = -1;
        return refuse(ret_reason, path,
                      "a symbolic link in a folder that commands can write is not followed; "
                      "remove it or name what it points to");
    }
    return true;
}

/** Walk from a writable folder; `rest` begins with a slash and is not empty. */
static bool walk(const struct named_root *root, const char *rest, struct named_path *named,
                 char ret_reason[256])
{
    auto_buf struct buf path = {0};
    buf_append_string(&path, strcmp(root->path, "/") == 0 ? "" : root->path);
    int folder = root->fd;
    for (const char *at = rest; *at != '\0';) {
        at += strspn(at, "/");
        size_t len = strcspn(at, "/");
        buf_printf(&path, "/%.*s", (int)len, at);
        auto_free char *name = memory_dup_bytes(at, len);
        int fd;
        at += len;
        if (!step(folder, name, path.data, &fd, ret_reason)) {
            return false;
        }
        if (fd < 0) {
            return true;
        }
        if (*at == '\0') {
            struct stat status;
            named->fd = fd;
            named->path = buf_steal(&path);
            named->is_folder = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
            return true;
        }
        add_parent(named, path.data, fd);
        folder = fd;
    }
    return true;
}

/** Open a path that leads through trusted folders only, as far as its text shows. */
static bool open_trusted(const char *path, struct named_path *named, char ret_reason[256])
{
    char link[64];
    char canonical[PATH_MAX];
    struct stat status;
    named->fd = open(path, O_PATH | O_CLOEXEC);
    if (named->fd < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? true
                   : refuse(ret_reason, path, strerrordesc_np(errno));
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", named->fd);
    ssize_t len = readlink(link, canonical, sizeof(canonical) - 1);
    if (len <= 0 || fstat(named->fd, &status) != 0) {
        return refuse(ret_reason, path, "its path cannot be found");
    }
    canonical[len] = '\0';
    auto_close int again = open(canonical, PATH_FLAGS);
    if (again < 0 || !named_is_same(again, named->fd)) {
        return refuse(ret_reason, path, "was replaced while it was opened");
    }
    named->path = memory_dup_string(canonical);
    named->is_folder = S_ISDIR(status.st_mode);
    return true;
}

static bool open_normal(const struct named_roots *roots, const char *path, struct named_path *named,
                        char ret_reason[256])
{
    const char *rest;
    const struct named_root *root = find_root(roots, path, &rest);
    if (root != NULL) {
        return walk(root, rest, named, ret_reason);
    }
    if (!open_trusted(path, named, ret_reason)) {
        return false;
    }
    root = named->fd < 0 ? NULL : find_root(roots, named->path, &rest);
    if (root == NULL) {
        return true;
    }
    /* A link outside led into a writable folder: from there on the same care is needed. */
    auto_free char *canonical = memory_dup_string(named->path);
    rest = canonical + (rest - named->path);
    named_path_fini(named);
    return walk(root, rest, named, ret_reason);
}

bool named_path_open(const struct named_roots *roots, const char *path,
                     struct named_path *ret_named, char ret_reason[256])
{
    *ret_named = (struct named_path){.fd = -1};
    auto_free char *absolute = path[0] == '/' ? memory_dup_string(path) : realpath(path, NULL);
    if (absolute == NULL) {
        return true;
    }
    auto_free char *clean = normalise(absolute);
    bool is_usable = open_normal(roots, clean, ret_named, ret_reason);
    if (!is_usable) {
        named_path_fini(ret_named);
    }
    return is_usable;
}

/** Step by step, since openat2 does not report which name is the link. */
static bool open_canonical(const char *path, struct named_path *named, char ret_reason[256])
{
    int folder = open("/", PATH_FLAGS | O_DIRECTORY);
    auto_buf struct buf done = {0};
    for (const char *at = path + strspn(path, "/"); folder >= 0 && *at != '\0';) {
        struct stat status;
        size_t len = strcspn(at, "/");
        auto_free char *name = memory_dup_bytes(at, len);
        buf_printf(&done, "/%s", name);
        at += len;
        at += strspn(at, "/");
        int next = openat(folder, name, PATH_FLAGS);
        int os_errno = errno;
        close(folder);
        folder = next;
        if (next < 0 && os_errno != ENOENT && os_errno != ENOTDIR && os_errno != EACCES) {
            return refuse(ret_reason, buf_string(&done), strerrordesc_np(os_errno));
        }
        if (next >= 0 && (fstat(next, &status) != 0 || S_ISLNK(status.st_mode))) {
            close(next);
            return refuse(ret_reason, buf_string(&done),
                          "is a symbolic link now, and was none when the run began; restore what "
                          "was there");
        }
    }
    named->fd = folder;
    if (folder >= 0) {
        struct stat status;
        named->path = memory_dup_string(path);
        named->is_folder = fstat(folder, &status) == 0 && S_ISDIR(status.st_mode);
    }
    return true;
}

bool named_path_open_canonical(const struct named_roots *roots, const char *path,
                               struct named_path *ret_named, char ret_reason[256])
{
    const char *rest;
    *ret_named = (struct named_path){.fd = -1};
    auto_free char *clean = normalise(path);
    const struct named_root *root = find_root(roots, clean, &rest);
    bool is_usable = root == NULL ? open_canonical(clean, ret_named, ret_reason)
                                  : walk(root, rest, ret_named, ret_reason);
    if (!is_usable) {
        named_path_fini(ret_named);
    }
    return is_usable;
}

/** Replace the link of the given length at the beginning of a path by where it leads. Owned. */
static char *follow(const char *path, size_t link_len, const char *target)
{
    auto_buf struct buf whole = {0};
    if (target[0] != '/') {
        while (path[link_len - 1] != '/') {
            link_len--;
        }
        buf_append(&whole, path, link_len);
        link_len += strcspn(path + link_len, "/");
    }
    buf_printf(&whole, "%s%s", target, path + link_len);
    return normalise(buf_string(&whole));
}

bool named_path_is_straight(const char *path, char ret_reason[256])
{
    auto_free char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    auto_buf struct buf absolute = {0};
    buf_printf(&absolute, "%s/%s", here == NULL ? "" : here, path);
    auto_free char *rest = normalise(buf_string(&absolute));
    int links = 0;
    for (size_t len = 1; links < LINKS_MAX && rest[len - 1] != '\0';) {
        char target[PATH_MAX];
        len += strcspn(rest + len, "/");
        auto_free char *name = memory_dup_bytes(rest, len);
        ssize_t target_len = readlink(name, target, sizeof(target) - 1);
        if (target_len <= 0) {
            len += rest[len] == '/' ? 1 : 0;
            if (rest[len] == '\0') {
                break;
            }
            continue;
        }
        target[target_len] = '\0';
        if (state_is_in_project(name)) {
            snprintf(ret_reason, 256,
                     "%.100s is a symbolic link to %.70s, in a folder that agents can write; name "
                     "what it leads to",
                     name, target);
            return false;
        }
        char *next = follow(rest, len, target);
        free(rest);
        rest = next;
        len = 1;
        links++;
    }
    return true;
}

bool named_path_resolve(const char *workspace, const char *path, char **ret_path,
                        char ret_reason[256])
{
    struct named_roots roots = {0};
    struct named_path named;
    auto_buf struct buf absolute = {0};
    auto_free char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    buf_printf(&absolute, "%s%s%s", here == NULL ? "" : here, here == NULL ? "" : "/", path);
    *ret_path = NULL;
    if (!named_path_is_straight(path, ret_reason)) {
        return false;
    }
    bool is_good = named_path_open(&roots, workspace, &named, ret_reason);
    if (is_good && named.fd >= 0) {
        named_roots_add(&roots, workspace, &named);
        named_path_fini(&named);
        is_good = named_path_open(&roots, buf_string(&absolute), &named, ret_reason);
    }
    if (is_good && named.fd < 0) {
        is_good = refuse(ret_reason, path, strerrordesc_np(ENOENT));
    }
    if (is_good) {
        *ret_path = memory_dup_string(named.path);
    }
    named_path_fini(&named);
    named_roots_fini(&roots);
    return is_good;
}

void named_path_fini(struct named_path *named)
{
    for (size_t i = 0; i < named->parent_count; i++) {
        free(named->parents[i].path);
        close(named->parents[i].fd);
    }
    free(named->parents);
    free(named->path);
    if (named->fd >= 0) {
        close(named->fd);
    }
    *named = (struct named_path){.fd = -1};
}

void named_roots_add(struct named_roots *roots, const char *named, const struct named_path *folder)
{
    roots->items = memory_resize(roots->items, roots->count + 1, sizeof(*roots->items));
    roots->items[roots->count++] = (struct named_root){
        .named = normalise(named),
        .path = memory_dup_string(folder->path),
        .fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0),
    };
}

void named_roots_fini(struct named_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++) {
        free(roots->items[i].named);
        free(roots->items[i].path);
        if (roots->items[i].fd >= 0) {
            close(roots->items[i].fd);
        }
    }
    free(roots->items);
    *roots = (struct named_roots){0};
}
