// SPDX-License-Identifier: Apache-2.0
/*
 * The Landlock tier. Landlock only ever allows, and what it allows for a folder holds for all that
 * is below, so a folder with something hidden or protected in it gets no rule of its own for that:
 * its entries are allowed one by one, and nothing new can be made directly in it. The orders go to
 * a process of the supervisor's binary that carries them out on itself (sandbox_confine.c).
 */
#include "os/sandbox_plan_internal.h"

#include "base/auto.h"
#include "os/environment.h"
#include "os/program.h"
#include "os/sandbox_confine.h"
#include "os/supervise.h"
#include "os/supervise_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rules of one sandbox; each takes kernel memory. */
#define RULES_MAX 16384

static const char *const devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
};

struct orders {
    const struct path_list *paths;
    struct buf buf;
    size_t rule_count;
};

static void put_order(struct orders *orders, char letter, const char *text)
{
    buf_append(&orders->buf, &letter, 1);
    sandbox_plan_put(&orders->buf, text);
}

static void put_path(struct orders *orders, char letter, const char *path)
{
    orders->rule_count++;
    put_order(orders, letter, path);
}

/* --- rules --- */

/** Whether a rule of this kind lies below the folder (or, with `is_exact`, at it). */
static bool has_rule(const struct path_list *paths, const char *path, bool is_exact,
                     enum path_access access)
{
    for (size_t i = 0; i < paths->count; i++) {
        const struct path_rule *rule = &paths->rules[i];
        bool is_there =
            is_exact ? strcmp(rule->path, path) == 0 : sandbox_path_is_below(rule->path, path);
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

static void expand(struct orders *orders, const char *path, char letter);

static void expand_entries(struct orders *orders, const char *folder, char letter)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while (entries != NULL && orders->rule_count < RULES_MAX &&
           (entry = readdir(entries)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            S_ISLNK(status.st_mode)) {
            continue;
        }
        auto_buf struct buf path = {0};
        buf_printf(&path, "%s/%s", folder, entry->d_name);
        expand(orders, path.data, letter);
    }
    if (entries != NULL) {
        closedir(entries);
    }
}

/**
 * Allow a path but for the exceptions at and below it. The depth is bounded by that of the
 * exceptions, which are paths of the list.
 */
static void expand(struct orders *orders, const char *path, char letter)
{
    const struct path_list *paths = orders->paths;
    if (has_rule(paths, path, true, PATH_EMPTY)) {
        return;
    }
    if (letter == CONFINE_WRITE && has_read_only(paths, path, true)) {
        letter = CONFINE_READ;
    }
    bool hides = has_rule(paths, path, false, PATH_EMPTY);
    bool protects = letter == CONFINE_WRITE && has_read_only(paths, path, false);
    if (!hides && !protects) {
        put_path(orders, letter, path);
        return;
    }
    put_path(orders, hides ? CONFINE_LIST : CONFINE_READ, path);
    expand_entries(orders, path, letter);
}

static void put_rules(struct orders *orders)
{
    for (size_t i = 0; i < orders->paths->count; i++) {
        const struct path_rule *rule = &orders->paths->rules[i];
        switch (rule->access) {
        case PATH_SYSTEM:
        case PATH_READ:
        case PATH_PROTECTED:
            expand(orders, rule->path, CONFINE_READ);
            break;
        case PATH_WRITE:
            expand(orders, rule->path, CONFINE_WRITE);
            break;
        case PATH_PRIVATE:
        case PATH_EMPTY:
            break;
        }
    }
    put_path(orders, CONFINE_READ, "/proc");
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        put_path(orders, CONFINE_DEVICE, devices[i]);
    }
}

/* --- everything else --- */

static bool make_private_folder(struct sandbox_plan *plan)
{
    char path[] = "/tmp/rondo-XXXXXX";
    if (mkdtemp(path) == NULL) {
        return false;
    }
    plan->private_folder = strdup(path);
    return plan->private_folder != NULL;
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

static bool carry_orders(struct sandbox_plan *plan, char ret_reason[256])
{
    struct orders orders = {.paths = &plan->paths};
    put_rules(&orders);
    put_path(&orders, CONFINE_WRITE, plan->private_folder);
    put_environment(&orders, plan);
    put_limits(&orders, plan);
    bool is_good = orders.rule_count < RULES_MAX;
    if (!is_good) {
        snprintf(ret_reason, 256, "the sandbox would need more than %d Landlock rules", RULES_MAX);
    } else if (!sandbox_plan_carry_bytes(plan, "orders", orders.buf.data, orders.buf.len) ||
               !sandbox_plan_carry_status(plan)) {
        is_good = false;
        snprintf(ret_reason, 256, "cannot prepare the sandbox: %s", strerrordesc_np(errno));
    }
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
    if (!carry_orders(plan, ret_reason)) {
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
