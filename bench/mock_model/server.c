// SPDX-License-Identifier: Apache-2.0
/*
 * Connections of the mock model server: one epoll over the listener, a descriptor that ends it, and
 * all clients. A connection reads a request, has it answered, and sends the answer's segments with
 * the pauses between them; a heap holds the connections that wait for a time.
 */
#include "internal.h"

#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS     256
#define READ_BYTES ((size_t)64 * 1024)
/** Buffers larger than this are given back after a request. */
#define KEPT_BYTES  ((size_t)64 * 1024)
#define FILL_BYTES  ((size_t)64 * 1024)
#define SECOND_NS   INT64_C(1000000000)
#define DESCRIPTORS 65536

struct mock_connection {
    int fd;
    bool is_answering; /**< an answer is on its way */
    bool is_waiting;   /**< for its time; or for ever */
    bool wants_room;   /**< EPOLLOUT is asked for */
    bool was_continued;
    uint64_t wait; /**< number of the wait that counts */
    struct buf in;
    struct mock_output out;
    size_t sent;
    size_t segment;
    struct mock_ticket ticket;
    struct mock_connection *next; /**< of all, for the end */
    struct mock_connection *previous;
};

/** A waiting connection. Stale ones (another number) are skipped. */
struct mock_waiter {
    int64_t due_ns;
    struct mock_connection *connection;
    uint64_t wait;
};

struct mock {
    struct mock_service service;
    int epoll_fd;
    int listen_fd;
    int stop_fd;
    uint16_t port;
    bool is_over;
    struct mock_connection *connections;
    struct mock_connection *closed; /**< freed when no event can name them any more */
    struct mock_waiter *waiters;
    size_t waiter_count;
    size_t waiter_room;
    uint64_t wait_number;
    char fill[FILL_BYTES];
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* --- the heap of waits --- */

static void swap(struct mock_waiter *a, struct mock_waiter *b)
{
    struct mock_waiter held = *a;
    *a = *b;
    *b = held;
}

static void push_waiter(struct mock *mock, struct mock_waiter waiter)
{
    if (mock->waiter_count == mock->waiter_room) {
        mock->waiter_room = mock->waiter_room == 0 ? 64 : 2 * mock->waiter_room;
        mock->waiters = realloc(mock->waiters, mock->waiter_room * sizeof(struct mock_waiter));
        if (mock->waiters == NULL) {
            abort();
        }
    }
    size_t at = mock->waiter_count++;
    mock->waiters[at] = waiter;
    while (at > 0 && mock->waiters[(at - 1) / 2].due_ns > mock->waiters[at].due_ns) {
        swap(&mock->waiters[(at - 1) / 2], &mock->waiters[at]);
        at = (at - 1) / 2;
    }
}

static struct mock_waiter pop_waiter(struct mock *mock)
{
    struct mock_waiter first = mock->waiters[0];
    mock->waiters[0] = mock->waiters[--mock->waiter_count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < mock->waiter_count;
             child++) {
            least = mock->waiters[child].due_ns < mock->waiters[least].due_ns ? child : least;
        }
        if (least == at) {
            return first;
        }
        swap(&mock->waiters[at], &mock->waiters[least]);
        at = least;
    }
}

/** Forget the waits of a connection that closes, so that none names freed memory. */
static void forget_waits(struct mock *mock, const struct mock_connection *connection)
{
    for (size_t i = 0; i < mock->waiter_count; i++) {
        if (mock->waiters[i].connection == connection) {
            mock->waiters[i].connection = NULL;
        }
    }
}

/* --- connections --- */

static void connection_close(struct mock *mock, struct mock_connection *connection)
{
    if (connection->is_answering && connection->ticket.conversation != NULL &&
        !connection->out.should_close) {
        connection->ticket.conversation->abandoned++;
    }
    if (connection->is_waiting) {
        forget_waits(mock, connection);
    }
    close(connection->fd);
    connection->fd = -1;
    buf_fini(&connection->in);
    buf_fini(&connection->out.bytes);
    free(connection->out.segments);
    connection->out.segments = NULL;
    if (connection->previous != NULL) {
        connection->previous->next = connection->next;
    } else {
        mock->connections = connection->next;
    }
    if (connection->next != NULL) {
        connection->next->previous = connection->previous;
    }
    connection->next = mock->closed;
    mock->closed = connection;
}

static void free_closed(struct mock *mock)
{
    while (mock->closed != NULL) {
        struct mock_connection *next = mock->closed->next;
        free(mock->closed);
        mock->closed = next;
    }
}

