// SPDX-License-Identifier: Apache-2.0
/*
 * Role files: found, read, read again when they or their skills change.
 *
 * all opens: paths that a person named; what a role may do is checked when it is read
 * (agent_confirm_role).
 */
#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/state_folder.h"
#include "os/trust.h"
#include "role/folder.h"
#include "source/duty/duty_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/** Folders that are watched at most. */
#define MOST_WATCHES 1024
#define WATCH_MASK \
    (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR)

/* ---- Finding -------------------------------------------------------------------------------- */

static struct duty_role *find_file(struct duty *duty, const char *path)
{
    struct duty_role *role = duty->roles;
    while (role != NULL && strcmp(role->path, path) != 0) {
        role = role->next;
    }
    return role;
}

/** @param is_named at the start of the daemon */
static void add_file(struct duty *duty, const char *path, bool is_named)
{
    struct duty_role *role = find_file(duty, path);
    if (role == NULL && duty->role_count == LIMIT_DAEMON_ROLES) {
        duty_log(duty, "%s is left out: a daemon keeps at most %d roles", path, LIMIT_DAEMON_ROLES);
        return;
    }
    if (role == NULL) {
        struct duty_role **last = &duty->roles;
        while (*last != NULL) {
            last = &(*last)->next;
        }
        role = memory_new_zero(1, sizeof(*role));
        role->path = memory_dup_string(path);
        pthread_rwlock_wrlock(&duty->hooks_lock);
        *last = role;
        pthread_rwlock_unlock(&duty->hooks_lock);
        duty->role_count++;
    }
    role->is_found = true;
    role->is_named = is_named;
}

/** What a folder is confirmed as: once named, what comes into it later is not. */
static const char folder_mark[] = "folder of roles";

/** Whether naming a folder at the start confirms its roles: only once, where agents can write. */
static bool is_new_folder(const struct duty *duty, const char *path)
{
    enum trust_verdict verdict = TRUST_UNKNOWN;
    struct rondo_error err = {0};
    return !duty->is_started &&
           trust_look(TRUST_DUTY, path, folder_mark, sizeof(folder_mark), &verdict, &err) == 0 &&
           verdict == TRUST_UNKNOWN;
}

static int add_folder(struct duty *duty, const char *path, struct rondo_error *err)
{
    char **files = NULL;
    bool is_new = is_new_folder(duty, path);
    int r = role_folder_list(path, &files, err);
    for (size_t i = 0; r == 0 && files[i] != NULL; i++) {
        add_file(duty, files[i], is_new);
    }
    memory_free_list(files);
    return r;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static const struct duty_role *find_name(const struct duty *duty, const struct duty_role *but,
                                         const char *name)
{
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        if (role != but && role->is_used && strcmp(role->plan.name, name) == 0) {
            return role;
        }
    }
    return NULL;
}

