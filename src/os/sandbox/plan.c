// SPDX-License-Identifier: Apache-2.0
/*
 * What the tiers have in common: descriptors and memory files for the program that sets the sandbox
 * up, control groups, and cleaning up. Whatever goes wrong here refuses the command; nothing ever
 * makes it run with less. One owner, one thread.
 */
#include "os/sandbox/plan.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/process/process_tree.h"
#include "os/process/program.h"
#include "os/process/spawn_child.h"
#include "os/sandbox/plan_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the programs that set up a sandbox say is short. */
#define STATUS_BYTES_MAX 4096
/* The kernel ends a pid namespace at once when its first process is killed; this is patience. */
#define INNER_END_WAIT_MS 10000

static const struct tier_ops *const tiers[SANDBOX_TIER_COUNT] = {
    [SANDBOX_LANDLOCK] = &sandbox_landlock_ops,
    [SANDBOX_NAMESPACE] = &sandbox_namespace_ops,
};

static const struct tier_ops *ops_of(const struct sandbox_plan *plan)
{
    return tiers[plan->request->sandbox->tier];
}

static void close_slot(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* --- for the tiers --- */

bool sandbox_plan_carry(struct sandbox_plan *plan, int fd)
{
    if (fd < 0 || plan->carried_count == PLAN_CARRIED_MAX || child_raise_fd(&fd, NULL) != 0) {
        close_slot(&fd);
        return false;
    }
    plan->carried[plan->carried_count++] = fd;
    return true;
}

/** What is written is read from its beginning. */
static bool fill_descriptor(int fd, const char *bytes, size_t len)
{
    return file_write_all(fd, bytes, len) == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

bool sandbox_plan_carry_bytes(struct sandbox_plan *plan, const char *name, const void *bytes,
                              size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && !fill_descriptor(fd, bytes, len)) {
        close_slot(&fd);
    }
    return sandbox_plan_carry(plan, fd);
}

bool sandbox_plan_watch_git(struct sandbox_plan *plan, char ret_reason[256])
{
    if (!git_watch_begin(&plan->paths, LIMIT_SANDBOX_GIT_FOLDERS, &plan->git, ret_reason)) {
        return false;
    }
    auto_buf struct buf bytes = {0};
    git_watch_save(plan->git, &bytes);
    return plan->record.fd < 0 || sandbox_record_write(&plan->record, &bytes, ret_reason);
}

/** The supervisor looks at what a command left when this process was killed. */
static bool carry_record(struct sandbox_plan *plan, char ret_reason[256])
{
    if (sandbox_plan_record(plan) == 0 ||
        sandbox_plan_carry(plan, fcntl(plan->record.fd, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD))) {
        return true;
    }
    snprintf(ret_reason, 256, "cannot prepare the sandbox: %s", strerrordesc_np(errno));
    return false;
}

bool sandbox_plan_carry_status(struct sandbox_plan *plan)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    plan->status_fd = ends[0];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? sandbox_plan_carry(plan, ends[1])
                                                    : (close(ends[1]), false);
}

void sandbox_plan_put(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text) + 1);
}

void sandbox_plan_set_argv(struct sandbox_plan *plan, const char *const *head)
{
    size_t head_count = memory_count_list(head);
    size_t command_count = memory_count_list(plan->request->argv);
    plan->argv = memory_new_zero(head_count + command_count + 1, sizeof(*plan->argv));
    memcpy(plan->argv, head, head_count * sizeof(*head));
    memcpy(plan->argv + head_count, plan->request->argv, command_count * sizeof(*head));
}

/* --- making --- */

static void set_environment(struct sandbox_plan *plan)
{
    const char *path = program_environment_get(plan->request->envp, "PATH");
    auto_buf struct buf variable = {0};
    buf_printf(&variable, "PATH=%s", path == NULL ? "/usr/bin:/bin" : path);
    plan->path_variable = buf_steal(&variable);
    plan->envp[0] = plan->path_variable;
}

static bool fill(struct sandbox_plan *plan, char ret_reason[256])
{
    if (plan->request->argv[0] == NULL || plan->request->argv[0][0] == '\0') {
        snprintf(ret_reason, 256, "(empty command): no such program");
        return false;
    }
    set_environment(plan);
    if (!sandbox_paths_collect(plan->request->sandbox, &plan->paths, ret_reason)) {
        return false;
    }
    sandbox_group_make(&plan->limits, &plan->group);
    /* A command that can write nowhere leaves nothing but processes, and ends with its caller. */
    if (plan->paths.roots.count > 0 && (!sandbox_record_recover(&plan->former_notes, ret_reason) ||
                                        !sandbox_record_begin(&plan->record, ret_reason))) {
        return false;
    }
    return ops_of(plan)->fill(plan, ret_reason) && carry_record(plan, ret_reason);
}

int sandbox_plan_make(const struct spawn_request *request, struct sandbox_plan **ret_plan,
                      char ret_reason[256], struct rondo_error *err)
{
    if ((unsigned)request->sandbox->tier >= SANDBOX_TIER_COUNT) {
        return error_set(err, RONDO_ERR_INVALID, "there is no sandbox tier %d",
                         (int)request->sandbox->tier);
    }
    struct sandbox_plan *plan = memory_new_zero(1, sizeof(*plan));
    plan->request = request;
    plan->limits = sandbox_limits_resolve(&request->sandbox->limits);
    plan->status_fd = -1;
    plan->release_fd = -1;
    plan->ready_fd = -1;
    plan->inner_pidfd = -1;
    plan->record.fd = -1;
    if (!fill(plan, ret_reason)) {
        sandbox_plan_free(plan);
        plan = NULL;
    }
    *ret_plan = plan;
    return 0;
}

