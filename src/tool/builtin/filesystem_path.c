// SPDX-License-Identifier: Apache-2.0
/*
 * Paths below a root.
 *
 * all opens: below a root that is held open, by openat2 without links; hidden paths are Rondo's
 * own.
 */
#include "tool/builtin/filesystem_path.h"

#include "base/auto.h"
#include "base/memory.h"
#include "os/file_untrusted.h"
#include "tool/secret_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders made by tools; the umask applies. */
#define FOLDER_MODE 0777

/* --- texts --- */

static void drop_last_name(struct buf *path)
{
    char *slash = memrchr(path->data, '/', path->len);
    path->len = slash == NULL ? 0 : (size_t)(slash - path->data);
    path->data[path->len] = '\0';
}

/** Append the names of a path to a relative one; false when ".." leads above its beginning. */
static bool append_names(struct buf *relative, const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            if (relative->len == 0) {
                return false;
            }
            drop_last_name(relative);
        } else if (len > 0 && !(len == 1 && *path == '.')) {
            buf_append_string(relative, relative->len > 0 ? "/" : "");
            buf_append(relative, path, len);
        }
        path += len;
        path += *path == '/' ? 1 : 0;
    }
    return true;
}

/** The part of `path` after `folder`, both absolute and normal; NULL when it is not in it. */
static const char *behind_folder(const char *path, const char *folder)
{
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(path, folder, len) != 0 || (path[len] != '/' && path[len] != '\0')) {
        return NULL;
    }
    return path[len] == '/' ? path + len + 1 : path + len;
}

/** An absolute path in normal form; ".." at the top stays there. */
static void make_absolute(const char *base, const char *path, struct buf *ret_absolute)
{
    auto_buf struct buf joined = {0};
    auto_buf struct buf names = {0};
    buf_printf(&joined, "%s/%s", *path == '/' ? "" : base, path);
    if (!append_names(&names, buf_string(&joined))) {
        buf_clear(&names);
    }
    buf_printf(ret_absolute, "/%s", buf_string(&names));
}

bool path_normalise(const char *root, const char *path, struct buf *ret_relative)
{
    auto_buf struct buf names = {0};
    if (*path == '/') {
        auto_buf struct buf absolute = {0};
        make_absolute("/", path, &absolute);
        const char *rest = behind_folder(buf_string(&absolute), root);
        if (rest == NULL || !append_names(&names, rest)) {
            return false;
        }
    } else if (!append_names(&names, path)) {
        return false;
    }
    buf_append_string(ret_relative, names.len == 0 ? "." : buf_string(&names));
    return true;
}

/* --- descriptors --- */

static int refuse_outside(const struct path_question *question, struct tool_result *ret_result)
{
    tool_fail(ret_result, "Error: path '%s' is outside allowed directories", question->asked);
    return -1;
}

static int fail_open(const struct path_question *question, int root_fd, const char *relative,
                     int os_errno, struct tool_result *ret_result)
{
    if (os_errno == EXDEV) {
        return refuse_outside(question, ret_result);
    }
    if (os_errno == ELOOP) {
        auto_free char *link = file_find_link(root_fd, relative);
        tool_fail(ret_result, "Error: path component '%s' is a symlink",
                  link == NULL ? question->asked : link);
        return -1;
    }
    tool_fail(ret_result, "Error: cannot %s '%s': %s", question->action, question->asked,
              strerrordesc_np(os_errno));
    return -1;
}

/* --- the root --- */

/** Open a folder in another one, making it if it may be made. @return descriptor, or -1 */
static int open_folder(int above_fd, const char *name, bool may_make)
{
    int fd = file_open_beneath(above_fd, name, O_PATH | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT && may_make &&
        (mkdirat(above_fd, name, FOLDER_MODE) == 0 || errno == EEXIST)) {
        fd = file_open_beneath(above_fd, name, O_PATH | O_DIRECTORY);
    }
    return fd;
}

/** Open a folder below another one by way of all its parents. @return descriptor, or -1 */
static int open_folders(int base_fd, const char *relative, bool may_make)
{
    int fd = file_open_beneath(base_fd, ".", O_PATH | O_DIRECTORY);
    while (fd >= 0 && *relative != '\0') {
        size_t len = strcspn(relative, "/");
        auto_free char *name = memory_dup_bytes(relative, len);
        int below = open_folder(fd, name, may_make);
        int saved_errno = errno;
        close(fd);
        errno = saved_errno;
        fd = below;
        relative += len;
        relative += *relative == '/' ? 1 : 0;
    }
    return fd;
}

/** Its path had no links in it when the run began; commands of another run may plant one. */
static int open_workspace(const char *path)
{
    auto_close int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return top < 0 ? -1
                   : file_open_beneath(top, path[1] == '\0' ? "." : path + 1, O_PATH | O_DIRECTORY);
}

