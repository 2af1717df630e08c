// SPDX-License-Identifier: Apache-2.0
/* Connections of others never lock the owner out: other users, other addresses, sandboxed ones. */
#include "http_server_world.h"
#include "net/server/internal.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PLACES   64
#define SHARE    (PLACES / HTTP_SERVER_PEER_SHARE)
#define RESERVED (PLACES / HTTP_SERVER_RESERVED_SHARE)
#define ATTEMPTS (2 * PLACES)

static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/** A process that holds connections. */
struct peer_process {
    pid_t pid;
};

/** What makes a process another one than its parent. @return whether it could */
typedef bool become_fn(unsigned number);

static bool become_user(unsigned number)
{
    return setuid(60000 + number) == 0;
}

/** Same user, but with a filter that its parent has not, as in our sandboxes. */
static bool become_confined(unsigned number)
{
    (void)number;
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = 1, .filter = allow};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/** Connect from one of the loopback's addresses. */
static int connect_from(const char *address, unsigned number)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number % 200);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_connected = bind(fd, (const struct sockaddr *)&from, sizeof(from)) == 0 &&
                        connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
    return is_connected ? fd : -1;
}

/** Hold as many connections as are given, each from another address, until it is dissolved. */
static struct peer_process gather(const struct http_server_world *world, become_fn *become,
                                  unsigned number)
{
    int ready[2];
    char byte = 0;
    struct peer_process crowd = {0};
    assert_int_equal(pipe(ready), 0);
    crowd.pid = fork();
    if (crowd.pid == 0) {
        bool has_become = become(number);
        for (unsigned i = 0; has_become && i < ATTEMPTS; i++) {
            connect_from(world->address, i);
        }
        byte = has_become;
        while (write(ready[1], &byte, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(byte, 1);
    return crowd;
}

static void dissolve(struct peer_process *crowd)
{
    kill(crowd->pid, SIGKILL);
    waitpid(crowd->pid, NULL, 0);
}

static struct http_server_world begin_small(void)
{
    return begin_with((struct http_server_options){.max_connections = PLACES});
}

/** All that were tried are settled: let in or refused. */
static void settle(const struct http_server_world *world, uint64_t tried)
{
    int64_t deadline = clock_monotonic(clock_system()) + HTTP_RAW_PATIENCE_NS;
    struct http_server_state state = http_server_state(world->server);
    while (state.connections + state.refused < tried) {
        assert_true(clock_monotonic(clock_system()) < deadline);
        clock_sleep(clock_system(), MS, NULL);
        state = http_server_state(world->server);
    }
}

TEST(another_user_gets_a_share_whatever_its_addresses)
{
    if (geteuid() != 0) {
        print_message("only root can become another user\n");
        skip();
    }
    struct http_server_world world = begin_small();
    struct peer_process crowd = gather(&world, become_user, 1);
    settle(&world, ATTEMPTS);
    assert_int_equal(http_server_state(world.server).connections, SHARE);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask(&world, request), 200);
    }
    dissolve(&crowd);
    end(&world);
}

TEST(all_other_users_together_leave_places_to_the_owner)
{
    if (geteuid() != 0) {
        print_message("only root can become other users\n");
        skip();
    }
    struct http_server_world world = begin_small();
    struct peer_process crowds[HTTP_SERVER_PEER_SHARE + 2];
    const size_t count = COUNT(crowds);
    for (size_t i = 0; i < count; i++) {
        crowds[i] = gather(&world, become_user, (unsigned)i);
    }
    settle(&world, count * ATTEMPTS);
    assert_int_equal(http_server_state(world.server).connections, PLACES - RESERVED);
    assert_int_equal(ask(&world, request), 200);
    for (size_t i = 0; i < count; i++) {
        dissolve(&crowds[i]);
    }
    end(&world);
}

TEST(sandboxed_commands_of_the_owner_leave_places_too)
{
    struct http_server_world world = begin_small();
    struct peer_process crowd = gather(&world, become_confined, 0);
    settle(&world, ATTEMPTS);
    assert_int_equal(http_server_state(world.server).connections, PLACES - RESERVED);
    assert_int_equal(ask(&world, request), 200);
    dissolve(&crowd);
    wait_for_state(world.server, connections, 0);
    end(&world);
}

TEST(the_owner_may_take_every_place)
{
    struct http_server_world world = begin_small();
    int fds[PLACES];
    for (size_t i = 0; i < PLACES; i++) {
        fds[i] = http_raw_connect(world.address);
    }
    settle(&world, PLACES);
    assert_int_equal(http_server_state(world.server).connections, PLACES);
    assert_int_equal(ask(&world, request), 503);
    for (size_t i = 0; i < PLACES; i++) {
        close(fds[i]);
    }
    end(&world);
}
