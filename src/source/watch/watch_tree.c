// SPDX-License-Identifier: Apache-2.0
#include "source/watch/watch_tree.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file_untrusted.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS                                                                          \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | \
     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)
#define EVENT_BYTES (64 * (sizeof(struct inotify_event) + 256))

/** A path of the role. */
struct watch_root {
    char *shown;  /**< as the role names it, without a slash at its end */
    char *folder; /**< absolute: the folder that is watched */
    char *only;   /**< name of the one file in it that is meant; NULL = all */
};

/** A folder that is watched. */
struct watch_folder {
    int watch; /**< inotify's number, the key */
    uint64_t scan;
    const struct watch_root *root;
    char *shown; /**< path as the role would name it */
    UT_hash_handle hh;
};

struct watch_tree {
    int inotify_fd;
    char **agent_folders;
    char **extensions;
    struct watch_root *roots;
    size_t root_count;
    struct watch_folder *folders;
    size_t folder_count;
    uint64_t scan; /**< number of the last one */
};

/* ---- Names ----------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static bool is_ignored_folder(const char *name)
{
    static const char *const names[] = {
        ".git",        ".hg",          ".svn",        ".tox",        ".venv",
        ".idea",       "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache",
        ".hypothesis", ".rondo",       NULL,
    };
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0) {
        i++;
    }
    return names[i] != NULL;
}

/** Files that programs keep beside those that people mean: swap, backup and lock files. */
static bool is_ignored_file(const char *name)
{
    static const char *const ends[] = {"~", ".swp", ".swo", ".swx", ".pyc", ".pyo", ".pyd", NULL};
    bool is_ignored =
        strncmp(name, ".#", 2) == 0 || strcmp(name, ".DS_Store") == 0 || strcmp(name, "4913") == 0;
    for (size_t i = 0; ends[i] != NULL; i++) {
        is_ignored |= ends_with(name, ends[i]);
    }
    return is_ignored;
}

static bool is_meant(const struct watch_tree *tree, const struct watch_root *root, const char *name)
{
    if (root->only != NULL) {
        return strcmp(root->only, name) == 0;
    }
    bool is_meant = tree->extensions[0] == NULL;
    for (size_t i = 0; tree->extensions[i] != NULL; i++) {
        is_meant |= ends_with(name, tree->extensions[i]);
    }
    return is_meant && !is_ignored_file(name);
}

static char *join(const char *folder, const char *name)
{
    struct buf path = {0};
    size_t len = strlen(folder);
    buf_append_string(&path, folder);
    buf_append_string(&path, len == 0 || folder[len - 1] == '/' ? "" : "/");
    buf_append_string(&path, name);
    return buf_steal(&path);
}

/* ---- Folders --------------------------------------------------------------------------------- */

static void remove_folder(struct watch_tree *tree, struct watch_folder *folder)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow uthash's links */
    HASH_DEL(tree->folders, folder);
    tree->folder_count--;
    free(folder->shown);
    free(folder);
}

static int watch_failed(const char *shown, struct rondo_error *err)
{
    if (errno == ENOSPC) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "%.200s has more folders than this machine watches; raise "
                         "fs.inotify.max_user_watches, or name folders further down in `paths`",
                         shown);
    }
    return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot watch %.200s", shown);
}

/** Watch an open folder, which may be watched already under another path. */
static int watch_folder(struct watch_tree *tree, const struct watch_root *root, int fd,
                        const char *shown, struct rondo_error *err)
{
    char link[40];
    struct watch_folder *folder = NULL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    int watch = inotify_add_watch(tree->inotify_fd, link, EVENTS);
    if (watch < 0) {
        return watch_failed(shown, err);
    }
    HASH_FIND_INT(tree->folders, &watch, folder);
    if (folder == NULL) {
        if (tree->folder_count == LIMIT_WATCH_FOLDERS) {
            inotify_rm_watch(tree->inotify_fd, watch);
            return error_set(err, RONDO_ERR_LIMIT,
                             "there are more than %d folders below %.200s; name folders further "
                             "down in `paths`",
                             LIMIT_WATCH_FOLDERS, root->shown);
        }
        folder = memory_new_zero(1, sizeof(*folder));
        folder->watch = watch;
        HASH_ADD_INT(tree->folders, watch, folder);
        tree->folder_count++;
    }
    free(folder->shown);
    folder->shown = memory_dup_string(shown);
    folder->root = root;
    folder->scan = tree->scan;
    return 0;
}

/** Stop watching what the last scan did not find. */
static void forget_folders(struct watch_tree *tree)
{
    struct watch_folder *folder = NULL;
    struct watch_folder *next = NULL;
    HASH_ITER(hh, tree->folders, folder, next)
    {
        if (folder->scan != tree->scan) {
            inotify_rm_watch(tree->inotify_fd, folder->watch);
            remove_folder(tree, folder);
        }
    }
}