static void log_lines(const struct duty *duty, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        duty_log(duty, "%.*s", (int)len, text);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

/** A role cannot be used as its file is now. Said once for each reason. */
static void note_problem(struct duty *duty, struct duty_role *role, const char *findings,
                         const char *reason)
{
    if (strncmp(role->problem, reason, sizeof(role->problem) - 1) == 0) {
        return;
    }
    log_lines(duty, findings);
    duty_log(duty, "%s: %s%s", role->path, reason,
             role->is_used ? "; the role stays as it was before" : "; the role is left out");
    snprintf(role->problem, sizeof(role->problem), "%s", reason);
}

static void leave_duty(struct duty *duty, struct duty_role *role)
{
    if (role->is_used) {
        duty_close_sources(duty, role);
        intake_remove_role(duty->intake, role->plan.name);
        intake_hold_role(duty->intake, role->plan.name, false);
        role->is_held = false;
        duty_plan_fini(&role->plan);
        role->is_used = false;
    }
}

/** Put a plan into effect. @param plan taken over */
static void use_plan(struct duty *duty, struct duty_role *role, struct duty_plan *plan)
{
    if (role->is_used && strcmp(role->plan.name, plan->name) != 0) {
        leave_duty(duty, role);
    }
    bool is_change = role->is_used;
    /* With other variables, secrets of sources may be others. */
    bool is_fresh = is_change && strcmp(role->plan.variables, plan->variables) != 0;
    duty_plan_fini(&role->plan);
    role->plan = *plan;
    role->is_used = true;
    duty->has_new_role = duty->has_new_role || !is_change;
    role->problem[0] = '\0';
    const struct queue_options queue = duty_plan_queue(&role->plan, &duty->options.queue);
    duty_open_sources(duty, role, is_fresh);
    duty_note_budgets(duty, role);
    intake_set_role(duty->intake, role->plan.name, &queue);
    if (duty->is_started) {
        duty_tell(duty, "%s: the role %s is %s", role->path, role->plan.name,
                  is_change ? "reloaded; runs that execute keep the old one" : "on duty");
    }
}

static void read_role(struct duty *duty, struct duty_role *role)
{
    const struct duty_options *options = &duty->options;
    struct duty_reading reading = {
        .workspace = options->workspace,
        .config_folder = options->config_folder,
        .prices_file = options->prices_file,
        .skill_folder = options->skill_folder,
        .model = options->model,
        .accepts_unprotected = options->accepts_unprotected,
        .is_found = !role->is_named,
    };
    struct rondo_error err = {0};
    struct duty_plan plan = {0};
    auto_buf struct buf findings = {0};
    char **places = NULL;
    int r = duty_plan_read(role->path, &reading, &plan, &places, &findings, &err);
    if (places != NULL) {
        memory_free_list(role->places);
        role->places = places;
    }
    if (r < 0) {
        note_problem(duty, role, buf_string(&findings), err.message);
        return;
    }
    const struct duty_role *other = find_name(duty, role, plan.name);
    if (other != NULL) {
        auto_buf struct buf reason = {0};
        buf_printf(&reason, "%s has a role of the name %s already", other->path, plan.name);
        note_problem(duty, role, "", buf_string(&reason));
        duty_plan_fini(&plan);
    } else if (role->is_used && memcmp(role->plan.digest, plan.digest, DIGEST_SIZE) == 0) {
        if (role->problem[0] != '\0') {
            duty_tell(duty, "%s can be used again, and has not changed", role->path);
            role->problem[0] = '\0';
        }
        duty_plan_fini(&plan);
    } else {
        if (!duty->options.is_quiet) {
            log_lines(duty, buf_string(&findings));
        }
        use_plan(duty, role, &plan);
    }
}

static void free_role(struct duty_role *role)
{
    duty_plan_fini(&role->plan);
    memory_free_list(role->places);
    free(role->path);
    free(role);
}

static bool is_in_reach(const struct duty *duty, const char *path)
{
    const char *const workspace[] = {duty->options.workspace, NULL};
    return trust_is_in_reach(path, workspace) || state_is_in_project(path);
}

/**
 * Files of folders that are gone. Where agents can write, that is no word of a person: the role
 * stays on duty, and reading its file says why.
 */
static void drop_gone(struct duty *duty)
{
    for (struct duty_role **at = &duty->roles; *at != NULL;) {
        struct duty_role *role = *at;
        if (role->is_found || (role->is_used && is_in_reach(duty, role->path))) {
            at = &role->next;
            continue;
        }
        duty_tell(duty, "%s was removed%s", role->path,
                  role->is_used ? ": its role is off duty; events that wait for it are kept" : "");
        leave_duty(duty, role);
        pthread_rwlock_wrlock(&duty->hooks_lock);
        *at = role->next;
        pthread_rwlock_unlock(&duty->hooks_lock);
        duty->role_count--;
        free_role(role);
    }
}

/* ---- Watching ------------------------------------------------------------------------------- */

struct folder_watch {
    struct duty *duty;
    int count;
};

/** A folder that is watched already keeps its watch. @return it, or -1 */
static int watch_folder(struct folder_watch *watch, const char *path)
{
    int descriptor = watch->count == MOST_WATCHES
                         ? -1
                         : inotify_add_watch(watch->duty->watch_fd, path, WATCH_MASK);
    struct duty *duty = watch->duty;
    watch->count += descriptor < 0 ? 0 : 1;
    duty->highest_watch = descriptor > duty->highest_watch ? descriptor : duty->highest_watch;
    return descriptor;
}

/** A folder of skills: each is a folder in it. */
static void watch_skills(struct folder_watch *watch, const char *path)
{
    struct duty *duty = watch->duty;
    DIR *folder = opendir(path);
    int descriptor = watch_folder(watch, path);
    if (descriptor >= 0) {
        duty->skill_watches = memory_resize(duty->skill_watches, duty->skill_watch_count + 1,
                                            sizeof(*duty->skill_watches));
        duty->skill_watches[duty->skill_watch_count++] = descriptor;
    }
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        auto_buf struct buf child = {0};
        buf_printf(&child, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && role_folder_is(buf_string(&child))) {
            watch_folder(watch, buf_string(&child));
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/** @return the folder of a file, as text of its own */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? memory_dup_string(".")
                         : memory_dup_bytes(path, slash == path ? 1 : (size_t)(slash - path));
}

/**
 * Watch where the skills of the roles are, which reading them has shown. What changed there before
 * it was watched may have been missed, so all is read again. Watches are numbered in their order,
 * so a higher number is a new one.
 */
static void watch_places(struct duty *duty)
{
    struct folder_watch watch = {.duty = duty};
    int highest = duty->highest_watch;
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (size_t i = 0; role->places != NULL && role->places[i] != NULL; i++) {
            if (role_folder_is(role->places[i])) {
                watch_skills(&watch, role->places[i]);
            } else {
                auto_free char *folder = folder_of(role->places[i]);
                watch_folder(&watch, folder);
            }
        }
    }
    if (duty->highest_watch > highest) {
        duty->read_at_ns = clock_monotonic(duty->clock) + 1;
    }
}

int duty_read_roles(struct duty *duty, struct rondo_error *err)
{
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        role->is_found = false;
    }
    for (size_t i = 0; duty->paths[i] != NULL; i++) {
        int r = 0;
        if (role_folder_is(duty->paths[i])) {
            r = add_folder(duty, duty->paths[i], err);
        } else {
            add_file(duty, duty->paths[i], !duty->is_started);
        }
        if (r < 0) {
            return r;
        }
    }
    drop_gone(duty);
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        if (!role->is_used || duty_plan_is_reloaded(&role->plan)) {
            read_role(duty, role);
        }
    }
    watch_places(duty);
    if (duty->has_new_role) {
        duty->has_new_role = false;
        return intake_adopt(duty->intake, err);
    }
    return 0;
}

