// SPDX-License-Identifier: Apache-2.0
/*
 * The peer of a connection. The program starts itself as a client that confines itself first:
 * "test_os_peer free|namespace|filter PORT", or with the path of a Unix socket instead.
 */
#include "os/peer.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/** Exit code of a client that this machine does not let confine itself. */
#define CANNOT 77

/* ---- The client. ----------------------------------------------------------------------------- */

static bool confine(const char *how)
{
    if (strcmp(how, "namespace") == 0) {
        return unshare(CLONE_NEWUSER) == 0;
    }
    if (strcmp(how, "filter") == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        bool is_loaded = seccomp_rule_add(filter, SCMP_ACT_ERRNO(1), SCMP_SYS(reboot), 0) == 0 &&
                         seccomp_load(filter) == 0;
        seccomp_release(filter);
        return is_loaded;
    }
    return true;
}

static int connect_to(const char *target)
{
    struct sockaddr_storage address = {0};
    socklen_t len = 0;
    if (target[0] == '/') {
        struct sockaddr_un *name = (struct sockaddr_un *)&address;
        name->sun_family = AF_UNIX;
        snprintf(name->sun_path, sizeof(name->sun_path), "%s", target);
        len = sizeof(*name);
    } else {
        struct sockaddr_in *name = (struct sockaddr_in *)&address;
        name->sin_family = AF_INET;
        name->sin_port = htons((uint16_t)strtoul(target, NULL, 10));
        name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        len = sizeof(*name);
    }
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (struct sockaddr *)&address, len) == 0 ? fd : -1;
}

static int be_client(const char *how, const char *target)
{
    if (!confine(how)) {
        return CANNOT;
    }
    int fd = connect_to(target);
    char byte = 0;
    return fd >= 0 && read(fd, &byte, 1) >= 0 ? 0 : 1;
}

/* ---- The tests. ------------------------------------------------------------------------------ */

static int listen_on(int family, struct sockaddr_storage *ret_address)
{
    struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    socklen_t len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (family == AF_INET6) {
        ((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
    } else {
        ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    len = sizeof(*ret_address);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret_address, &len), 0);
    return fd;
}

/** Connect to ourselves. @param family of the client's socket */
static bool ask_ourselves(int listener, int family, const struct sockaddr_storage *address)
{
    int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)address, sizeof(*address)), 0);
    int server = accept(listener, NULL, NULL);
    bool is_same = peer_is_same_user(server);
    close(client);
    close(server);
    return is_same;
}

TEST(test_ourselves_are_the_same_user)
{
    const int families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_storage address;
        int listener = listen_on(families[i], &address);
        assert_true(ask_ourselves(listener, families[i], &address));
        close(listener);
    }
}

TEST(test_a_client_may_wrap_its_address)
{
    struct sockaddr_storage address;
    int listener = listen_on(AF_INET, &address);
    struct sockaddr_storage wrapped = {.ss_family = AF_INET6};
    struct sockaddr_in6 *to = (struct sockaddr_in6 *)&wrapped;
    to->sin6_port = ((struct sockaddr_in *)&address)->sin_port;
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &to->sin6_addr), 1);
    assert_true(ask_ourselves(listener, AF_INET6, &wrapped));
    close(listener);
}

TEST(test_a_peer_that_has_gone_proves_nothing)
{
    struct sockaddr_storage address;
    int listener = listen_on(AF_INET, &address);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    int server = accept(listener, NULL, NULL);
    close(client);
    assert_false(peer_is_same_user(server));
    close(server);
    assert_false(peer_is_same_user(server));
    assert_false(peer_is_same_user(listener));
    assert_false(peer_is_same_user(-1));
    close(listener);
}

TEST(test_both_ends_of_a_pair_are_ours)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(peer_is_same_user(pair[0]));
    close(pair[0]);
    close(pair[1]);
}

/** Start a client that confines itself and look at it. @return -1 when it cannot */
static int ask_about(const char *how, int listener, const char *target)
{
    char path[] = "/proc/self/exe";
    char *argv[] = {path, (char *)(uintptr_t)how, (char *)(uintptr_t)target, NULL};
    pid_t pid = -1;
    assert_int_equal(posix_spawn(&pid, path, NULL, NULL, argv, environ), 0);
    int flags = fcntl(listener, F_GETFL);
    fcntl(listener, F_SETFL, flags | O_NONBLOCK);
    int status = -1;
    int server = -1;
    while (server < 0 && waitpid(pid, &status, WNOHANG) == 0) {
        server = accept(listener, NULL, NULL);
    }
    if (server < 0) {
        assert_int_equal(WEXITSTATUS(status), CANNOT);
        return -1;
    }
    int is_same = peer_is_same_user(server);
    close(server);
    waitpid(pid, &status, 0);
    return is_same;
}

static void check_confined(int listener, const char *target)
{
    assert_int_equal(ask_about("free", listener, target), 1);
    assert_int_equal(ask_about("filter", listener, target), 0);
    int in_namespace = ask_about("namespace", listener, target);
    if (in_namespace < 0) {
        print_message("this machine has no user namespaces for us\n");
    } else {
        assert_int_equal(in_namespace, 0);
    }
}

TEST(test_confined_processes_are_not_the_same_user_over_tcp)
{
    struct sockaddr_storage address;
    int listener = listen_on(AF_INET, &address);
    char port[8];
    snprintf(port, sizeof(port), "%u", ntohs(((struct sockaddr_in *)&address)->sin_port));
    check_confined(listener, port);
    close(listener);
}

TEST(test_confined_processes_are_not_the_same_user_over_unix_sockets)
{
    char folder[] = "/tmp/rondo-peer-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/s", folder);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(listen(listener, 8), 0);
    check_confined(listener, name.sun_path);
    close(listener);
    unlink(name.sun_path);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        return be_client(argv[1], argv[2]);
    }
    return test_run(NULL, NULL);
}