/**
 * The root lies in the workspace as a rule. What the agent can change there, it must not be able
 * to turn into a way out: so no symbolic links. A root elsewhere is its owner's choice.
 */
static int open_root(const struct path_question *question, bool may_make, struct buf *ret_path,
                     struct tool_result *ret_result)
{
    const struct path_root *root = question->root;
    auto_buf struct buf workspace = {0};
    make_absolute("/", root->around->workspace, &workspace);
    make_absolute(buf_string(&workspace), root->path, ret_path);
    const char *inside = behind_folder(buf_string(ret_path), buf_string(&workspace));
    auto_close int base_fd = inside == NULL
                                 ? open(buf_string(ret_path), O_PATH | O_DIRECTORY | O_CLOEXEC)
                                 : open_workspace(buf_string(&workspace));
    int fd = -1;
    if (base_fd >= 0) {
        fd = inside == NULL ? steal_fd(&base_fd) : open_folders(base_fd, inside, may_make);
    }
    if (fd < 0 && errno == ELOOP) {
        tool_fail(ret_result, "Error: the root '%s' goes through a symlink", root->path);
    } else if (fd < 0) {
        tool_fail(ret_result, "Error: cannot open the root '%s': %s", root->path,
                  strerrordesc_np(errno));
    }
    return fd;
}

/* --- what is hidden --- */

static bool is_in(const char *path, const char *folder)
{
    auto_free char *canonical = realpath(folder, NULL);
    return behind_folder(path, canonical == NULL ? folder : canonical) != NULL;
}

/** Where a descriptor really is. @return false when that cannot be told */
static bool find_place(int fd, char ret_path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, ret_path, PATH_MAX - 1);
    if (len <= 0 || ret_path[0] != '/') {
        return false;
    }
    ret_path[len] = '\0';
    return true;
}

/** Whether a descriptor is a further name of a file that is hidden. */
static bool is_same_file(int fd, const char *hidden)
{
    struct stat opened;
    struct stat kept;
    return fstat(fd, &opened) == 0 && opened.st_nlink > 1 && S_ISREG(opened.st_mode) &&
           stat(hidden, &kept) == 0 && kept.st_dev == opened.st_dev && kept.st_ino == opened.st_ino;
}

/** @param name below the folder `fd`, or NULL = `fd` itself */
static bool may_touch(const struct path_question *question, int fd, const char *name,
                      struct tool_result *ret_result)
{
    const char *const *hidden = question->root->around->hide_paths;
    char place[PATH_MAX];
    auto_buf struct buf path = {0};
    bool is_refused = !find_place(fd, place);
    if (!is_refused) {
        buf_printf(&path, "%s%s%s", place, name == NULL ? "" : "/", name == NULL ? "" : name);
    }
    for (size_t i = 0; !is_refused && hidden != NULL && hidden[i] != NULL; i++) {
        is_refused =
            is_in(buf_string(&path), hidden[i]) || (name == NULL && is_same_file(fd, hidden[i]));
    }
    const char *const *protected = name == NULL ? NULL : question->root->around->protect_paths;
    for (size_t i = 0; !is_refused && protected != NULL && protected[i] != NULL; i++) {
        is_refused = is_in(buf_string(&path), protected[i]);
    }
    if (!is_refused && question->root->around->role_folder != NULL) {
        auto_buf struct buf keys = {0};
        buf_printf(&keys, "%s/.env", question->root->around->role_folder);
        is_refused = is_in(buf_string(&path), buf_string(&keys)) ||
                     (name == NULL && is_same_file(fd, buf_string(&keys)));
    }
    if (is_refused) {
        tool_fail(ret_result, "Error: path '%s' is not accessible to agents", question->asked);
    }
    return !is_refused;
}

static bool is_no_secret(const struct path_question *question, const char *relative,
                         struct tool_result *ret_result)
{
    bool is_secret = secret_file_is(relative);
    if (is_secret) {
        tool_fail(ret_result, "Error: '%s' contains secrets and is not accessible to agents",
                  question->asked);
    }
    return !is_secret;
}

/* --- opening --- */

int path_open(const struct path_question *question, int flags, struct tool_result *ret_result)
{
    auto_buf struct buf root = {0};
    auto_buf struct buf relative = {0};
    auto_close int root_fd = open_root(question, false, &root, ret_result);
    if (root_fd < 0) {
        return -1;
    }
    if (!path_normalise(buf_string(&root), question->asked, &relative)) {
        return refuse_outside(question, ret_result);
    }
    if (!is_no_secret(question, buf_string(&relative), ret_result)) {
        return -1;
    }
    auto_close int fd = file_open_beneath(root_fd, buf_string(&relative), flags);
    if (fd < 0) {
        return fail_open(question, root_fd, buf_string(&relative), errno, ret_result);
    }
    return may_touch(question, fd, NULL, ret_result) ? steal_fd(&fd) : -1;
}

