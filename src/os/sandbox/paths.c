// SPDX-License-Identifier: Apache-2.0
/*
 * The visible file system is an allow list: system folders, then what the policy names. Every path
 * is canonical, so that one file is seen at one place only and a rule about it cannot be walked
 * around. No state; any thread.
 */
#include "os/sandbox/paths.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/host.h"
#include "os/path.h"
#include "os/sandbox/git_config.h"
#include "os/sandbox/secrets.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where programs, libraries and their configuration are, on all kinds of distributions. */
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

/* Parts of a git folder from which git runs commands or learns where to find some. */
static const char *const git_parts[] = {"config", "config.worktree", "hooks", "modules",
                                        "worktrees"};

static bool is_same_or_below(const char *path, const char *folder)
{
    return strcmp(path, folder) == 0 || path_is_below(path, folder);
}

/** Add a rule. Takes over `path` and `fd`. */
static void add(struct path_list *list, char *path, enum path_access access, bool is_folder, int fd)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 64 : list->room * 2;
        list->rules = memory_resize(list->rules, list->room, sizeof(*list->rules));
    }
    list->rules[list->count++] =
        (struct path_rule){.path = path, .access = access, .is_folder = is_folder, .fd = fd};
}

static void rule_fini(struct path_rule *rule)
{
    free(rule->path);
    if (rule->fd >= 0) {
        close(rule->fd);
    }
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

/** Add rules for what was opened. What it had is the list's then. */
static void add_named(struct path_list *list, struct named_path *named, enum path_access access)
{
    for (size_t i = 0; i < named->parent_count; i++) {
        add(list, named->parents[i].path, PATH_PARENT, true, named->parents[i].fd);
    }
    if (named->fd >= 0) {
        add(list, named->path, access, named->is_folder, named->fd);
    }
    free(named->parents);
    *named = (struct named_path){.fd = -1};
}

/** Guard a path that the policy or a table names, if it is visible in the first place. */
static bool guard(struct path_list *list, const char *path, enum path_access access,
                  char ret_reason[256])
{
    struct named_path named;
    if (!named_path_open(&list->roots, path, &named, ret_reason)) {
        return false;
    }
    if (named.fd < 0 || is_visible(list, named.path)) {
        add_named(list, &named, access);
    }
    named_path_fini(&named);
    return true;
}

/* --- system folders --- */

static void add_system(struct path_list *list)
{
    for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
        struct stat status;
        /* Symbolic links (/bin to usr/bin) are rebuilt, so the path stays as it is written. */
        if (lstat(system_paths[i], &status) == 0) {
            add(list, memory_dup_string(system_paths[i]), PATH_SYSTEM, S_ISDIR(status.st_mode), -1);
        }
    }
    for (size_t i = 0; i < sizeof(private_paths) / sizeof(private_paths[0]); i++) {
        add(list, memory_dup_string(private_paths[i]), PATH_PRIVATE, true, -1);
    }
}

/** The resolver's configuration often is a link into /run. */
static void add_resolver(struct path_list *list)
{
    struct named_path named;
    char reason[256];
    if (named_path_open(&list->roots, "/etc/resolv.conf", &named, reason) && named.fd >= 0 &&
        !is_visible(list, named.path)) {
        add_named(list, &named, PATH_READ);
    }
    named_path_fini(&named);
}

static void hide_of_system(void *context, const char *path, enum secret_kind kind)
{
    struct path_list *list = context;
    auto_free char *canonical = realpath(path, NULL);
    struct stat status;
    (void)kind;
    if (canonical != NULL && is_visible(list, canonical) && stat(canonical, &status) == 0) {
        bool is_folder = S_ISDIR(status.st_mode);
        add(list, memory_dup_string(canonical), PATH_EMPTY, is_folder, -1);
    }
}

/* --- the home folder --- */

struct home_guard {
    struct path_list *list;
    const struct sandbox_policy *policy;
    char *reason;
    bool is_good;
};

static bool names_at_or_below(const char *const *paths, const char *secret)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        if (is_same_or_below(paths[i], secret)) {
            return true;
        }
    }
    return false;
}

/**
 * What a person named outright is shown. Many keep these files elsewhere and link to them: what is
 * guarded is where the links lead.
 */
static void guard_in_home(void *context, const char *path, enum secret_kind kind)
{
    struct home_guard *home = context;
    const char *const workspace[] = {home->policy->workspace, NULL};
    if (!home->is_good || names_at_or_below(home->policy->read_paths, path) ||
        names_at_or_below(home->policy->write_paths, path) || names_at_or_below(workspace, path)) {
        return;
    }
    auto_free char *canonical = realpath(path, NULL);
    enum path_access access = kind == SECRET_HIDDEN ? PATH_EMPTY : PATH_PROTECTED;
    home->is_good = canonical == NULL || guard(home->list, canonical, access, home->reason);
}