static void ask_for_room(struct mock *mock, struct mock_connection *connection, bool wants_room)
{
    if (connection->wants_room == wants_room) {
        return;
    }
    connection->wants_room = wants_room;
    struct epoll_event event = {
        .events = EPOLLIN | (wants_room ? (uint32_t)EPOLLOUT : 0),
        .data.ptr = connection,
    };
    epoll_ctl(mock->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

/** Outcomes of sending. */
enum sending { SENT, BLOCKED, BROKEN };

static enum sending send_bytes(int fd, const char *bytes, size_t len, size_t *ret_sent)
{
    for (*ret_sent = 0; *ret_sent < len;) {
        ssize_t n = send(fd, bytes + *ret_sent, len - *ret_sent, MSG_NOSIGNAL);
        if (n > 0) {
            *ret_sent += (size_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else {
            return n < 0 && errno == EAGAIN ? BLOCKED : BROKEN;
        }
    }
    return SENT;
}

static enum sending send_fill(struct mock *mock, struct mock_connection *connection,
                              struct mock_segment *segment)
{
    while (segment->fill > 0) {
        size_t n = segment->fill < FILL_BYTES ? (size_t)segment->fill : FILL_BYTES;
        size_t sent = 0;
        enum sending result = send_bytes(connection->fd, mock->fill, n, &sent);
        segment->fill -= sent;
        if (result != SENT) {
            return result;
        }
    }
    return SENT;
}

static void wait_for_time(struct mock *mock, struct mock_connection *connection, int64_t delay_ns)
{
    connection->is_waiting = true;
    connection->wait = ++mock->wait_number;
    if (delay_ns != MOCK_FOREVER) {
        push_waiter(mock, (struct mock_waiter){now_ns() + delay_ns, connection, connection->wait});
    }
}

/** Send what may be sent now. SENT = the answer is out. */
static enum sending send_answer(struct mock *mock, struct mock_connection *connection)
{
    struct mock_output *out = &connection->out;
    for (; connection->segment < out->segment_count; connection->segment++) {
        struct mock_segment *segment = &out->segments[connection->segment];
        if (segment->delay_ns > 0) {
            wait_for_time(mock, connection, segment->delay_ns);
            segment->delay_ns = 0;
            return BLOCKED;
        }
        size_t sent = 0;
        enum sending result = segment->end == connection->sent
                                  ? SENT
                                  : send_bytes(connection->fd, out->bytes.data + connection->sent,
                                               segment->end - connection->sent, &sent);
        connection->sent += sent;
        result = result == SENT ? send_fill(mock, connection, segment) : result;
        if (result != SENT) {
            ask_for_room(mock, connection, result == BLOCKED);
            return result;
        }
    }
    ask_for_room(mock, connection, false);
    return SENT;
}

static void shrink(struct buf *buf)
{
    if (buf->size > KEPT_BYTES && buf->len == 0) {
        buf_fini(buf);
    }
}

static void answer_sent(struct mock_connection *connection)
{
    struct mock_output *out = &connection->out;
    if (connection->ticket.conversation != NULL && out->is_complete) {
        mock_conversation_completed(connection->ticket.conversation, connection->ticket.turn);
    }
    connection->is_answering = false;
    connection->ticket = (struct mock_ticket){0};
    connection->sent = 0;
    connection->segment = 0;
    buf_clear(&out->bytes);
    shrink(&out->bytes);
    out->segment_count = 0;
    out->is_complete = false;
}

/** Continue sending. @return false when the connection is closed */
static bool continue_answer(struct mock *mock, struct mock_connection *connection)
{
    enum sending result = send_answer(mock, connection);
    if (result == SENT) {
        answer_sent(connection);
    }
    if (result == BROKEN || (result == SENT && connection->out.should_close)) {
        connection_close(mock, connection);
        return false;
    }
    return true;
}

static void drop_front(struct buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
    shrink(buf);
}

/** Answer the requests that are there, one after the other. */
static void serve(struct mock *mock, struct mock_connection *connection)
{
    while (!connection->is_answering && connection->in.len > 0) {
        struct mock_request request;
        enum mock_reading reading =
            mock_request_read(connection->in.data, connection->in.len, &request);
        if (reading == MOCK_READ_MORE) {
            return;
        }
        if (reading == MOCK_READ_CONTINUE) {
            static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
            size_t sent = 0;
            if (!connection->was_continued) {
                send_bytes(connection->fd, go_on, sizeof(go_on) - 1, &sent);
                connection->was_continued = true;
            }
            return;
        }
        connection->is_answering = true;
        connection->was_continued = false;
        connection->out.should_close = reading == MOCK_READ_BAD || !request.is_kept_alive;
        if (reading == MOCK_READ_BAD) {
            mock_output_plain(&connection->out, 400, "text/plain", "", "bad request\n", 12);
        } else {
            mock_answer_request(&mock->service, &request, &connection->out, &connection->ticket);
            drop_front(&connection->in, request.total);
        }
        if (!continue_answer(mock, connection)) {
            return;
        }
    }
}

static void readable(struct mock *mock, struct mock_connection *connection)
{
    for (;;) {
        char *room = buf_room(&connection->in, READ_BYTES);
        ssize_t n = recv(connection->fd, room, READ_BYTES, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        if (n <= 0 || connection->in.len > MOCK_MAX_BODY + MOCK_MAX_HEAD) {
            connection_close(mock, connection);
            return;
        }
        buf_grown(&connection->in, (size_t)n);
        if ((size_t)n < READ_BYTES) {
            break;
        }
    }
    serve(mock, connection);
}

static void accept_all(struct mock *mock)
{
    for (;;) {
        int fd = accept4(mock->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct mock_connection *connection = calloc(1, sizeof(*connection));
        if (connection == NULL) {
            abort();
        }
        connection->fd = fd;
        connection->next = mock->connections;
        if (mock->connections != NULL) {
            mock->connections->previous = connection;
        }
        mock->connections = connection;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(mock->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

/* --- the server --- */

static int listen_on(struct mock *mock, uint16_t port, struct rondo_error *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(address);
    mock->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(mock->listen_fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (mock->listen_fd < 0 ||
        bind(mock->listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(mock->listen_fd, DESCRIPTORS) != 0 ||
        getsockname(mock->listen_fd, (struct sockaddr *)&address, &len) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot listen on port %u", port);
    }
    mock->port = ntohs(address.sin_port);
    mock->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    mock->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = &mock->listen_fd};
    struct epoll_event stopping = {.events = EPOLLIN, .data.ptr = &mock->stop_fd};
    if (mock->epoll_fd < 0 || mock->stop_fd < 0 ||
        epoll_ctl(mock->epoll_fd, EPOLL_CTL_ADD, mock->listen_fd, &listening) != 0 ||
        epoll_ctl(mock->epoll_fd, EPOLL_CTL_ADD, mock->stop_fd, &stopping) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot wait for connections");
    }
    return 0;
}

static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS) {
        return;
    }
    struct rlimit wanted = {DESCRIPTORS,
                            limit.rlim_max > DESCRIPTORS ? limit.rlim_max : DESCRIPTORS};
    if (setrlimit(RLIMIT_NOFILE, &wanted) != 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int read_options(struct mock *mock, const struct mock_options *options,
                        struct rondo_error *err)
{
    mock->service.options = options;
    if (options->script == NULL) {
        mock->service.script = mock_script_loop(options);
        return 0;
    }
    return mock_script_parse(options->script, strlen(options->script), &mock->service.script, err);
}

int mock_new(const struct mock_options *options, struct mock **ret_mock, struct rondo_error *err)
{
    struct mock *mock = calloc(1, sizeof(*mock));
    if (mock == NULL) {
        abort();
    }
    mock->epoll_fd = mock->listen_fd = mock->stop_fd = -1;
    memset(mock->fill, 'a', sizeof(mock->fill));
    raise_limit();
    int rc = read_options(mock, options, err);
    rc = rc < 0 ? rc : listen_on(mock, options->port, err);
    if (rc < 0) {
        mock_free(mock);
        return rc;
    }
    *ret_mock = mock;
    return 0;
}

void mock_free(struct mock *mock)
{
    if (mock == NULL) {
        return;
    }
    while (mock->connections != NULL) {
        connection_close(mock, mock->connections);
    }
    free_closed(mock);
    int fds[] = {mock->epoll_fd, mock->listen_fd, mock->stop_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    free(mock->waiters);
    mock_script_free(mock->service.script);
    mock_conversations_fini(&mock->service.conversations);
    buf_fini(&mock->service.body);
    buf_fini(&mock->service.scratch);
    free(mock);
}

uint16_t mock_port(const struct mock *mock)
{
    return mock->port;
}

/** Wake connections whose wait is over. @return milliseconds until the next one, -1 = none waits */
static int wake(struct mock *mock)
{
    int64_t now = now_ns();
    while (mock->waiter_count > 0) {
        int64_t left = mock->waiters[0].due_ns - now;
        if (left > 0) {
            return (int)((left + 999999) / 1000000 > 60000 ? 60000 : (left + 999999) / 1000000);
        }
        struct mock_waiter waiter = pop_waiter(mock);
        struct mock_connection *connection = waiter.connection;
        if (connection != NULL && connection->is_waiting && connection->wait == waiter.wait) {
            connection->is_waiting = false;
            if (continue_answer(mock, connection)) {
                serve(mock, connection);
            }
        }
    }
    return -1;
}

static void handle(struct mock *mock, const struct epoll_event *event)
{
    struct mock_connection *connection = event->data.ptr;
    if (event->data.ptr == &mock->listen_fd) {
        accept_all(mock);
    } else if (event->data.ptr == &mock->stop_fd) {
        mock->is_over = true;
    } else if (connection->fd < 0) {
        return; /* Closed by an event before. */
    } else if ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        readable(mock, connection);
    }
    bool is_client = event->data.ptr != &mock->listen_fd && event->data.ptr != &mock->stop_fd;
    if (is_client && connection->fd >= 0 && connection->is_answering && !connection->is_waiting &&
        (event->events & EPOLLOUT) != 0 && continue_answer(mock, connection)) {
        serve(mock, connection);
    }
}

void mock_run(struct mock *mock)
{
    struct epoll_event events[EVENTS];
    while (!mock->is_over) {
        int timeout = wake(mock);
        free_closed(mock);
        int count = epoll_wait(mock->epoll_fd, events, EVENTS, timeout);
        for (int i = 0; i < count; i++) {
            handle(mock, &events[i]);
        }
    }
}

void mock_stop(struct mock *mock)
{
    ssize_t n = write(mock->stop_fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)n;
}