static bool names_git(const char *path)
{
    for (const char *at = strcasestr(path, ".git"); at != NULL; at = strcasestr(at + 1, ".git")) {
        bool is_whole = (at == path || at[-1] == '/') && (at[4] == '\0' || at[4] == '/');
        if (is_whole) {
            return true;
        }
    }
    return false;
}

/** Whether a folder has what makes git take it for a repository, as os/sandbox_git sees it. */
static bool is_repository(int fd, const char *also)
{
    static const char *const parts[] = {"objects", "refs", "HEAD", "commondir"};
    bool has[4];
    for (size_t i = 0; i < 4; i++) {
        struct stat status;
        has[i] = (also != NULL && strcasecmp(also, parts[i]) == 0) ||
                 (fd >= 0 && fstatat(fd, parts[i], &status, AT_SYMLINK_NOFOLLOW) == 0);
    }
    return (has[0] && has[1]) || (has[2] && has[3]);
}

/** Whether git takes programs, or where to look for them, from a file or folder of this name. */
static bool decides_for_git(const char *name)
{
    static const char *const names[] = {"config", "config.worktree", "commondir", "HEAD", "hooks"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/**
 * Whether a file would make a repository of a folder on its way, or set one up. A repository needs
 * not be named .git: the settings in any folder that looks like one run programs when a person
 * uses git there. What sandboxed commands leave is examined; what a tool writes is refused.
 */
static bool sets_up_repository(int root_fd, const char *file)
{
    auto_free char *path = memory_dup_string(file);
    for (char *name = path; name != NULL;) {
        char *end = strchr(name, '/');
        if (end != NULL) {
            *end = '\0';
        }
        if (name > path) {
            name[-1] = '\0';
        }
        auto_close int fd =
            file_open_beneath(root_fd, name > path ? path : ".", O_PATH | O_DIRECTORY);
        if (is_repository(fd, name) && (decides_for_git(name) || !is_repository(fd, NULL))) {
            return true;
        }
        if (name > path) {
            name[-1] = '/';
        }
        name = end == NULL ? NULL : end + 1;
        if (end != NULL) {
            *end = '/';
        }
    }
    return false;
}

static int refuse_git(const struct path_question *question, struct tool_result *ret_result)
{
    tool_fail(ret_result, "Error: path '%s' belongs to a git repository itself", question->asked);
    return -1;
}

static bool split(const struct path_question *question, const char *root, struct buf *ret_folder,
                  struct buf *ret_name, struct tool_result *ret_result)
{
    if (!path_normalise(root, question->asked, ret_folder)) {
        refuse_outside(question, ret_result);
        return false;
    }
    if (!is_no_secret(question, buf_string(ret_folder), ret_result)) {
        return false;
    }
    if (names_git(buf_string(ret_folder)) || names_git(root)) {
        refuse_git(question, ret_result);
        return false;
    }
    size_t asked_len = strlen(question->asked);
    if (strcmp(buf_string(ret_folder), ".") == 0 || question->asked[asked_len - 1] == '/') {
        tool_fail(ret_result, "Error: '%s' is a directory, not a file", question->asked);
        return false;
    }
    char *slash = memrchr(ret_folder->data, '/', ret_folder->len);
    buf_append_string(ret_name, slash == NULL ? ret_folder->data : slash + 1);
    drop_last_name(ret_folder);
    return true;
}

int path_open_parent(const struct path_question *question, struct buf *ret_name,
                     struct tool_result *ret_result)
{
    auto_buf struct buf root = {0};
    auto_buf struct buf folder = {0};
    auto_close int root_fd = open_root(question, true, &root, ret_result);
    if (root_fd < 0 || !split(question, buf_string(&root), &folder, ret_name, ret_result)) {
        return -1;
    }
    auto_buf struct buf file = {0};
    buf_printf(&file, "%s%s%s", buf_string(&folder), folder.len > 0 ? "/" : "",
               buf_string(ret_name));
    /* Before anything is made, and again where the folder turned out to be. */
    if (!may_touch(question, root_fd, buf_string(&file), ret_result)) {
        return -1;
    }
    if (sets_up_repository(root_fd, buf_string(&file))) {
        return refuse_git(question, ret_result);
    }
    auto_close int fd = open_folders(root_fd, buf_string(&folder), true);
    if (fd < 0) {
        return fail_open(question, root_fd, buf_string(&folder), errno, ret_result);
    }
    return may_touch(question, fd, buf_string(ret_name), ret_result) ? steal_fd(&fd) : -1;
}
