// SPDX-License-Identifier: Apache-2.0
/*
 * The keeper: accepts, refuses what is too much, and watches the clock. Deadlines count from the
 * first byte of a request, so a client that trickles gains nothing. What has come and was not read
 * yet is the server's delay, not the client's.
 *
 * Progress of an answer is what was given to the kernel less what the kernel still holds.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "net/server/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define EVENTS          64
#define ACCEPTS_AT_ONCE 64
#define MIN_TICK_NS     (5 * NS_PER_MS)
#define MAX_TICK_NS     (250 * NS_PER_MS)

/** What an event is about; the upper byte of its data. */
enum keeper_event {
    EVENT_LISTENER = 0,
    EVENT_WAKE,
    EVENT_LINGERING,
};

static uint64_t event_data(enum keeper_event kind, int number)
{
    return (uint64_t)kind << 56 | (uint32_t)number;
}

/* ---- The table of connections; under the server's lock. -------------------------------------- */

static struct http_worker *least_busy(struct http_server *server)
{
    struct http_worker *worker = &server->workers[0];
    for (unsigned i = 1; i < server->worker_count; i++) {
        if (server->workers[i].connections < worker->connections) {
            worker = &server->workers[i];
        }
    }
    return worker;
}

static struct http_connection *remember(struct http_server *server, int fd,
                                        const struct sockaddr_storage *address)
{
    struct http_connection *connection = memory_new_zero(1, sizeof(*connection));
    connection->server = server;
    connection->worker = least_busy(server);
    connection->worker->connections++;
    connection->fd = fd;
    connection->since_ns = clock_monotonic(server->options.clock);
    http_server_describe_peer(address, &connection->peer);
    server->connection_count++;
    LIST_INSERT_HEAD(&server->connections, connection, link);
    return connection;
}

static void forget(struct http_connection *connection)
{
    LIST_REMOVE(connection, link);
    connection->server->connection_count--;
    connection->worker->connections--;
    buf_fini(&connection->input);
    buf_fini(&connection->output);
    free(connection);
}

void http_server_cut(struct http_connection *connection)
{
    connection->is_cut = true;
    shutdown(connection->fd, SHUT_RDWR);
    if (connection->stream != NULL) {
        http_server_end_stream(connection->stream);
    }
}

/* ---- Refused connections, whose clients may be sending still. -------------------------------- */

/** @param fd taken; closed at once when there are too many */
static void linger(struct http_server *server, int fd)
{
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < HTTP_SERVER_LINGERING; i++) {
        struct http_lingering *lingering = &server->lingering[i];
        if (lingering->fd >= 0) {
            continue;
        }
        struct epoll_event event = {
            .events = EPOLLIN | EPOLLRDHUP,
            .data.u64 = event_data(EVENT_LINGERING, i),
        };
        if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
            break;
        }
        lingering->fd = fd;
        lingering->until_ns = clock_monotonic(server->options.clock) + HTTP_SERVER_LINGER_NS;
        return;
    }
    close(fd);
}

static void drop_lingering(struct http_lingering *lingering)
{
    close(lingering->fd);
    lingering->fd = -1;
}

/** Take what the client still sends. */
static void drain(struct http_server *server, size_t index)
{
    char bytes[16 * 1024];
    pthread_mutex_lock(&server->lock);
    struct http_lingering *lingering = &server->lingering[index];
    if (lingering->fd >= 0) {
        ssize_t n = recv(lingering->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            drop_lingering(lingering);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

void http_server_close(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    int fd = connection->fd;
    pthread_mutex_lock(&server->lock);
    bool must_linger = connection->must_linger;
    epoll_ctl(connection->worker->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    forget(connection);
    if (must_linger) {
        linger(server, fd);
    } else {
        close(fd);
    }
    pthread_mutex_unlock(&server->lock);
}

/* ---- Accepting. ------------------------------------------------------------------------------ */

static void refuse_connection(struct http_server *server, int fd)
{
    server->refused++;
    http_server_refuse(server, fd, 503, true);
    linger(server, fd);
}

static void admit(struct http_server *server, int fd, const struct sockaddr_storage *address)
{
    bool has_room = http_server_has_room(server, fd, address);
    pthread_mutex_lock(&server->lock);
    if (!has_room || atomic_load(&server->is_quiescing)) {
        refuse_connection(server, fd);
        pthread_mutex_unlock(&server->lock);
        return;
    }
    struct http_connection *connection = remember(server, fd, address);
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.ptr = connection,
    };
    if (epoll_ctl(connection->worker->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        forget(connection);
        close(fd);
    }
    pthread_mutex_unlock(&server->lock);
}

static void listen_again(struct http_server *server, uint32_t events)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        struct epoll_event event = {
            .events = events,
            .data.u64 = event_data(EVENT_LISTENER, (int)i),
        };
        epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, server->listeners[i].fd, &event);
    }
}

/** @return false when descriptors or memory have run out: pause */
static bool accept_some(struct http_server *server, size_t index)
{
    int listener = server->listeners[index].fd;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage address = {0};
        socklen_t len = sizeof(address);
        int fd = accept4(listener, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(server, fd, &address);
        } else if (errno == EINVAL) { /* it listens no more */
            epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, listener, NULL);
            return true;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return errno == EAGAIN;
        }
    }
    return true;
}

/* ---- The clock. ------------------------------------------------------------------------------ */

static int64_t tick_ns(const struct http_server_options *options)
{
    int64_t least = options->request_ns < options->idle_ns ? options->request_ns : options->idle_ns;
    int64_t quarter = least / 4;
    return quarter < MIN_TICK_NS ? MIN_TICK_NS : quarter > MAX_TICK_NS ? MAX_TICK_NS : quarter;
}