const char *sandbox_plan_program(const struct sandbox_plan *plan)
{
    return plan->program;
}

const char *const *sandbox_plan_argv(const struct sandbox_plan *plan)
{
    return plan->argv;
}

const char *const *sandbox_plan_envp(const struct sandbox_plan *plan)
{
    return plan->envp;
}

const int *sandbox_plan_carried(const struct sandbox_plan *plan, size_t *ret_count)
{
    *ret_count = plan->carried_count;
    return plan->carried;
}

const char *const *sandbox_plan_groups(const struct sandbox_plan *plan)
{
    return (const char *const *)plan->group.folders;
}

bool sandbox_plan_supervisor_helps(const struct sandbox_plan *plan)
{
    return plan->supervisor_helps;
}

uint64_t sandbox_plan_record(const struct sandbox_plan *plan)
{
    return plan->request->supervisor == NULL ? 0 : plan->record.number;
}

const char *sandbox_plan_private_folder(const struct sandbox_plan *plan)
{
    return plan->private_folder;
}

/* --- running --- */

static void close_carried(struct sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->carried_count; i++) {
        close_slot(&plan->carried[i]);
    }
    plan->carried_count = 0;
}

void sandbox_plan_started(struct sandbox_plan *plan)
{
    close_carried(plan);
}

/** The first process inside is known, and continues setting up. */
static bool is_waiting_for_mounts(const struct sandbox_plan *plan)
{
    return plan->ready_fd >= 0 && plan->inner > 0;
}

int sandbox_plan_poll_fd(const struct sandbox_plan *plan)
{
    return is_waiting_for_mounts(plan) ? plan->ready_fd : plan->status_fd;
}

void sandbox_plan_advance(struct sandbox_plan *plan)
{
    if (is_waiting_for_mounts(plan)) {
        close_slot(&plan->ready_fd);
        ops_of(plan)->ready(plan);
        return;
    }
    char chunk[512];
    ssize_t got = plan->status_fd < 0 ? 0 : read(plan->status_fd, chunk, sizeof(chunk));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0 || plan->status.len + (size_t)got > STATUS_BYTES_MAX) {
        close_slot(&plan->status_fd);
        return;
    }
    buf_append(&plan->status, chunk, (size_t)got);
    if (ops_of(plan)->advance != NULL) {
        ops_of(plan)->advance(plan);
    }
}

bool sandbox_plan_is_held(const struct sandbox_plan *plan)
{
    return plan->release_fd >= 0 && plan->status_fd >= 0;
}

bool sandbox_plan_terminate(struct sandbox_plan *plan)
{
    return plan->inner > 0 && process_tree_signal(plan->inner, SIGTERM) > 0;
}

/** Read what is left in the pipe; its writers have ended. */
static void read_remaining_status(struct sandbox_plan *plan)
{
    size_t before;
    do {
        before = plan->status.len;
        sandbox_plan_advance(plan);
    } while (plan->status.len > before);
}

bool sandbox_plan_has_run(struct sandbox_plan *plan, const char *output, char ret_reason[256])
{
    close_slot(&plan->ready_fd);
    read_remaining_status(plan);
    if (plan->failure[0] != '\0') {
        snprintf(ret_reason, 256, "%s", plan->failure);
        return false;
    }
    return ops_of(plan)->has_run(plan, output, ret_reason);
}

/* --- the end --- */

static void wait_for_inner(struct sandbox_plan *plan)
{
    if (plan->inner_pidfd >= 0) {
        struct pollfd slot = {.fd = plan->inner_pidfd, .events = POLLIN};
        while (poll(&slot, 1, INNER_END_WAIT_MS) < 0 && errno == EINTR) {
        }
    }
}

void sandbox_plan_lost_supervisor(struct sandbox_plan *plan)
{
    if (plan->record.number != 0) {
        /* The supervisor of the next command tries again, where it is the same run's. */
        (void)sandbox_record_kill(plan->record.number);
    }
}

bool sandbox_plan_inspect(struct sandbox_plan *plan, struct buf *ret_notes, char ret_reason[256])
{
    wait_for_inner(plan);
    buf_append(ret_notes, plan->former_notes.data, plan->former_notes.len);
    buf_fini(&plan->former_notes);
    bool is_complete = plan->git == NULL || git_watch_end(plan->git, ret_notes, ret_reason);
    git_watch_free(plan->git);
    plan->git = NULL;
    sandbox_record_end(&plan->record);
    return is_complete;
}

void sandbox_plan_free(struct sandbox_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    if (plan->git != NULL) {
        /* No result is expected, and it is done all the same. */
        auto_buf struct buf notes = {0};
        char reason[256];
        (void)sandbox_plan_inspect(plan, &notes, reason);
    }
    wait_for_inner(plan);
    sandbox_group_remove(&plan->group);
    if (plan->private_folder != NULL) {
        /* A left-over in the temporary folder is harmless, and could not be reported. */
        (void)file_remove_tree(plan->private_folder, NULL);
    }
    close_carried(plan);
    close_slot(&plan->status_fd);
    close_slot(&plan->release_fd);
    close_slot(&plan->ready_fd);
    close_slot(&plan->inner_pidfd);
    sandbox_record_end(&plan->record);
    buf_fini(&plan->former_notes);
    buf_fini(&plan->status);
    sandbox_paths_fini(&plan->paths);
    free(plan->private_folder);
    free(plan->path_variable);
    free(plan->argv);
    free(plan);
}