/* ---- Scanning -------------------------------------------------------------------------------- */

/** One scan. */
struct tree_scan {
    struct watch_tree *tree;
    const struct watch_root *root;
    const struct watch_report *report;
    struct rondo_error *err;
};

static struct watched_state state_of(const struct stat *info)
{
    unsigned char bytes[DIGEST_SIZE];
    struct watched_state state = {.is_there = true};
    struct digest digest = digest_begin();
    digest_add_u64(&digest, (uint64_t)info->st_mtim.tv_sec);
    digest_add_u64(&digest, (uint64_t)info->st_mtim.tv_nsec);
    digest_add_u64(&digest, (uint64_t)info->st_size);
    digest_add_u64(&digest, info->st_ino);
    digest_finish(&digest, bytes);
    memcpy(&state.stamp, bytes, sizeof(state.stamp));
    return state;
}

static int scan_folder(struct tree_scan *scan, int fd, const char *shown, unsigned depth);

/** @param fd of the folder. An entry that is gone by now is no error. */
static int scan_entry(struct tree_scan *scan, int fd, const char *shown, const char *name,
                      unsigned depth)
{
    struct stat info;
    /* opens: a single name in an open folder, links not followed */
    if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
        return 0;
    }
    bool is_folder = S_ISDIR(info.st_mode) && scan->root->only == NULL && !is_ignored_folder(name);
    bool is_file = S_ISREG(info.st_mode) && is_meant(scan->tree, scan->root, name);
    if (!is_folder && !is_file) {
        return 0;
    }
    auto_free char *path = join(shown, name);
    if (is_file) {
        struct watched_state state = state_of(&info);
        return scan->report->found(scan->report->context, path, &state, scan->err);
    }
    auto_close int child = file_open_beneath(fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    return child < 0 ? 0 : scan_folder(scan, child, path, depth + 1);
}

/** Watch first, then look: what changes between is reported twice, and never missed. */
static int scan_folder(struct tree_scan *scan, int fd, const char *shown, unsigned depth)
{
    if (depth > LIMIT_WATCH_DEPTH) {
        return error_set(scan->err, RONDO_ERR_LIMIT,
                         "folders below %.200s are nested deeper than %d", scan->root->shown,
                         LIMIT_WATCH_DEPTH);
    }
    int r = watch_folder(scan->tree, scan->root, fd, shown, scan->err);
    int copy = r < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (entries == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return r < 0 ? r : error_set_errno(scan->err, RONDO_ERR_SYSTEM, errno, "%.200s", shown);
    }
    for (struct dirent *entry = readdir(entries); entry != NULL && r == 0;
         entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            r = scan_entry(scan, fd, shown, entry->d_name, depth);
        }
    }
    closedir(entries);
    return r;
}

/** The folder that the role names: links of agents could lead to any other. */
static int open_root(const struct watch_tree *tree, const struct watch_root *root,
                     struct rondo_error *err)
{
    return file_open_folder_named((const char *const *)tree->agent_folders, root->folder, err);
}