/** Nothing, or no whole request, came in time: its worker writes nothing. */
static void time_out(struct http_connection *connection, bool with_answer)
{
    struct http_server *server = connection->server;
    if (with_answer) {
        server->cut_off++;
        connection->must_linger = true;
        http_server_refuse(server, connection->fd, 408, true);
    }
    http_server_cut(connection);
}

static void check_sending(struct http_connection *connection, int64_t now)
{
    int held = 0;
    if (ioctl(connection->fd, SIOCOUTQ, &held) < 0) {
        return;
    }
    int64_t taken = atomic_load(&connection->written) - held;
    if (held == 0 || taken > connection->taken) {
        connection->taken = taken;
        connection->since_ns = now;
    } else if (now - connection->since_ns > connection->server->options.idle_ns) {
        connection->server->cut_off++;
        http_server_cut(connection);
    }
}

/** Whether the client waits for us: bytes of it lie in the kernel. */
static bool is_unread(const struct http_connection *connection)
{
    int waiting = 0;
    return ioctl(connection->fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

static void check_timeouts(struct http_connection *connection, int64_t now)
{
    const struct http_server_options *options = &connection->server->options;
    int64_t waited_ns = now - connection->since_ns;
    switch (connection->phase) {
    case HTTP_PHASE_FRESH:
        if (waited_ns > options->request_ns && !is_unread(connection)) {
            time_out(connection, false);
        }
        break;
    case HTTP_PHASE_REQUEST:
        if (waited_ns > options->request_ns && !is_unread(connection)) {
            time_out(connection, true);
        }
        break;
    case HTTP_PHASE_KEPT:
        if (waited_ns > options->idle_ns && !is_unread(connection)) {
            time_out(connection, false);
        }
        break;
    case HTTP_PHASE_ANSWERING:
        check_sending(connection, now);
        break;
    case HTTP_PHASE_HANDLING:
        break;
    }
}

/** @return whether there is anything to look at again */
static bool tick(struct http_server *server)
{
    int64_t now = clock_monotonic(server->options.clock);
    pthread_mutex_lock(&server->lock);
    struct http_connection *connection = NULL;
    LIST_FOREACH(connection, &server->connections, link)
    {
        if (!connection->is_cut) {
            check_timeouts(connection, now);
        }
    }
    bool is_busy = !LIST_EMPTY(&server->connections);
    for (size_t i = 0; i < HTTP_SERVER_LINGERING; i++) {
        struct http_lingering *lingering = &server->lingering[i];
        if (lingering->fd >= 0 && now > lingering->until_ns) {
            drop_lingering(lingering);
        }
        is_busy |= lingering->fd >= 0;
    }
    pthread_mutex_unlock(&server->lock);
    return is_busy;
}

/* ---- The thread. ----------------------------------------------------------------------------- */

/** @return false when accepting has to pause */
static bool handle(struct http_server *server, const struct epoll_event *event)
{
    uint64_t data = event->data.u64;
    int number = (int)(uint32_t)data;
    eventfd_t count = 0;
    switch ((enum keeper_event)(data >> 56)) {
    case EVENT_LISTENER:
        return accept_some(server, (size_t)number);
    case EVENT_WAKE:
        eventfd_read(server->event_fd, &count);
        break;
    case EVENT_LINGERING:
        drain(server, (size_t)number);
        break;
    }
    return true;
}

static void *keep(void *context)
{
    struct http_server *server = context;
    const int64_t every_ns = tick_ns(&server->options);
    int64_t next_ns = 0;
    bool is_busy = false;
    bool is_paused = false;
    while (!atomic_load(&server->is_stopping)) {
        struct epoll_event events[EVENTS];
        int wait_ms = is_busy || is_paused ? (int)(every_ns / NS_PER_MS) : -1;
        int n = epoll_wait(server->epoll_fd, events, EVENTS, wait_ms);
        for (int i = 0; i < n; i++) {
            if (!handle(server, &events[i]) && !is_paused) {
                is_paused = true;
                listen_again(server, 0);
            }
        }
        int64_t now = clock_monotonic(server->options.clock);
        if (now >= next_ns) {
            next_ns = now + every_ns;
            is_busy = tick(server);
            if (is_paused && !atomic_load(&server->is_quiescing)) {
                is_paused = false;
                listen_again(server, EPOLLIN);
            }
        } else {
            is_busy = true;
        }
    }
    return NULL;
}

static int watch_all(struct http_server *server, struct rondo_error *err)
{
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = event_data(EVENT_WAKE, 0)};
    if (server->epoll_fd < 0 || server->event_fd < 0 ||
        epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->event_fd, &event) < 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot serve HTTP");
    }
    for (size_t i = 0; i < server->listener_count; i++) {
        event.data.u64 = event_data(EVENT_LISTENER, (int)i);
        if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->listeners[i].fd, &event) < 0) {
            return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot serve HTTP");
        }
    }
    return 0;
}

int http_server_start_keeper(struct http_server *server, struct rondo_error *err)
{
    for (size_t i = 0; i < HTTP_SERVER_LINGERING; i++) {
        server->lingering[i].fd = -1;
    }
    int r = watch_all(server, err);
    if (r < 0) {
        return r;
    }
    int problem = pthread_create(&server->keeper, NULL, keep, server);
    if (problem != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, problem, "cannot start a thread");
    }
    server->has_keeper = true;
    return 0;
}

void http_server_join_keeper(struct http_server *server)
{
    if (server->has_keeper) {
        eventfd_write(server->event_fd, 1);
        pthread_join(server->keeper, NULL);
    }
    server->has_keeper = false;
}