static void note_folder(struct duty *duty, const char *path)
{
    struct rondo_error err = {0};
    if (role_folder_is(path) && is_in_reach(duty, path) && is_new_folder(duty, path) &&
        trust_confirm(TRUST_DUTY, path, folder_mark, sizeof(folder_mark), &err) < 0) {
        duty_log(duty, "%s", err.message);
    }
}

void duty_note_folders(struct duty *duty)
{
    for (size_t i = 0; duty->paths[i] != NULL; i++) {
        note_folder(duty, duty->paths[i]);
    }
}

void duty_free_roles(struct duty *duty)
{
    while (duty->roles != NULL) {
        struct duty_role *role = duty->roles;
        duty->roles = role->next;
        free_role(role);
    }
}

/* ---- Watching the files --------------------------------------------------------------------- */

static void watch_role(struct folder_watch *watch, const char *path)
{
    auto_buf struct buf folder = {0};
    buf_append_string(&folder, path);
    if (!role_folder_is(path)) {
        char *slash = strrchr(folder.data, '/');
        *(slash == NULL ? folder.data : slash) = '\0';
        folder.len = strlen(folder.data);
    }
    watch_folder(watch, buf_string(&folder));
    size_t len = folder.len;
    buf_append_string(&folder, "/skills");
    watch_skills(watch, buf_string(&folder));
    folder.len = len;
    buf_append_string(&folder, "/.agents/skills");
    watch_skills(watch, buf_string(&folder));
}

