// SPDX-License-Identifier: Apache-2.0
/*
 * The visible file system is an allow list: system folders, then what the policy names. Every path
 * is canonical, so that one file is seen at one place only and a rule about it cannot be walked
 * around. Reads the file system, changes nothing. No state; any thread.
 */
#include "os/sandbox_paths.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where programs, libraries and their configuration stand, on all kinds of distributions. */
static const char *const system_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/sys/devices/system/cpu",
};

static const char *const private_paths[] = {"/tmp", "/var/tmp", "/run", "/home", "/root"};

/* Beside what the mode already tells (see hide_secrets_of_root). */
static const char *const secret_paths[] = {
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/security/opasswd",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/docker",
    "/etc/wireguard",
    "/etc/cryptsetup-keys.d",
    "/etc/pve/priv",
};

/* Parts of a git folder from which git runs commands or learns where to find some. */
static const char *const git_parts[] = {"config", "config.worktree", "modules", "worktrees"};

bool sandbox_path_is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    if (len == 1) {
        return path[1] != '\0';
    }
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

static bool is_same_or_below(const char *path, const char *folder)
{
    return strcmp(path, folder) == 0 || sandbox_path_is_below(path, folder);
}

/** Add a rule. Takes over `path`. */
static void add(struct path_list *list, char *path, enum path_access access, bool is_folder)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 64 : list->room * 2;
        list->rules = memory_resize(list->rules, list->room, sizeof(*list->rules));
    }
    list->rules[list->count++] =
        (struct path_rule){.path = path, .access = access, .is_folder = is_folder};
}

/** Add a rule for what `path` resolves to. @return the canonical path, borrowed; NULL if missing */
static const char *add_existing(struct path_list *list, const char *path, enum path_access access)
{
    char *canonical = realpath(path, NULL);
    struct stat status;
    if (canonical == NULL || stat(canonical, &status) != 0) {
        free(canonical);
        return NULL;
    }
    add(list, canonical, access, S_ISDIR(status.st_mode));
    return canonical;
}

static bool is_visible(const struct path_list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++) {
        enum path_access access = list->rules[i].access;
        bool shows = access == PATH_SYSTEM || access == PATH_READ || access == PATH_WRITE;
        if (shows && is_same_or_below(path, list->rules[i].path)) {
            return true;
        }
    }
    return false;
}

/**
 * Make a part of something writable read-only. A link in it may have been made by an earlier
 * command, so its target is taken only where it is visible anyway.
 */
static void protect(struct path_list *list, const char *path)
{
    auto_free char *canonical = realpath(path, NULL);
    if (canonical != NULL && is_visible(list, canonical)) {
        add_existing(list, canonical, PATH_PROTECTED);
    }
}

/** Hide a path; what is not visible in the first place needs no rule. */
static void hide(struct path_list *list, const char *path)
{
    auto_free char *canonical = realpath(path, NULL);
    if (canonical != NULL && is_visible(list, canonical)) {
        add_existing(list, canonical, PATH_EMPTY);
    }
}

/* --- system folders --- */

static void add_system(struct path_list *list)
{
    for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
        struct stat status;
        /* Symbolic links (/bin to usr/bin) are rebuilt, so the path stays as it is written. */
        if (lstat(system_paths[i], &status) == 0) {
            add(list, memory_dup_string(system_paths[i]), PATH_SYSTEM, S_ISDIR(status.st_mode));
        }
    }
    for (size_t i = 0; i < sizeof(private_paths) / sizeof(private_paths[0]); i++) {
        add(list, memory_dup_string(private_paths[i]), PATH_PRIVATE, true);
    }
}

/**
 * Root owns the files that only root may read, and keeps reading them without any capability. So in
 * /etc and /etc/ssh everything is hidden that not everybody may read.
 */
static void hide_unreadable(struct path_list *list, const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            S_ISLNK(status.st_mode) || (status.st_mode & S_IROTH) != 0) {
            continue;
        }
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", folder, entry->d_name);
        hide(list, path.data);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

static void hide_secrets(struct path_list *list)
{
    for (size_t i = 0; i < sizeof(secret_paths) / sizeof(secret_paths[0]); i++) {
        hide(list, secret_paths[i]);
    }
    if (geteuid() == 0) {
        hide_unreadable(list, "/etc");
        hide_unreadable(list, "/etc/ssh");
    }
}

/** The resolver's configuration often is a link into /run. */
static void add_resolver(struct path_list *list)
{
    auto_free char *canonical = realpath("/etc/resolv.conf", NULL);
    if (canonical != NULL && !is_visible(list, canonical)) {
        add_existing(list, canonical, PATH_READ);
    }
}

/* --- git --- */

/**
 * Guard a git folder. A rule of its own for the folder keeps it from being moved away and replaced;
 * hooks are shown empty where there are none, so that none can be added.
 */
static void protect_git_folder(struct path_list *list, const char *folder)
{
    add_existing(list, folder, PATH_WRITE);
    for (size_t i = 0; i < sizeof(git_parts) / sizeof(git_parts[0]); i++) {
        auto_buf struct buf part = {0};
        buf_printf(&part, "%s/%s", folder, git_parts[i]);
        protect(list, part.data);
    }
    auto_buf struct buf hooks = {0};
    buf_printf(&hooks, "%s/hooks", folder);
    if (file_exists(hooks.data)) {
        protect(list, hooks.data);
    } else {
        add(list, buf_steal(&hooks), PATH_EMPTY, true);
    }
    auto_buf struct buf redirection = {0};
    buf_printf(&redirection, "%s/commondir", folder);
    if (!file_exists(redirection.data) && list->redirected == NULL) {
        list->redirected = buf_steal(&redirection);
    }
}

