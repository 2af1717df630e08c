// SPDX-License-Identifier: Apache-2.0
/*
 * Starting a child. posix_spawn does not copy the page tables of a big process and is safe in a
 * program with many threads; fork is neither. No state; any thread.
 */
#include "os/process/spawn_child.h"

#include "base/error.h"
#include "os/process/spawn_request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int child_raise_fd(int *fd, struct rondo_error *err)
{
    if (*fd >= CHILD_LOWEST_FD) {
        return 0;
    }
    int raised = fcntl(*fd, F_DUPFD_CLOEXEC, CHILD_LOWEST_FD);
    if (raised < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot copy a descriptor");
    }
    close(*fd);
    *fd = raised;
    return 0;
}

static int fill_standard(posix_spawn_file_actions_t *actions, const struct child_setup *setup)
{
    int error_fd = setup->error_fd > 0 ? setup->error_fd : setup->output_fd;
    int r = setup->input_fd > 0
                ? posix_spawn_file_actions_adddup2(actions, setup->input_fd, STDIN_FILENO)
                : posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0) {
        r = posix_spawn_file_actions_adddup2(actions, setup->output_fd, STDOUT_FILENO);
    }
    if (r == 0) {
        r = posix_spawn_file_actions_adddup2(actions, error_fd, STDERR_FILENO);
    }
    return r;
}

/** The mark has a number above those that are closed, so it takes two steps. */
static int fill_descriptors(posix_spawn_file_actions_t *actions, const struct child_setup *setup)
{
    int r = 0;
    int next = CHILD_FIRST_CARRIED + (int)setup->carried_count;
    for (size_t i = 0; r == 0 && i < setup->carried_count; i++) {
        r = posix_spawn_file_actions_adddup2(actions, setup->carried[i],
                                             CHILD_FIRST_CARRIED + (int)i);
    }
    if (setup->mark_fd <= 0) {
        return r != 0 ? r : posix_spawn_file_actions_addclosefrom_np(actions, next);
    }
    if (r == 0) {
        r = posix_spawn_file_actions_adddup2(actions, setup->mark_fd, next);
    }
    if (r == 0) {
        r = posix_spawn_file_actions_addclosefrom_np(actions, next + 1);
    }
    if (r == 0) {
        r = posix_spawn_file_actions_adddup2(actions, next, SPAWN_MARK_FD);
    }
    return r != 0 ? r : posix_spawn_file_actions_addclose(actions, next);
}

static int fill_actions(posix_spawn_file_actions_t *actions, const struct child_setup *setup)
{
    int r = fill_standard(actions, setup);
    if (r == 0) {
        r = fill_descriptors(actions, setup);
    }
    if (r == 0 && setup->directory != NULL) {
        r = posix_spawn_file_actions_addchdir_np(actions, setup->directory);
    }
    return r;
}

static int fill_attributes(posix_spawnattr_t *attributes, pid_t group)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    int r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                     POSIX_SPAWN_SETSIGMASK);
    if (r == 0) {
        r = posix_spawnattr_setpgroup(attributes, group);
    }
    if (r == 0) {
        r = posix_spawnattr_setsigdefault(attributes, &all);
    }
    if (r == 0) {
        r = posix_spawnattr_setsigmask(attributes, &none);
    }
    return r;
}

int child_start(const struct child_setup *setup, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0) {
        return r;
    }
    r = posix_spawnattr_init(&attributes);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return r;
    }
    r = fill_actions(&actions, setup);
    if (r == 0) {
        r = fill_attributes(&attributes, setup->group);
    }
    if (r == 0) {
        r = posix_spawn(ret_pid, setup->program, &actions, &attributes, (char *const *)setup->argv,
                        (char *const *)setup->envp);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

void child_abandon(pid_t pid)
{
    kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