/** A workspace that is the home folder, or above it, shows the folders of keys too. */
static bool guard_home(struct path_list *list, const struct sandbox_policy *policy,
                       char ret_reason[256])
{
    auto_free char *home = host_home();
    auto_free char *canonical = home == NULL ? NULL : realpath(home, NULL);
    if (canonical == NULL || !is_visible(list, canonical)) {
        return true;
    }
    struct home_guard guarded = {
        .list = list, .policy = policy, .reason = ret_reason, .is_good = true};
    sandbox_secrets_of_home(canonical, guard_in_home, &guarded);
    return guarded.is_good;
}

/* --- git --- */

/**
 * Make a part of a git folder read-only. A link there may lead to hooks that the project keeps
 * elsewhere in the workspace; a new one is found after the command (sandbox_git.c).
 */
static bool protect_part(struct path_list *list, const char *path, char ret_reason[256])
{
    auto_free char *canonical = realpath(path, NULL);
    return canonical == NULL || guard(list, canonical, PATH_PROTECTED, ret_reason);
}

static bool protect_git_folder(struct path_list *list, int fd, const char *folder,
                               char ret_reason[256])
{
    /* Where it exists or cannot be made, nothing is changed. */
    (void)mkdirat(fd, "hooks", 0755);
    for (size_t i = 0; i < sizeof(git_parts) / sizeof(git_parts[0]); i++) {
        auto_buf struct buf part = {0};
        buf_printf(&part, "%s/%s", folder, git_parts[i]);
        if (!protect_part(list, part.data, ret_reason)) {
            return false;
        }
    }
    return true;
}

/** Keep what a person's settings of git name in the workspace: hooks, and further settings. */
static bool protect_named_by_git(struct path_list *list, const char *work_tree,
                                 char ret_reason[256])
{
    char **paths = sandbox_git_named(work_tree);
    bool is_good = true;
    for (size_t i = 0; is_good && paths != NULL && paths[i] != NULL; i++) {
        is_good = guard(list, paths[i], PATH_PROTECTED, ret_reason);
    }
    memory_free_list(paths);
    return is_good;
}

