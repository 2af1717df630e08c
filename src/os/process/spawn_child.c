// SPDX-License-Identifier: Apache-2.0
/*
 * Starting a child. posix_spawn does not copy the page tables of a big process and is safe in a
 * program with many threads; fork is neither. No state; any thread.
 */
#include "os/process/spawn_child.h"

#include "base/error.h"
#include "os/process/spawn.h"

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
    int code =
        setup->input_fd > 0
            ? posix_spawn_file_actions_adddup2(actions, setup->input_fd, STDIN_FILENO)
            : posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, setup->output_fd, STDOUT_FILENO);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, error_fd, STDERR_FILENO);
    }
    return code;
}

/** The mark has a number above those that are closed, so it takes two steps. */
static int fill_descriptors(posix_spawn_file_actions_t *actions, const struct child_setup *setup)
{
    int code = 0;
    int next = CHILD_FIRST_CARRIED + (int)setup->carried_count;
    for (size_t i = 0; code == 0 && i < setup->carried_count; i++) {
        code = posix_spawn_file_actions_adddup2(actions, setup->carried[i],
                                                CHILD_FIRST_CARRIED + (int)i);
    }
    if (setup->mark_fd <= 0) {
        return code != 0 ? code : posix_spawn_file_actions_addclosefrom_np(actions, next);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, setup->mark_fd, next);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_addclosefrom_np(actions, next + 1);
    }
    if (code == 0) {
        code = posix_spawn_file_actions_adddup2(actions, next, SPAWN_MARK_FD);
    }
    return code != 0 ? code : posix_spawn_file_actions_addclose(actions, next);
}

static int fill_actions(posix_spawn_file_actions_t *actions, const struct child_setup *setup)
{
    int code = fill_standard(actions, setup);
    if (code == 0) {
        code = fill_descriptors(actions, setup);
    }
    if (code == 0 && setup->directory != NULL) {
        code = posix_spawn_file_actions_addchdir_np(actions, setup->directory);
    }
    return code;
}

static int fill_attributes(posix_spawnattr_t *attributes, pid_t group)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    int code = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                        POSIX_SPAWN_SETSIGMASK);
    if (code == 0) {
        code = posix_spawnattr_setpgroup(attributes, group);
    }
    if (code == 0) {
        code = posix_spawnattr_setsigdefault(attributes, &all);
    }
    if (code == 0) {
        code = posix_spawnattr_setsigmask(attributes, &none);
    }
    return code;
}

int child_start(const struct child_setup *setup, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        return code;
    }
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    code = fill_actions(&actions, setup);
    if (code == 0) {
        code = fill_attributes(&attributes, setup->group);
    }
    if (code == 0) {
        code = posix_spawn(ret_pid, setup->program, &actions, &attributes,
                           (char *const *)setup->argv, (char *const *)setup->envp);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

void child_abandon(pid_t pid)
{
    kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
