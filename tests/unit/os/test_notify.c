// SPDX-License-Identifier: Apache-2.0
/* The service manager's protocol, with a socket of the test's own as the manager. */
#include "os/notify.h"

#include "helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

TEST(without_a_manager_nothing_is_sent)
{
    unsetenv("NOTIFY_SOCKET");
    assert_false(notify_send("READY=1"));
}

TEST(a_name_that_is_no_socket_is_ignored)
{
    setenv("NOTIFY_SOCKET", "relative", 1);
    assert_false(notify_send("READY=1"));
    setenv("NOTIFY_SOCKET", "@", 1);
    assert_false(notify_send("READY=1"));
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    assert_false(notify_send("READY=1"));
}

TEST(the_manager_gets_the_words)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    /* Autobind: the kernel chooses an abstract name of five hex digits (unix(7)). */
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    socklen_t len = sizeof(address);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    char name[16];
    snprintf(name, sizeof(name), "@%.5s", address.sun_path + 1);
    setenv("NOTIFY_SOCKET", name, 1);
    assert_true(notify_send("READY=1\nSTATUS=serving"));
    char text[64] = "";
    assert_int_equal(recv(fd, text, sizeof(text) - 1, 0), 22);
    assert_string_equal(text, "READY=1\nSTATUS=serving");
    close(fd);
}

TEST(the_watchdog_is_fed_twice_as_often_as_it_wants)
{
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "3000000", 1);
    assert_true(notify_watchdog_ns() == 1500000000);
}

TEST(the_watchdog_of_another_process_is_not_ours)
{
    setenv("WATCHDOG_USEC", "3000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    assert_true(notify_watchdog_ns() == 0);
    char own[16];
    snprintf(own, sizeof(own), "%d", (int)getpid());
    setenv("WATCHDOG_PID", own, 1);
    assert_true(notify_watchdog_ns() == 1500000000);
}

TEST(a_watchdog_time_that_makes_no_sense_is_none)
{
    unsetenv("WATCHDOG_PID");
    static const char *const senseless[] = {"", "0", "-5", "soon", "1x", "86400000001"};
    for (size_t i = 0; i < COUNT(senseless); i++) {
        setenv("WATCHDOG_USEC", senseless[i], 1);
        assert_true(notify_watchdog_ns() == 0);
    }
    setenv("WATCHDOG_USEC", "86400000000", 1);
    assert_true(notify_watchdog_ns() > 0);
}