/** Whether a folder is itself a repository (bare, or the .git of one). */
static bool is_git_folder(const char *path)
{
    auto_buf struct buf head = {0};
    auto_buf struct buf objects = {0};
    buf_printf(&head, "%s/HEAD", path);
    buf_printf(&objects, "%s/objects", path);
    return file_exists(head.data) && file_exists(objects.data);
}

/** Guard the repository whose working tree starts at `path`, or which is there, if there is one. */
static void protect_repository(struct path_list *list, const char *path)
{
    if (is_git_folder(path)) {
        protect_git_folder(list, path);
        return;
    }
    auto_buf struct buf git = {0};
    buf_printf(&git, "%s/.git", path);
    struct stat status;
    if (lstat(git.data, &status) != 0) {
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        protect_git_folder(list, git.data);
    } else {
        protect(list, git.data);
    }
}

/* --- what the policy names --- */

/** A writable folder above a system folder would open the system. */
static bool is_too_wide(const char *path)
{
    static const char *const fixed[] = {"/proc", "/dev", "/sys"};
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (is_same_or_below(fixed[i], path)) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
        if (is_same_or_below(system_paths[i], path)) {
            return true;
        }
    }
    return false;
}

/**
 * Whether a path of the policy leads out of `writable`, below which it is written: an earlier
 * command may have put a link there to get at something else.
 */
static bool leads_out(const char *path, const char *writable)
{
    if (writable == NULL || !sandbox_path_is_below(path, writable)) {
        return false;
    }
    auto_free char *canonical = realpath(path, NULL);
    auto_free char *folder = realpath(writable, NULL);
    return canonical != NULL && folder != NULL && !is_same_or_below(canonical, folder);
}

static bool is_diverted(const struct sandbox_policy *policy, const char *path)
{
    bool is_out = leads_out(path, policy->workspace);
    for (size_t i = 0; policy->write_paths != NULL && policy->write_paths[i] != NULL; i++) {
        is_out = is_out || leads_out(path, policy->write_paths[i]);
    }
    return is_out;
}

static bool add_writable(struct path_list *list, const char *path, char ret_reason[256])
{
    if (path[0] != '/') {
        snprintf(ret_reason, 256, "%.200s: not an absolute path", path);
        return false;
    }
    const char *canonical = add_existing(list, path, PATH_WRITE);
    if (canonical == NULL) {
        return true;
    }
    if (is_too_wide(canonical)) {
        snprintf(ret_reason, 256, "%.200s: holds system folders, so it is never writable",
                 canonical);
        return false;
    }
    protect_repository(list, canonical);
    return true;
}

static bool add_workspace(struct path_list *list, const char *path, char ret_reason[256])
{
    if (path == NULL) {
        return true;
    }
    auto_free char *canonical = realpath(path, NULL);
    if (canonical == NULL) {
        snprintf(ret_reason, 256, "%.200s: no such folder", path);
        return false;
    }
    if (strcmp(canonical, path) != 0 && strstr(path, "/.") == NULL && strstr(path, "//") == NULL &&
        path[strlen(path) - 1] != '/' && !is_visible(list, path)) {
        list->alias = memory_dup_string(path);
    }
    return add_writable(list, path, ret_reason);
}

static int compare_rules(const void *left, const void *right)
{
    const struct path_rule *a = left;
    const struct path_rule *b = right;
    int order = strcmp(a->path, b->path);
    return order != 0 ? order : (int)a->access - (int)b->access;
}

static bool collect(const struct sandbox_policy *policy, struct path_list *list,
                    char ret_reason[256])
{
    add_system(list);
    for (size_t i = 0; policy->read_paths != NULL && policy->read_paths[i] != NULL; i++) {
        if (!is_diverted(policy, policy->read_paths[i])) {
            add_existing(list, policy->read_paths[i], PATH_READ);
        }
    }
    for (size_t i = 0; policy->write_paths != NULL && policy->write_paths[i] != NULL; i++) {
        const char *path = policy->write_paths[i];
        if (!is_diverted(policy, path) && !add_writable(list, path, ret_reason)) {
            return false;
        }
    }
    if (!add_workspace(list, policy->workspace, ret_reason)) {
        return false;
    }
    if (policy->allow_network) {
        add_resolver(list);
    }
    hide_secrets(list);
    for (size_t i = 0; policy->hide_paths != NULL && policy->hide_paths[i] != NULL; i++) {
        hide(list, policy->hide_paths[i]);
    }
    qsort(list->rules, list->count, sizeof(*list->rules), compare_rules);
    return true;
}

bool sandbox_paths_collect(const struct sandbox_policy *policy, struct path_list *ret_list,
                           char ret_reason[256])
{
    struct path_list list = {0};
    if (!collect(policy, &list, ret_reason)) {
        sandbox_paths_fini(&list);
        return false;
    }
    *ret_list = list;
    return true;
}

void sandbox_paths_fini(struct path_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->rules[i].path);
    }
    free(list->rules);
    free(list->alias);
    free(list->redirected);
    *list = (struct path_list){0};
}