int watch_tree_scan(struct watch_tree *tree, const struct watch_report *report, bool *ret_is_whole,
                    struct rondo_error *err)
{
    int r = 0;
    bool is_whole = true;
    tree->scan++;
    for (size_t i = 0; i < tree->root_count && r == 0; i++) {
        const struct watch_root *root = &tree->roots[i];
        struct tree_scan scan = {tree, root, report, err};
        struct rondo_error missing = {0};
        auto_close int fd = open_root(tree, root, &missing);
        if (fd < 0) {
            is_whole = false;
            continue;
        }
        auto_free char *shown = memory_dup_string(root->shown);
        if (root->only != NULL) {
            shown[strlen(shown) - strlen(root->only)] = '\0';
        }
        r = scan_folder(&scan, fd, shown, 1);
    }
    forget_folders(tree);
    if (r == 0) {
        *ret_is_whole = is_whole;
    }
    return r;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void take_event(struct watch_tree *tree, const struct inotify_event *event,
                       const struct watch_report *report)
{
    struct watch_folder *folder = NULL;
    HASH_FIND_INT(tree->folders, &event->wd, folder);
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        report->unclear(report->context);
    } else if (folder == NULL) {
        return;
    } else if ((event->mask & IN_IGNORED) != 0) {
        remove_folder(tree, folder);
        report->unclear(report->context);
    } else if ((event->mask & (IN_ISDIR | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
        if (event->len == 0 || !is_ignored_folder(event->name)) {
            report->unclear(report->context);
        }
    } else if (event->len > 0 && is_meant(tree, folder->root, event->name)) {
        auto_free char *path = join(folder->shown, event->name);
        report->changed(report->context, path, (event->mask & (IN_MODIFY | IN_CREATE)) != 0);
    }
}

void watch_tree_read(struct watch_tree *tree, const struct watch_report *report)
{
    _Alignas(struct inotify_event) char bytes[EVENT_BYTES];
    for (ssize_t len = read(tree->inotify_fd, bytes, sizeof(bytes)); len > 0;
         len = read(tree->inotify_fd, bytes, sizeof(bytes))) {
        for (char *at = bytes; at < bytes + len;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;
            take_event(tree, event, report);
            at += sizeof(*event) + event->len;
        }
    }
}

/** Whether a path was reported below a root. @param ret_rest its path in the root's folder */
static bool is_below(const struct watch_root *root, const char *path, const char **ret_rest)
{
    size_t len = strlen(root->shown);
    if (root->only != NULL) {
        *ret_rest = root->only;
        return strcmp(root->shown, path) == 0;
    }
    if (strncmp(path, root->shown, len) != 0) {
        return false;
    }
    *ret_rest = path + len + strspn(path + len, "/");
    return path[len] == '/' || (len > 0 && root->shown[len - 1] == '/');
}

/** The root of a path that was reported, or NULL. */
static const struct watch_root *root_of(const struct watch_tree *tree, const char *path,
                                        const char **ret_rest)
{
    for (size_t i = 0; i < tree->root_count; i++) {
        if (is_below(&tree->roots[i], path, ret_rest)) {
            return &tree->roots[i];
        }
    }
    return NULL;
}

struct watched_state watch_tree_look(const struct watch_tree *tree, const char *path)
{
    const char *rest = NULL;
    struct stat info;
    struct rondo_error err = {0};
    const struct watch_root *root = root_of(tree, path, &rest);
    if (root == NULL) {
        return (struct watched_state){0};
    }
    auto_close int folder = open_root(tree, root, &err);
    auto_close int fd = folder < 0 ? -1 : file_open_beneath(folder, rest, O_PATH | O_NOFOLLOW);
    bool is_file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    return is_file ? state_of(&info) : (struct watched_state){0};
}

/* ---- Opening --------------------------------------------------------------------------------- */

/** A path that is a file is watched through its folder. */
static void add_root(struct watch_tree *tree, const char *folder, const char *path)
{
    struct watch_root root = {.shown = memory_dup_string(path)};
    struct stat info;
    size_t len = strlen(root.shown);
    while (len > 1 && root.shown[len - 1] == '/') {
        root.shown[--len] = '\0';
    }
    root.folder = root.shown[0] == '/' ? memory_dup_string(root.shown) : join(folder, root.shown);
    /* opens: only says whether the role means a file; what is watched is opened as a folder */
    if (lstat(root.folder, &info) == 0 && S_ISREG(info.st_mode)) {
        char *slash = strrchr(root.folder, '/');
        root.only = memory_dup_string(slash + 1);
        slash[slash == root.folder ? 1 : 0] = '\0';
    }
    tree->roots[tree->root_count++] = root;
}

int watch_tree_open(const struct watch_tree_options *options, struct watch_tree **ret_tree,
                    struct rondo_error *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno,
                               "cannot watch files (fs.inotify.max_user_instances)");
    }
    struct watch_tree *tree = memory_new_zero(1, sizeof(*tree));
    size_t count = memory_count_list(options->paths);
    tree->inotify_fd = fd;
    tree->agent_folders = memory_dup_list(options->agent_folders);
    tree->extensions = memory_dup_list(options->extensions);
    tree->roots = memory_new_zero(count + 1, sizeof(*tree->roots));
    for (size_t i = 0; i < count; i++) {
        add_root(tree, options->folder, options->paths[i]);
    }
    *ret_tree = tree;
    return 0;
}

void watch_tree_close(struct watch_tree *tree)
{
    if (tree == NULL) {
        return;
    }
    struct watch_folder *folder = NULL;
    struct watch_folder *next = NULL;
    HASH_ITER(hh, tree->folders, folder, next)
    {
        remove_folder(tree, folder);
    }
    for (size_t i = 0; i < tree->root_count; i++) {
        free(tree->roots[i].shown);
        free(tree->roots[i].folder);
        free(tree->roots[i].only);
    }
    close(tree->inotify_fd);
    free(tree->roots);
    memory_free_list(tree->extensions);
    memory_free_list(tree->agent_folders);
    free(tree);
}

int watch_tree_descriptor(const struct watch_tree *tree)
{
    return tree->inotify_fd;
}

size_t watch_tree_folders(const struct watch_tree *tree)
{
    return tree->folder_count;
}
