// SPDX-License-Identifier: Apache-2.0
/*
 * Listeners: TCP over IPv4 and IPv6, and Unix sockets that only their owner may use.
 *
 * all opens: the server's Unix socket, where its operator configures it; only a socket is removed.
 */
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "net/server/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"
#define BACKLOG     512

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
    }
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        return IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) != 0;
    }
    return address->ss_family == AF_UNIX;
}

/** "127.0.0.1:80", "[::1]:80"; "unix" for what has no port. */
static void address_text(const struct sockaddr_storage *address, char *ret_text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(ret_text, size, "%s:%u", host, (unsigned)ntohs(in->sin_port));
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(ret_text, size, "[%s]:%u", host, (unsigned)ntohs(in->sin6_port));
    } else {
        snprintf(ret_text, size, "unix");
    }
}

void http_server_describe_peer(const struct sockaddr_storage *address, struct http_remote *ret_peer)
{
    *ret_peer = (struct http_remote){.is_loopback = is_loopback(address)};
    address_text(address, ret_peer->text, sizeof(ret_peer->text));
}

static int fail_listen(const char *address, int os_errno, struct rondo_error *err)
{
    int r = os_errno == EADDRINUSE ? RONDO_ERR_BUSY : RONDO_ERR_SYSTEM;
    return error_set_errno(err, r, os_errno, "cannot listen on %s", address);
}

/** Split "HOST:PORT" or "[V6]:PORT". */
static bool split(const char *address, char *ret_host, size_t size, const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon[1] == '\0') {
        return false;
    }
    const char *from = address;
    size_t len = (size_t)(colon - address);
    if (*from == '[' && len > 2 && from[len - 1] == ']') {
        from++;
        len -= 2;
    } else if (memchr(from, ':', len) != NULL) {
        return false;
    }
    if (len == 0 || len >= size) {
        return false;
    }
    memcpy(ret_host, from, len);
    ret_host[len] = '\0';
    *ret_port = colon + 1;
    return true;
}

static int look_up(const char *address, struct addrinfo **ret_info, struct rondo_error *err)
{
    char host[256];
    const char *port = NULL;
    int64_t number;
    if (!split(address, host, sizeof(host), &port) ||
        parse_int(port, 0, UINT16_MAX, &number, NULL) < 0) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s is not a valid listen address (HOST:PORT, [V6]:PORT or unix:PATH)",
                         address);
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int r = getaddrinfo(host, port, &hints, ret_info);
    if (r != 0) {
        return error_set(err, RONDO_ERR_INVALID, "cannot find %s: %s", address, gai_strerror(r));
    }
    return 0;
}

static int bind_tcp(const struct addrinfo *info)
{
    auto_close int fd =
        socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    int on = 1;
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* Connections inherit it: an event of a stream waits for no acknowledgement of the last one. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (info->ai_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    }
    if (bind(fd, info->ai_addr, info->ai_addrlen) < 0) {
        return -1;
    }
    return steal_fd(&fd);
}

static int listen_tcp(const char *address, struct http_listener *ret_listener,
                      struct rondo_error *err)
{
    struct addrinfo *info = NULL;
    int r = look_up(address, &info, err);
    if (r < 0) {
        return r;
    }
    auto_close int fd = bind_tcp(info);
    int os_errno = errno;
    freeaddrinfo(info);
    if (fd < 0) {
        return fail_listen(address, os_errno, err);
    }
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof(bound);
    getsockname(fd, (struct sockaddr *)&bound, &len);
    address_text(&bound, ret_listener->address, sizeof(ret_listener->address));
    ret_listener->fd = steal_fd(&fd);
    return 0;
}

/** Remove a socket file that nobody listens on. @return whether somebody does */
static bool is_in_use(const struct sockaddr_un *name)
{
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat status;
    if (fd < 0 || lstat(name->sun_path, &status) < 0) {
        return false;
    }
    if (!S_ISSOCK(status.st_mode)) {
        return true;
    }
    int r = connect(fd, (const struct sockaddr *)name, sizeof(*name));
    if (r < 0 && errno == ECONNREFUSED) {
        unlink(name->sun_path);
        return false;
    }
    return true;
}

static int bind_unix(const struct sockaddr_un *name)
{
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* Before bind: the file never has another mode. */
    if (fd < 0 || fchmod(fd, 0600) < 0 ||
        bind(fd, (const struct sockaddr *)name, sizeof(*name)) < 0) {
        return -1;
    }
    return steal_fd(&fd);
}

static int listen_unix(const char *address, struct http_listener *ret_listener,
                       struct rondo_error *err)
{
    const char *path = address + strlen(UNIX_PREFIX);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof(name.sun_path)) {
        return error_set(err, RONDO_ERR_INVALID, "the path of %s must have 1 to %zu bytes", address,
                         sizeof(name.sun_path) - 1);
    }
    memcpy(name.sun_path, path, strlen(path) + 1);
    if (is_in_use(&name)) {
        return fail_listen(address, EADDRINUSE, err);
    }
    auto_close int fd = bind_unix(&name);
    struct stat status;
    if (fd < 0 || lstat(path, &status) < 0) {
        return fail_listen(address, errno, err);
    }
    snprintf(ret_listener->address, sizeof(ret_listener->address), "%s", address);
    ret_listener->path = memory_dup_string(path);
    ret_listener->device = status.st_dev;
    ret_listener->inode = status.st_ino;
    ret_listener->fd = steal_fd(&fd);
    return 0;
}

static int listen_on(const char *address, struct http_listener *ret_listener,
                     struct rondo_error *err)
{
    bool is_unix = strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
    int r =
        is_unix ? listen_unix(address, ret_listener, err) : listen_tcp(address, ret_listener, err);
    if (r < 0) {
        return r;
    }
    int bytes = HTTP_SERVER_SEND_BYTES; /* connections inherit it */
    setsockopt(ret_listener->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    if (listen(ret_listener->fd, BACKLOG) < 0) {
        return fail_listen(address, errno, err);
    }
    return 0;
}

int http_server_listen(struct http_server *server, struct rondo_error *err)
{
    const char *const *listen = server->options.listen;
    for (size_t i = 0; listen[i] != NULL; i++) {
        if (i == HTTP_SERVER_LISTENERS) {
            return error_set(err, RONDO_ERR_LIMIT, "more than %d addresses to listen on",
                             HTTP_SERVER_LISTENERS);
        }
        struct http_listener *listener = &server->listeners[i];
        *listener = (struct http_listener){.fd = -1};
        server->listener_count = i + 1;
        int r = listen_on(listen[i], listener, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

void http_server_unlisten(struct http_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        shutdown(server->listeners[i].fd, SHUT_RDWR);
    }
}

/** Remove the file of a Unix socket, if it is ours still. */
static void remove_file(const struct http_listener *listener)
{
    struct stat status;
    if (listener->path != NULL && lstat(listener->path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode) {
        unlink(listener->path);
    }
}

void http_server_close_listeners(struct http_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        struct http_listener *listener = &server->listeners[i];
        if (listener->fd >= 0) {
            close(listener->fd);
        }
        remove_file(listener);
        free(listener->path);
    }
}

const char *http_server_address(const struct http_server *server, size_t index)
{
    return index < server->listener_count ? server->listeners[index].address : NULL;
}
