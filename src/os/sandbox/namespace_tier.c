// SPDX-License-Identifier: Apache-2.0
/*
 * The namespace tier: bubblewrap sets up the namespaces, mounts and the seccomp filter. All options
 * and the command's environment reach it in a memory file, so that no other user sees them and no
 * variable of the command (LD_LIBRARY_PATH, for instance) touches bubblewrap itself. It holds the
 * command back until this process has put the limits on the first process inside: set there, the
 * number of processes counts inside of the user namespace only.
 *
 * --disable-userns is not used: the filter denies every call that makes a namespace, and older
 * versions of bubblewrap lack the option.
 */
#include "os/sandbox/plan_internal.h"

#include "base/auto.h"
#include "base/error.h"
#include "os/environment.h"
#include "os/path.h"
#include "os/process/program.h"
#include "os/process/spawn_child.h"
#include "os/sandbox/filter.h"
#include "os/sandbox/verify.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOME_INSIDE "/tmp/home"
/* An empty file: programs can tell by it where they are. */
#define MARKER_INSIDE "/.rondo-sandbox"

/* In the order in which carry_all() carries them. */
enum { SLOT_OPTIONS, SLOT_FILTER, SLOT_STATUS, SLOT_RELEASE, SLOT_READY };

static void put_option(struct buf *options, const char *name, const char *first, const char *second)
{
    sandbox_plan_put(options, name);
    if (first != NULL) {
        sandbox_plan_put(options, first);
    }
    if (second != NULL) {
        sandbox_plan_put(options, second);
    }
}

static void put_isolation(struct buf *options, const struct sandbox_policy *policy)
{
    put_option(options, "--unshare-all", NULL, NULL);
    put_option(options, "--unshare-user", NULL, NULL);
    if (policy->allow_network) {
        put_option(options, "--share-net", NULL, NULL);
    }
    put_option(options, "--die-with-parent", NULL, NULL);
    put_option(options, "--new-session", NULL, NULL);
    put_option(options, "--cap-drop", "ALL", NULL);
    put_option(options, "--hostname", "sandbox", NULL);
}

/** The first process inside keeps the mark; it lives as long as any other. None other gets it. */
static void put_mark(struct buf *options, const struct spawn_request *request)
{
    char number[16];
    if (request->supervisor != NULL && request->lock_path != NULL) {
        snprintf(number, sizeof(number), "%d", SPAWN_MARK_FD);
        put_option(options, "--sync-fd", number, NULL);
    }
}

static void put_descriptor(struct buf *options, const char *name, int slot, const char *path)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", CHILD_FIRST_CARRIED + slot);
    put_option(options, name, number, path);
}

/* --- mounts --- */

/* What reveals the machine's internals and no capability guards. Each mount takes time. */
static const char *const masked_in_proc[] = {
    "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/proc/sysrq-trigger",
};

static void put_system_path(struct buf *options, const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len > 0) {
        target[len] = '\0';
        put_option(options, "--symlink", target, path);
    } else {
        put_option(options, "--ro-bind", path, path);
    }
}

static void put_rule(struct buf *options, const struct path_rule *rule)
{
    switch (rule->access) {
    case PATH_SYSTEM:
        put_system_path(options, rule->path);
        break;
    case PATH_PRIVATE:
        put_option(options, "--tmpfs", rule->path, NULL);
        break;
    case PATH_READ:
    case PATH_PROTECTED:
        put_option(options, "--ro-bind", rule->path, rule->path);
        break;
    case PATH_PARENT:
    case PATH_WRITE:
        put_option(options, "--bind", rule->path, rule->path);
        break;
    case PATH_EMPTY:
        if (rule->is_folder) {
            put_option(options, "--tmpfs", rule->path, NULL);
        } else {
            put_option(options, "--dev-bind", "/dev/null", rule->path);
        }
        break;
    }
}

/**
 * The kernel's own files. Their owner is root, which needs no capability to write many of them, so
 * /proc as a whole is read-only, and what shows the machine's insides is empty.
 */
static void put_proc(struct buf *options)
{
    put_option(options, "--proc", "/proc", NULL);
    for (size_t i = 0; i < sizeof(masked_in_proc) / sizeof(masked_in_proc[0]); i++) {
        struct stat status;
        bool is_readable = stat(masked_in_proc[i], &status) == 0 &&
                           ((status.st_mode & S_IROTH) != 0 || geteuid() == 0);
        if (!is_readable) {
            continue;
        }
        if (S_ISDIR(status.st_mode)) {
            put_option(options, "--tmpfs", masked_in_proc[i], NULL);
            put_option(options, "--remount-ro", masked_in_proc[i], NULL);
        } else {
            put_option(options, "--dev-bind", "/dev/null", masked_in_proc[i]);
        }
    }
    put_option(options, "--remount-ro", "/proc", NULL);
}

