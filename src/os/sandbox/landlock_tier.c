// SPDX-License-Identifier: Apache-2.0
/*
 * The Landlock tier. Landlock only ever allows, and what it allows for a folder holds for all that
 * is below, so a folder with something hidden or protected in it gets no rule of its own for that:
 * its entries are allowed one by one, and nothing new can be made directly in it. The orders go to
 * a process of the supervisor's binary that carries them out on itself (sandbox_confine.c).
 */
#include "os/sandbox/plan_internal.h"

#include "base/auto.h"
#include "base/memory.h"
#include "os/environment.h"
#include "os/path.h"
#include "os/process/program.h"
#include "os/process/supervise_wire.h"
#include "os/sandbox/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rules of one sandbox; each takes kernel memory. */
#define RULES_MAX 16384

static const char *const devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
};

struct orders {
    const struct path_list *paths;
    struct stat *known; /* what each rule of the list found; owned */
    struct buf buf;
    size_t rule_count;
};

static void put_order(struct orders *orders, char letter, const char *text)
{
    buf_append(&orders->buf, &letter, 1);
    sandbox_plan_put(&orders->buf, text);
}

/** Order a rule for what a descriptor holds; with -1 for whatever the path leads to. */
static void put_rule(struct orders *orders, char letter, const char *path, int fd)
{
    struct stat status = {0};
    if (fd >= 0 && fstat(fd, &status) != 0) {
        return;
    }
    auto_buf struct buf text = {0};
    buf_printf(&text, CONFINE_RULE_FORMAT, (uint64_t)status.st_dev, (uint64_t)status.st_ino, path);
    orders->rule_count++;
    put_order(orders, letter, text.data);
}

/* --- rules --- */

/** Whether a rule of this kind lies below the folder (or, with `is_exact`, at it). */
static bool has_rule(const struct path_list *paths, const char *path, bool is_exact,
                     enum path_access access)
{
    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->rules[i];
        bool is_there = is_exact ? strcmp(rule->path, path) == 0 : path_is_below(rule->path, path);
        if (is_there && rule->access == access) {
            return true;
        }
    }
    return false;
}

static bool has_read_only(const struct path_list *paths, const char *path, bool is_exact)
{
    return has_rule(paths, path, is_exact, PATH_PROTECTED) ||
           has_rule(paths, path, is_exact, PATH_READ);
}

/** The path by which the rules know a file, even if it was renamed since they were made. */
static const char *known_path(const struct orders *orders, int fd, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return path;
    }
    for (size_t i = 0; i < orders->paths->count; i++) {
        const struct stat *known = &orders->known[i];
        if (orders->paths->rules[i].fd >= 0 && known->st_dev == status.st_dev &&
            known->st_ino == status.st_ino) {
            return orders->paths->rules[i].path;
        }
    }
    return path;
}

static void expand(struct orders *orders, int fd, const char *named, char letter);