/** What waits for `rondo trust` is read again when that was typed. */
static void watch_trust(struct duty *duty)
{
    struct rondo_error err = {0};
    auto_free char *path = NULL;
    duty->trust_watch = trust_folder_path(&path, &err) < 0
                            ? -1
                            : inotify_add_watch(duty->watch_fd, path, IN_MOVED_TO | IN_ONLYDIR);
}

void duty_watch_folders(struct duty *duty)
{
    struct folder_watch watch = {.duty = duty};
    duty->skill_watch_count = 0;
    for (size_t i = 0; duty->watch_fd >= 0 && duty->paths[i] != NULL; i++) {
        watch_role(&watch, duty->paths[i]);
    }
    if (duty->watch_fd >= 0 && duty->options.skill_folder != NULL) {
        watch_skills(&watch, duty->options.skill_folder);
    }
}

int duty_watch(struct duty *duty, struct rondo_error *err)
{
    duty->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (duty->watch_fd < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot watch the role files");
    }
    duty_watch_folders(duty);
    watch_trust(duty);
    return 0;
}

/** A folder that may be one of skills: `skills` beside roles, or one in it. */
static bool is_skill_folder(const struct duty *duty, const struct inotify_event *event)
{
    bool is_skill = event->len > 0 && strcmp(event->name, "skills") == 0;
    for (size_t i = 0; i < duty->skill_watch_count; i++) {
        is_skill = is_skill || duty->skill_watches[i] == event->wd;
    }
    return is_skill;
}

/** Whether a role has a file of this name besides: the schema of its output. */
static bool is_place(const struct duty *duty, const char *name)
{
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (size_t i = 0; role->places != NULL && role->places[i] != NULL; i++) {
            const char *slash = strrchr(role->places[i], '/');
            if (strcmp(slash == NULL ? role->places[i] : slash + 1, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/** Roles, skills, and the variables beside them. Agents may write other files there all the time.
 */
static bool is_of_roles(const struct duty *duty, const struct inotify_event *event)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0) {
        return true;
    }
    const char *name = event->len == 0 ? "" : event->name;
    if ((event->mask & IN_CREATE) != 0 || (event->mask & IN_ISDIR) != 0) {
        return (event->mask & IN_ISDIR) != 0 && is_skill_folder(duty, event);
    }
    return role_folder_has(name) || fnmatch("*.md", name, 0) == 0 || strcmp(name, ".env") == 0 ||
           is_place(duty, name);
}

/** How long nothing must change: as long as any role asks for. */
static int64_t debounce_of(const struct duty *duty)
{
    int64_t longest_ns = 0;
    bool is_any = false;
    for (const struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        int64_t wanted_ns = role->is_used ? duty_plan_debounce_ns(&role->plan) : 0;
        is_any = is_any || role->is_used;
        longest_ns = wanted_ns > longest_ns ? wanted_ns : longest_ns;
    }
    return is_any ? longest_ns : DUTY_DEBOUNCE_NS;
}

void duty_note_changes(struct duty *duty)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t len;
    while ((len = read(duty->watch_fd, events, sizeof(events))) > 0) {
        for (char *at = events; at < events + len;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;
            at += sizeof(*event) + event->len;
            if (event->wd == duty->trust_watch || is_of_roles(duty, event)) {
                duty->read_at_ns = clock_monotonic(duty->clock) + debounce_of(duty) + 1;
            }
        }
    }
}