/**
 * The marker is copied from a socket that is at its end. bubblewrap closes it then, which tells
 * this process that all mounts before it are made.
 */
static void put_marker(struct buf *options)
{
    put_descriptor(options, "--file", SLOT_READY, MARKER_INSIDE);
}

/**
 * Empty folders become read-only last, because something may be mounted below them. Those of the
 * system stay as they are: what is written to such a private folder is nowhere else, and each mount
 * that is made read-only takes time.
 */
static void put_mounts(struct buf *options, const struct path_list *paths)
{
    put_proc(options);
    put_option(options, "--dev", "/dev", NULL);
    for (size_t i = 0; i < paths->count; i++) {
        put_rule(options, &paths->rules[i]);
        if (strcmp(paths->rules[i].path, "/tmp") == 0) {
            put_option(options, "--dir", HOME_INSIDE, NULL);
        }
    }
    if (paths->alias != NULL) {
        auto_free char *canonical = realpath(paths->alias, NULL);
        put_option(options, "--symlink", canonical, paths->alias);
    }
    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->rules[i];
        if (rule->access == PATH_EMPTY && rule->is_folder && rule->fd >= 0) {
            put_option(options, "--remount-ro", rule->path, NULL);
        }
    }
    put_marker(options);
    put_option(options, "--remount-ro", "/", NULL);
}

/* --- the command --- */

static void put_environment(struct buf *options, const struct spawn_request *request)
{
    const char *home = request->sandbox->home;
    auto_buf struct buf home_variable = {0};
    buf_printf(&home_variable, "HOME=%s", home == NULL ? HOME_INSIDE : home);
    const char *const fixed[] = {buf_string(&home_variable), "TMPDIR=/tmp", NULL};
    char **environment = environment_select(request->envp, request->sandbox->env_names, fixed);
    put_option(options, "--clearenv", NULL, NULL);
    for (size_t i = 0; environment[i] != NULL; i++) {
        char *equals = strchr(environment[i], '=');
        *equals = '\0';
        put_option(options, "--setenv", environment[i], equals + 1);
    }
    environment_free(environment);
}

static void put_directory(struct buf *options, const struct spawn_request *request)
{
    const char *directory =
        request->directory != NULL ? request->directory : request->sandbox->workspace;
    if (directory != NULL) {
        auto_free char *canonical = realpath(directory, NULL);
        put_option(options, "--chdir", canonical == NULL ? directory : canonical, NULL);
    }
}

/* --- descriptors --- */

static bool carry_filter(struct sandbox_plan *plan)
{
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd >= 0 && (sandbox_filter_write(fd, NULL) != 0 || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        fd = -1;
    }
    return sandbox_plan_carry(plan, fd);
}

/** Give the child one end of a socket. */
static bool carry_socket(struct sandbox_plan *plan, int *ret_ours)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    *ret_ours = ends[1];
    return sandbox_plan_carry(plan, ends[0]);
}

static bool carry_all(struct sandbox_plan *plan, const struct buf *options)
{
    return sandbox_plan_carry_bytes(plan, "options", options->data, options->len) &&
           carry_filter(plan) && sandbox_plan_carry_status(plan) &&
           carry_socket(plan, &plan->release_fd) && carry_socket(plan, &plan->ready_fd) &&
           shutdown(plan->ready_fd, SHUT_WR) == 0;
}

/** Whether a command can write where a program is. */
static bool is_in_reach(const struct sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->paths.count; i++) {
        const struct path_rule *rule = &plan->paths.rules[i];
        if (rule->access == PATH_WRITE && path_is_below(plan->program, rule->path)) {
            return true;
        }
    }
    return false;
}

/** bubblewrap is not sandboxed itself, so it is the system's: PATH may lead to the workspace. */
static bool find_bubblewrap(struct sandbox_plan *plan, char ret_reason[256])
{
    char reason[256];
    if (!program_find_system("bwrap", plan->envp, plan->program, reason)) {
        snprintf(ret_reason, 256, "the namespace sandbox needs bubblewrap: %.210s", reason);
        return false;
    }
    if (is_in_reach(plan)) {
        snprintf(ret_reason, 256, "the bwrap in PATH is in a folder that commands can change");
        return false;
    }
    return true;
}