/** Whether a folder is itself a repository (bare, or the .git of one). */
static bool is_git_folder(int fd)
{
    return faccessat(fd, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
           faccessat(fd, "objects", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/** Guard the repository whose working tree is a writable folder, or which is that folder itself. */
static bool protect_repository(struct path_list *list, const struct named_root *root,
                               char ret_reason[256])
{
    if (is_git_folder(root->fd)) {
        return protect_git_folder(list, root->fd, root->path, ret_reason);
    }
    auto_close int fd = openat(root->fd, ".git", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || S_ISLNK(status.st_mode)) {
        return true;
    }
    auto_buf struct buf git = {0};
    buf_printf(&git, "%s/.git", root->path);
    if (!S_ISDIR(status.st_mode)) {
        return guard(list, git.data, PATH_PROTECTED, ret_reason);
    }
    return guard(list, git.data, PATH_PARENT, ret_reason) &&
           protect_git_folder(list, fd, git.data, ret_reason) &&
           protect_named_by_git(list, root->path, ret_reason);
}

/* --- what the policy names --- */

/** A writable folder above a system folder would open the system. */
static bool is_too_wide(const char *path)
{
    static const char *const fixed[] = {"/proc", "/dev", "/sys", "/run"};
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

static bool open_of_policy(const struct path_list *list, const struct sandbox_policy *policy,
                           const char *path, struct named_path *ret_named, char ret_reason[256])
{
    return policy->is_canonical && path[0] == '/'
               ? named_path_open_canonical(&list->roots, path, ret_named, ret_reason)
               : named_path_open(&list->roots, path, ret_named, ret_reason);
}

static bool add_writable(struct path_list *list, const struct sandbox_policy *policy,
                         const char *path, char ret_reason[256])
{
    struct named_path named;
    if (path[0] != '/') {
        snprintf(ret_reason, 256, "%.200s: not an absolute path", path);
        return false;
    }
    if ((!policy->is_canonical && !named_path_is_straight(path, ret_reason)) ||
        !open_of_policy(list, policy, path, &named, ret_reason)) {
        return false;
    }
    if (named.fd >= 0 && is_too_wide(named.path)) {
        snprintf(ret_reason, 256, "%.200s: contains system folders, so it is never writable",
                 named.path);
        named_path_fini(&named);
        return false;
    }
    if (named.fd >= 0) {
        named_roots_add(&list->roots, path, &named);
        add_named(list, &named, PATH_WRITE);
    }
    named_path_fini(&named);
    return true;
}

static void note_alias(struct path_list *list, const char *path)
{
    auto_free char *canonical = realpath(path, NULL);
    if (canonical != NULL && strcmp(canonical, path) != 0 && strstr(path, "/.") == NULL &&
        strstr(path, "//") == NULL && path[strlen(path) - 1] != '/' && !is_visible(list, path)) {
        list->alias = memory_dup_string(path);
    }
}

static int compare_lengths(const void *left, const void *right)
{
    size_t a = strlen(*(const char *const *)left);
    size_t b = strlen(*(const char *const *)right);
    return (a > b) - (a < b);
}

/** Open the writable folders, outer ones first: what is below them is not trusted. */
static bool add_all_writable(struct path_list *list, const struct sandbox_policy *policy,
                             char ret_reason[256])
{
    size_t count = 0;
    while (policy->write_paths != NULL && policy->write_paths[count] != NULL) {
        count++;
    }
    auto_free const char **paths = memory_new_zero(count + 1, sizeof(*paths));
    for (size_t i = 0; i < count; i++) {
        paths[i] = policy->write_paths[i];
    }
    if (policy->workspace != NULL) {
        if (!file_exists(policy->workspace)) {
            snprintf(ret_reason, 256, "%.200s: no such folder", policy->workspace);
            return false;
        }
        note_alias(list, policy->workspace);
        paths[count++] = policy->workspace;
    }
    qsort(paths, count, sizeof(*paths), compare_lengths);
    bool is_good = true;
    for (size_t i = 0; is_good && i < count; i++) {
        is_good = add_writable(list, policy, paths[i], ret_reason);
    }
    for (size_t i = 0; is_good && i < list->roots.count; i++) {
        is_good = protect_repository(list, &list->roots.items[i], ret_reason);
    }
    return is_good;
}

/* --- the order of the rules --- */

static int compare_rules(const void *left, const void *right)
{
    const struct path_rule *a = left;
    const struct path_rule *b = right;
    int order = strcmp(a->path, b->path);
    return order != 0 ? order : (int)a->access - (int)b->access;
}

static bool is_same_path(const struct path_rule *left, const struct path_rule *right)
{
    return strcmp(left->path, right->path) == 0;
}

/** What holds for a path by the rules strictly above it. */
static enum path_access access_above(const struct path_list *list, const char *path)
{
    for (size_t i = list->count; i > 0; i--) {
        const struct path_rule *rule = &list->rules[i - 1];
        if (rule->access != PATH_PARENT && path_is_below(path, rule->path)) {
            return rule->access;
        }
    }
    return PATH_PRIVATE;
}

/** Whether a rule changes nothing over what is above it. */
static bool is_redundant(const struct path_rule *rule, enum path_access above)
{
    switch (rule->access) {
    case PATH_PARENT:
        return above != PATH_WRITE;
    case PATH_WRITE:
        return above == PATH_WRITE;
    case PATH_PROTECTED:
        return above != PATH_WRITE;
    case PATH_EMPTY:
        return above == PATH_EMPTY || above == PATH_PRIVATE;
    case PATH_SYSTEM:
    case PATH_PRIVATE:
    case PATH_READ:
        return false;
    }
    return false;
}

/** Sort the rules and keep one for each path. */
static void settle(struct path_list *list)
{
    size_t all = list->count;
    qsort(list->rules, all, sizeof(*list->rules), compare_rules);
    list->count = 0;
    for (size_t i = 0; i < all; i++) {
        struct path_rule rule = list->rules[i];
        if (is_redundant(&rule, access_above(list, rule.path))) {
            rule_fini(&rule);
            continue;
        }
        if (list->count > 0 && is_same_path(&list->rules[list->count - 1], &rule)) {
            rule_fini(&list->rules[--list->count]);
        }
        list->rules[list->count++] = rule;
    }
}

/** What is not there, or is a link that its owner made, is left as it is. */
static bool protect_named(struct path_list *list, const struct sandbox_policy *policy,
                          char ret_reason[256])
{
    const char *const *paths = policy->tier == SANDBOX_NAMESPACE ? policy->protect_paths : NULL;
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        struct stat status;
        bool is_there = lstat(paths[i], &status) == 0 && !S_ISLNK(status.st_mode);
        if (is_there && !guard(list, paths[i], PATH_PROTECTED, ret_reason)) {
            return false;
        }
    }
    return true;
}

static bool collect(const struct sandbox_policy *policy, struct path_list *list,
                    char ret_reason[256])
{
    add_system(list);
    if (!add_all_writable(list, policy, ret_reason)) {
        return false;
    }
    for (size_t i = 0; policy->read_paths != NULL && policy->read_paths[i] != NULL; i++) {
        struct named_path named;
        if (!open_of_policy(list, policy, policy->read_paths[i], &named, ret_reason)) {
            return false;
        }
        add_named(list, &named, PATH_READ);
    }
    if (policy->allow_network) {
        add_resolver(list);
    }
    sandbox_secrets_of_system(hide_of_system, list);
    if (!guard_home(list, policy, ret_reason)) {
        return false;
    }
    if (!protect_named(list, policy, ret_reason)) {
        return false;
    }
    for (size_t i = 0; policy->hide_paths != NULL && policy->hide_paths[i] != NULL; i++) {
        if (!guard(list, policy->hide_paths[i], PATH_EMPTY, ret_reason)) {
            return false;
        }
    }
    settle(list);
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
        rule_fini(&list->rules[i]);
    }
    free(list->rules);
    free(list->alias);
    named_roots_fini(&list->roots);
    *list = (struct path_list){0};
}