static void expand_entries(struct orders *orders, int folder_fd, const char *folder, char letter)
{
    int listed = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = listed < 0 ? NULL : fdopendir(listed);
    struct dirent *entry;
    while (entries != NULL && orders->rule_count < RULES_MAX &&
           (entry = readdir(entries)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        auto_close int fd = openat(folder_fd, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) != 0 || S_ISLNK(status.st_mode)) {
            continue;
        }
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", folder, entry->d_name);
        expand(orders, fd, path.data, letter);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/**
 * Allow what a descriptor holds but for the exceptions at and below it. The depth is bounded by
 * that of the exceptions, which are paths of the list. All is found from descriptors, so that a
 * link planted meanwhile leads nowhere.
 */
static void expand(struct orders *orders, int fd, const char *named, char letter)
{
    const struct path_list *paths = orders->paths;
    const char *path = known_path(orders, fd, named);
    if (has_rule(paths, path, true, PATH_EMPTY)) {
        return;
    }
    if (letter == CONFINE_WRITE && has_read_only(paths, path, true)) {
        letter = CONFINE_READ;
    }
    bool hides = has_rule(paths, path, false, PATH_EMPTY);
    bool protects = letter == CONFINE_WRITE && (has_read_only(paths, path, false) ||
                                                has_rule(paths, path, false, PATH_PARENT));
    if (!hides && !protects) {
        put_rule(orders, letter, path, fd);
        return;
    }
    put_rule(orders, hides ? CONFINE_LIST : CONFINE_READ, path, fd);
    expand_entries(orders, fd, path, letter);
}

static void put_rule_of_list(struct orders *orders, const struct path_rule *rule)
{
    auto_close int own = rule->fd >= 0 ? -1 : open(rule->path, O_PATH | O_CLOEXEC);
    int fd = rule->fd >= 0 ? rule->fd : own;
    switch (rule->access) {
    case PATH_SYSTEM:
    case PATH_READ:
    case PATH_PROTECTED:
        expand(orders, fd, rule->path, CONFINE_READ);
        break;
    case PATH_WRITE:
        expand(orders, fd, rule->path, CONFINE_WRITE);
        break;
    case PATH_PRIVATE:
    case PATH_PARENT:
    case PATH_EMPTY:
        break;
    }
}

static void put_rules(struct orders *orders)
{
    orders->known = memory_new_zero(orders->paths->count + 1, sizeof(*orders->known));
    for (size_t i = 0; i < orders->paths->count; i++) {
        (void)fstat(orders->paths->rules[i].fd, &orders->known[i]);
    }
    for (size_t i = 0; i < orders->paths->count; i++) {
        put_rule_of_list(orders, &orders->paths->rules[i]);
    }
    put_rule(orders, CONFINE_READ, "/proc", -1);
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        put_rule(orders, CONFINE_DEVICE, devices[i], -1);
    }
}

/* --- everything else --- */

/** TMPDIR, unless commands can write it: then what is in it could be exchanged. */
static char *temporary_folder(const struct sandbox_plan *plan)
{
    const char *named = getenv("TMPDIR");
    char *canonical = named == NULL || named[0] != '/' ? NULL : realpath(named, NULL);
    for (size_t i = 0; canonical != NULL && i < plan->paths.roots.count; i++) {
        const char *root = plan->paths.roots.items[i].path;
        if (strcmp(canonical, root) == 0 || path_is_below(canonical, root)) {
            free(canonical);
            canonical = NULL;
        }
    }
    return canonical == NULL ? memory_dup_string("/tmp") : canonical;
}

/** The supervisor removes it, also when this process is killed. */
static bool make_private_folder(struct sandbox_plan *plan)
{
    auto_free char *parent = temporary_folder(plan);
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/rondo-XXXXXX", parent);
    if (mkdtemp(path.data) == NULL) {
        return false;
    }
    plan->private_folder = buf_steal(&path);
    return true;
}

static void put_environment(struct orders *orders, const struct sandbox_plan *plan)
{
    auto_buf struct buf home = {0};
    auto_buf struct buf temporary = {0};
    const char *given = plan->request->sandbox->home;
    buf_printf(&home, "HOME=%s", given == NULL ? plan->private_folder : given);
    buf_printf(&temporary, "TMPDIR=%s", plan->private_folder);
    const char *const fixed[] = {home.data, temporary.data, NULL};
    char **environment =
        environment_select(plan->request->envp, plan->request->sandbox->env_names, fixed);
    for (size_t i = 0; environment[i] != NULL; i++) {
        put_order(orders, CONFINE_ENVIRONMENT, environment[i]);
    }
    environment_free(environment);
}

static void put_limits(struct orders *orders, const struct sandbox_plan *plan)
{
    char text[96];
    snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64, plan->limits.processes,
             plan->limits.file_size_bytes, plan->limits.open_files);
    put_order(orders, CONFINE_LIMITS, text);
    for (size_t i = 0; i < plan->group.count; i++) {
        put_order(orders, CONFINE_GROUP, plan->group.folders[i]);
    }
    if (plan->request->sandbox->allow_network) {
        put_order(orders, CONFINE_NETWORK, "");
    }
}

/** The command's end, then the supervisor's, which it keeps. */
static bool carry_helper(struct sandbox_plan *plan)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    plan->supervisor_helps = true;
    bool is_carried = sandbox_plan_carry(plan, ends[0]);
    return sandbox_plan_carry(plan, ends[1]) && is_carried;
}

static bool carry_orders(struct sandbox_plan *plan, char ret_reason[256])
{
    struct orders orders = {.paths = &plan->paths};
    put_rules(&orders);
    put_rule(&orders, CONFINE_WRITE, plan->private_folder, -1);
    put_environment(&orders, plan);
    put_limits(&orders, plan);
    bool is_good = orders.rule_count < RULES_MAX;
    if (!is_good) {
        snprintf(ret_reason, 256, "the sandbox would need more than %d Landlock rules", RULES_MAX);
    } else if (!sandbox_plan_carry_bytes(plan, "orders", orders.buf.data, orders.buf.len) ||
               !sandbox_plan_carry_status(plan) || !carry_helper(plan)) {
        is_good = false;
        snprintf(ret_reason, 256, "cannot prepare the sandbox: %s", strerrordesc_np(errno));
    }
    free(orders.known);
    buf_fini(&orders.buf);
    return is_good;
}

static bool landlock_fill(struct sandbox_plan *plan, char ret_reason[256])
{
    const struct spawn_request *request = plan->request;
    if (request->supervisor == NULL) {
        snprintf(ret_reason, 256, "the Landlock sandbox needs a supervisor program");
        return false;
    }
    if (!program_find(request->argv[0], request->envp,
                      request->directory == NULL ? "." : request->directory, plan->command,
                      ret_reason)) {
        return false;
    }
    if (!make_private_folder(plan)) {
        snprintf(ret_reason, 256, "cannot make a temporary folder: %s", strerrordesc_np(errno));
        return false;
    }
    if (!sandbox_plan_watch_git(plan, ret_reason) || !carry_orders(plan, ret_reason)) {
        return false;
    }
    snprintf(plan->program, sizeof(plan->program), "%s", request->supervisor);
    const char *const head[] = {request->supervisor, SUPERVISE_ARGUMENT, SUPERVISE_JOB_CONFINE,
                                plan->command, NULL};
    sandbox_plan_set_argv(plan, head);
    return true;
}

/** The report's descriptor closes without a word when the command is executed. */
static bool landlock_has_run(struct sandbox_plan *plan, const char *output, char ret_reason[256])
{
    (void)output;
    if (plan->status.len == 0) {
        return true;
    }
    snprintf(ret_reason, 256, "%.255s", buf_string(&plan->status));
    return false;
}

const struct tier_ops sandbox_landlock_ops = {
    .fill = landlock_fill,
    .has_run = landlock_has_run,
};