static bool namespace_fill(struct sandbox_plan *plan, char ret_reason[256])
{
    if (!find_bubblewrap(plan, ret_reason)) {
        return false;
    }
    auto_buf struct buf options = {0};
    put_isolation(&options, plan->request->sandbox);
    put_mark(&options, plan->request);
    put_mounts(&options, &plan->paths);
    put_environment(&options, plan->request);
    put_directory(&options, plan->request);
    put_descriptor(&options, "--seccomp", SLOT_FILTER, NULL);
    put_descriptor(&options, "--json-status-fd", SLOT_STATUS, NULL);
    put_descriptor(&options, "--block-fd", SLOT_RELEASE, NULL);
    if (!carry_all(plan, &options)) {
        snprintf(ret_reason, 256, "cannot prepare the sandbox: %s", strerrordesc_np(errno));
        return false;
    }
    static_assert(CHILD_FIRST_CARRIED + SLOT_OPTIONS == 3, "the number stands in a string below");
    static const char *const head[] = {"bwrap", "--args", "3", "--", NULL};
    sandbox_plan_set_argv(plan, head);
    return true;
}

/* --- running --- */

/** Put the limits on the process that waits inside. */
static bool limit_inner(struct sandbox_plan *plan)
{
    plan->inner_pidfd = pidfd_open(plan->inner, 0);
    if (plan->inner_pidfd < 0 || sandbox_limits_apply(&plan->limits, plan->inner, false) != 0) {
        return false;
    }
    for (size_t i = 0; i < plan->group.count; i++) {
        sandbox_group_join(plan->group.folders[i], plan->inner);
    }
    return true;
}

/** Closing the socket would let the command go, so a process that must not run is killed first. */
static void stop_inner(struct sandbox_plan *plan)
{
    kill(plan->inner, SIGKILL);
    close(plan->release_fd);
    plan->release_fd = -1;
}

static void namespace_advance(struct sandbox_plan *plan)
{
    static const char key[] = "\"child-pid\": ";
    const char *text = buf_string(&plan->status);
    const char *found = strstr(text, key);
    if (plan->inner > 0 || found == NULL || strchr(found, '\n') == NULL) {
        return;
    }
    plan->inner = (pid_t)strtol(found + strlen(key), NULL, 10);
    if (plan->inner > 0 && !limit_inner(plan)) {
        /* Of one that has ended meanwhile bubblewrap says why. */
        if (errno != ESRCH) {
            snprintf(plan->failure, sizeof(plan->failure), "cannot limit the sandbox: %s",
                     strerrordesc_np(errno));
        }
        stop_inner(plan);
    } else if (plan->inner > 0 && !sandbox_plan_watch_git(plan, plan->failure)) {
        /* Here, because bubblewrap is busy with its mounts meanwhile. */
        stop_inner(plan);
    }
}

/** All mounts are made, or bubblewrap has failed. */
static void namespace_ready(struct sandbox_plan *plan)
{
    if (plan->release_fd < 0) {
        return;
    }
    if (!sandbox_verify(&plan->paths, plan->inner, plan->failure) ||
        send(plan->release_fd, "", 1, MSG_NOSIGNAL) != 1) {
        stop_inner(plan);
        return;
    }
    close(plan->release_fd);
    plan->release_fd = -1;
}

/** bubblewrap's own complaint is the last line of the output that begins with its name. */
static void find_complaint(const char *output, char ret_reason[256])
{
    const char *best = NULL;
    for (const char *at = strstr(output, "bwrap: "); at != NULL; at = strstr(at + 1, "bwrap: ")) {
        best = at;
    }
    if (best == NULL) {
        snprintf(ret_reason, 256, "the sandbox ended before the command began");
        return;
    }
    snprintf(ret_reason, 256, "%.*s", (int)strcspn(best, "\n"), best);
}

static bool namespace_has_run(struct sandbox_plan *plan, const char *output, char ret_reason[256])
{
    /* bubblewrap writes this only for a command whose execve succeeded. */
    if (strstr(buf_string(&plan->status), "\"exit-code\"") != NULL) {
        return true;
    }
    find_complaint(output, ret_reason);
    return false;
}

const struct tier_ops sandbox_namespace_ops = {
    .fill = namespace_fill,
    .advance = namespace_advance,
    .ready = namespace_ready,
    .has_run = namespace_has_run,
};
