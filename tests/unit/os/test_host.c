// SPDX-License-Identifier: Apache-2.0
#include "os/host.h"

#include "helper.h"

#include <spawn.h>
#include <sys/wait.h>

static void this_process_is_described(void **state)
{
    (void)state;
    struct host_process self;
    host_describe_self(&self);
    assert_int_equal(self.pid, getpid());
    assert_int_not_equal(self.started, 0);
    assert_int_not_equal(self.pid_space, 0);
    assert_int_equal(strlen(self.boot_id), 36);
}

static void this_process_is_not_dead(void **state)
{
    (void)state;
    struct host_process self;
    host_describe_self(&self);
    assert_false(host_is_dead(&self));
}

static void a_process_with_our_number_but_another_start_is_dead(void **state)
{
    (void)state;
    struct host_process other;
    host_describe_self(&other);
    other.started--;
    assert_true(host_is_dead(&other));
}

static void a_process_of_another_boot_is_never_called_dead(void **state)
{
    (void)state;
    struct host_process other;
    host_describe_self(&other);
    other.started--;
    other.boot_id[0] = other.boot_id[0] == '0' ? '1' : '0';
    assert_false(host_is_dead(&other));
}

static void a_process_of_another_pid_space_is_never_called_dead(void **state)
{
    (void)state;
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

static void a_zombie_is_dead(void **state)
{
    (void)state;
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

static void a_reaped_process_is_dead(void **state)
{
    (void)state;
    struct host_process child;
    host_describe_self(&child);
    child.pid = start_true();
    waitpid((pid_t)child.pid, NULL, 0);
    assert_true(host_is_dead(&child));
}

static void a_process_number_that_cannot_be_is_not_called_dead(void **state)
{
    (void)state;
    struct host_process other;
    host_describe_self(&other);
    other.pid = -1;
    assert_false(host_is_dead(&other));
    other.pid = INT64_MAX;
    assert_false(host_is_dead(&other));
}

static void memory_in_use_is_known_and_not_above_its_peak(void **state)
{
    (void)state;
    uint64_t now = host_memory_now();
    assert_true(now > 0);
    assert_true(host_memory_peak() >= now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_described),
        cmocka_unit_test(this_process_is_not_dead),
        cmocka_unit_test(a_process_with_our_number_but_another_start_is_dead),
        cmocka_unit_test(a_process_of_another_boot_is_never_called_dead),
        cmocka_unit_test(a_process_of_another_pid_space_is_never_called_dead),
        cmocka_unit_test(a_zombie_is_dead),
        cmocka_unit_test(a_reaped_process_is_dead),
        cmocka_unit_test(a_process_number_that_cannot_be_is_not_called_dead),
        cmocka_unit_test(memory_in_use_is_known_and_not_above_its_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
