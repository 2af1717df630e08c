// SPDX-License-Identifier: Apache-2.0
#include "os/host.h"

#include "base/auto.h"
#include "helper.h"

#include <pwd.h>
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

TEST(a_user_has_a_name_or_a_number)
{
    char name[HOST_USER_SIZE];
    assert_true(host_user_name(0, name, sizeof(name)));
    assert_string_equal(name, "root");
    uid_t unknown = 4000000000;
    while (getpwuid(unknown) != NULL) {
        unknown--;
    }
    char number[24];
    snprintf(number, sizeof(number), "%lu", (unsigned long)unknown);
    assert_false(host_user_name(unknown, name, sizeof(name)));
    assert_string_equal(name, number);
}

TEST(a_name_that_has_no_room_is_not_cut_off)
{
    char name[5];
    assert_true(host_user_name(0, name, 5));
    assert_string_equal(name, "root");
    assert_false(host_user_name(0, name, 4));
    assert_string_equal(name, "0");
}

TEST(the_cache_is_below_the_home_folder_or_where_xdg_says)
{
    auto_free char *home = getenv("HOME") == NULL ? NULL : strdup(getenv("HOME"));
    auto_free char *before =
        getenv("XDG_CACHE_HOME") == NULL ? NULL : strdup(getenv("XDG_CACHE_HOME"));
    setenv("HOME", "/somewhere", 1);
    unsetenv("XDG_CACHE_HOME");
    auto_free char *below = host_cache();
    assert_string_equal(below, "/somewhere/.cache");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    auto_free char *ignored = host_cache();
    assert_string_equal(ignored, "/somewhere/.cache");
    setenv("XDG_CACHE_HOME", "/else/where", 1);
    auto_free char *given = host_cache();
    assert_string_equal(given, "/else/where");
    home == NULL ? unsetenv("HOME") : setenv("HOME", home, 1);
    before == NULL ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before, 1);
}

TEST(the_home_folder_is_an_absolute_path)
{
    auto_free char *before = getenv("HOME") == NULL ? NULL : strdup(getenv("HOME"));
    setenv("HOME", "/somewhere", 1);
    auto_free char *given = host_home();
    assert_string_equal(given, "/somewhere");
    setenv("HOME", "not/absolute", 1);
    const struct passwd *entry = getpwuid(geteuid());
    auto_free char *known = host_home();
    if (entry == NULL || entry->pw_dir[0] != '/') {
        assert_null(known);
    } else {
        assert_string_equal(known, entry->pw_dir);
    }
    before == NULL ? unsetenv("HOME") : setenv("HOME", before, 1);
}
