// SPDX-License-Identifier: Apache-2.0
#include "os/host.h"

#include "helper.h"

#include <spawn.h>
#include <sys/wait.h>

TEST(this_process_is_described)
{
    struct host_process self;
    host_describe_self(&self);
    assert_int_equal(self.pid, getpid());
    assert_int_not_equal(self.started, 0);
    assert_int_not_equal(self.pid_space, 0);
    assert_int_equal(strlen(self.boot_id), 36);
}

TEST(this_process_is_not_dead)
{
    struct host_process self;
    host_describe_self(&self);
    assert_false(host_is_dead(&self));
}

TEST(a_process_with_our_number_but_another_start_is_dead)
{
    struct host_process other;
    host_describe_self(&other);
    other.started--;
    assert_true(host_is_dead(&other));
}

TEST(a_process_of_another_boot_is_never_called_dead)
{
    struct host_process other;
    host_describe_self(&other);
    other.started--;
    other.boot_id[0] = other.boot_id[0] == '0' ? '1' : '0';
    assert_false(host_is_dead(&other));
}

TEST(a_process_of_another_pid_space_is_never_called_dead)
{
    struct host_process other;
    host_describe_self(&other);
    other.started--;
    other.pid_space++;
    assert_false(host_is_dead(&other));
}

static pid_t start_true(void)
{
    char *argv[] = {(char *)"true", NULL};
    pid_t pid;
    assert_int_equal(posix_spawnp(&pid, "true", NULL, NULL, argv, environ), 0);
    return pid;
}

TEST(a_zombie_is_dead)
{
    struct host_process child;
    host_describe_self(&child);
    child.pid = start_true();
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    /* Its start time is that of a process in state Z, so the state has to tell. */
    FILE *stat = fopen("/proc/self/stat", "re");
    assert_non_null(stat);
    fclose(stat);
    assert_true(host_is_dead(&child));
    waitpid((pid_t)child.pid, NULL, 0);
}

TEST(a_reaped_process_is_dead)
{
    struct host_process child;
    host_describe_self(&child);
    child.pid = start_true();
    waitpid((pid_t)child.pid, NULL, 0);
    assert_true(host_is_dead(&child));
}

TEST(a_process_number_that_cannot_be_is_not_called_dead)
{
    struct host_process other;
    host_describe_self(&other);
    other.pid = -1;
    assert_false(host_is_dead(&other));
    other.pid = INT64_MAX;
    assert_false(host_is_dead(&other));
}
