// SPDX-License-Identifier: Apache-2.0
/*
 * A worker: one thread that has some connections to itself. Each is read until a request is whole,
 * the handler is called, the answer is written, and so on. Whatever would block waits for an event
 * of the kernel, or for a thread that wakes the connection.
 *
 * Events are edges: `may_read` remembers that there may be more to receive. While a request is
 * handled or answered nothing is received, so a client cannot fill our memory with requests.
 */
#include "base/clock.h"
#include "base/error.h"
#include "net/server/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define EVENTS 64
/** A stream's piece begins with its size in so many bytes: four digits and a line end. */
#define CHUNK_HEAD_BYTES 6
/** Bytes of a worker's stack: the handler reads and writes JSON. */
#define STACK_BYTES ((size_t)1024 * 1024)

enum worker_step {
    STEP_AGAIN = 0, /**< there is more to do at once */
    STEP_WAIT,      /**< for an event, or until it is woken */
    STEP_CLOSE,
};

/* ---- Phases. --------------------------------------------------------------------------------- */

static void enter(struct http_connection *connection, enum http_phase phase)
{
    struct http_server *server = connection->server;
    pthread_mutex_lock(&server->lock);
    connection->phase = phase;
    connection->since_ns = clock_monotonic(server->options.clock);
    pthread_mutex_unlock(&server->lock);
}

/** @return false when the connection was cut */
static bool enter_handling(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    pthread_mutex_lock(&server->lock);
    bool is_cut = connection->is_cut;
    connection->phase = HTTP_PHASE_HANDLING;
    pthread_mutex_unlock(&server->lock);
    return !is_cut;
}

/** Answer with a problem and close. */
static enum worker_step refuse(struct http_connection *connection, unsigned status)
{
    struct http_server *server = connection->server;
    const struct http_exchange *exchange = connection->exchange;
    bool is_head = exchange != NULL && strcmp(exchange->head, "HEAD") == 0;
    pthread_mutex_lock(&server->lock);
    bool is_cut = connection->is_cut;
    connection->is_cut = true;
    connection->must_linger = true;
    pthread_mutex_unlock(&server->lock);
    if (!is_cut) {
        http_server_refuse(server, connection->fd, status, !is_head);
    }
    return STEP_CLOSE;
}

/* ---- Receiving. ------------------------------------------------------------------------------ */

static const char *input(const struct http_connection *connection, size_t *ret_len)
{
    *ret_len = connection->input.len - connection->input_at;
    return buf_string(&connection->input) + connection->input_at;
}

static void use_up(struct http_connection *connection, size_t len)
{
    connection->input_at += len;
    if (connection->input_at == connection->input.len) {
        buf_fini(&connection->input);
        connection->input_at = 0;
    }
}

/** Leave only what was not used up. */
static void close_gap(struct http_connection *connection)
{
    struct buf *buf = &connection->input;
    if (connection->input_at > 0) {
        buf->len -= connection->input_at;
        memmove(buf->data, buf->data + connection->input_at, buf->len);
        connection->input_at = 0;
    }
}

static enum worker_step receive(struct http_connection *connection)
{
    if (!connection->may_read) {
        return STEP_WAIT;
    }
    close_gap(connection);
    bool is_first = connection->input.len == 0 && connection->exchange == NULL;
    char *room = buf_room(&connection->input, HTTP_SERVER_READ_BYTES);
    ssize_t n = recv(connection->fd, room, HTTP_SERVER_READ_BYTES, 0);
    buf_grown(&connection->input, n > 0 ? (size_t)n : 0);
    if (n <= 0) {
        connection->may_read = n < 0 && errno == EINTR;
        use_up(connection, 0);
        bool is_over = n == 0 || (errno != EAGAIN && errno != EINTR);
        return is_over ? STEP_CLOSE : connection->may_read ? STEP_AGAIN : STEP_WAIT;
    }
    /* What the kernel had is here; the end of the stream has no event of its own. */
    connection->may_read = (size_t)n == HTTP_SERVER_READ_BYTES || connection->has_left;
    if (is_first) {
        enter(connection, HTTP_PHASE_REQUEST);
    }
    return STEP_AGAIN;
}

/* ---- Reading a request. ---------------------------------------------------------------------- */

/** Clients may send one empty line too much. */
static void skip_empty_line(struct http_connection *connection)
{
    size_t len;
    const char *bytes = input(connection, &len);
    if (!connection->has_skipped && connection->scanned == 0 && len >= 2 &&
        memcmp(bytes, "\r\n", 2) == 0) {
        connection->has_skipped = true;
        use_up(connection, 2);
    }
}

/** The head is longer than it may be, and the end is not in sight. */
static unsigned too_long(const char *bytes, size_t len)
{
    return memchr(bytes, '\n', len) == NULL ? 414 : 431;
}

static bool expects_word(const struct http_exchange *exchange)
{
    const char *expect = http_exchange_header(exchange, "Expect");
    return expect != NULL && !exchange->is_http_1_0 && strcasecmp(expect, "100-continue") == 0 &&
           !http_exchange_is_whole(exchange);
}

static enum worker_step begin_request(struct http_connection *connection, const char *head,
                                      size_t len)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct http_exchange *exchange = http_exchange_new(connection, head, len);
    connection->exchange = exchange;
    connection->scanned = 0;
    connection->has_skipped = false;
    use_up(connection, len);
    unsigned status = http_server_check(exchange);
    if (status != 0) {
        return refuse(connection, status);
    }
    if (expects_word(exchange) && connection->input.len == 0) {
        (void)send(connection->fd, go_on, sizeof(go_on) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return STEP_AGAIN;
}

static enum worker_step read_head(struct http_connection *connection)
{
    size_t len;
    skip_empty_line(connection);
    const char *bytes = input(connection, &len);
    if (len == 1 && *bytes == '\r' && !connection->has_skipped) {
        return receive(connection);
    }
    ssize_t head_len = http_head_find_end(bytes, len, &connection->scanned);
    if (head_len > 0) {
        return begin_request(connection, bytes, (size_t)head_len);
    }
    if (len > HTTP_SERVER_HEADER_BYTES) {
        return refuse(connection, too_long(bytes, len));
    }
    if (head_len < 0 || !http_head_begins_well(bytes, len)) {
        return refuse(connection, 400);
    }
    return receive(connection);
}

static enum worker_step read_body(struct http_connection *connection)
{
    size_t len;
    size_t used = 0;
    const char *bytes = input(connection, &len);
    unsigned status = http_exchange_take_body(connection->exchange, bytes, len, &used);
    use_up(connection, used);
    if (status != 0) {
        return refuse(connection, status);
    }
    return http_exchange_is_whole(connection->exchange) ? STEP_AGAIN : receive(connection);
}

/* ---- Answering. ------------------------------------------------------------------------------ */

static enum worker_step begin_answer(struct http_connection *connection)
{
    if (!http_server_begin_answer(connection)) {
        return refuse(connection, 500);
    }
    enter(connection, HTTP_PHASE_ANSWERING);
    return STEP_AGAIN;
}

static enum worker_step call_handler(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    struct http_exchange *exchange = connection->exchange;
    if (!enter_handling(connection)) {
        return STEP_CLOSE;
    }
    atomic_fetch_add(&server->requests, 1);
    server->options.handler(server->options.context, exchange);
    return exchange->is_deferred ? STEP_WAIT : begin_answer(connection);
}

/** The answer is sent: on to the next request, or to the end. */
static enum worker_step end_answer(struct http_connection *connection)
{
    http_server_close_stream(connection);
    http_exchange_free(connection->exchange);
    connection->exchange = NULL;
    connection->tail = NULL;
    buf_fini(&connection->output);
    connection->output_at = 0;
    bool is_more = connection->input.len > 0;
    if (connection->closes) {
        connection->must_linger = is_more || (connection->may_read && !connection->has_left);
        return STEP_CLOSE;
    }
    enter(connection, is_more ? HTTP_PHASE_REQUEST : HTTP_PHASE_KEPT);
    return STEP_AGAIN;
}

static bool has_output(const struct http_connection *connection)
{
    return connection->output_at < connection->output.len || connection->tail_len > 0;
}

static enum worker_step send_output(struct http_connection *connection)
{
    size_t left = connection->output.len - connection->output_at;
    struct iovec parts[2] = {
        {.iov_base = connection->output.data + connection->output_at, .iov_len = left},
        {.iov_base = (void *)(uintptr_t)connection->tail, .iov_len = connection->tail_len},
    };
    struct msghdr message = {.msg_iov = left > 0 ? parts : parts + 1,
                             .msg_iovlen = left > 0 ? 2 : 1};
    ssize_t n = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
        return errno == EINTR ? STEP_AGAIN : errno == EAGAIN ? STEP_WAIT : STEP_CLOSE;
    }
    atomic_fetch_add(&connection->written, (int64_t)n);
    size_t of_output = (size_t)n < left ? (size_t)n : left;
    connection->output_at += of_output;
    connection->tail += (size_t)n - of_output;
    connection->tail_len -= (size_t)n - of_output;
    if (connection->output_at == connection->output.len) {
        buf_clear(&connection->output);
        connection->output_at = 0;
    }
    return STEP_AGAIN;
}

/** @param ret_is_cut whether the end of the connection is the end of the stream */
static bool is_awake(struct http_stream *stream, bool *ret_is_cut)
{
    pthread_mutex_lock(&stream->lock);
    *ret_is_cut = stream->is_gone || atomic_load(&stream->server->is_stopping);
    bool is_asleep = stream->is_asleep;
    stream->is_woken = false;
    pthread_mutex_unlock(&stream->lock);
    return !is_asleep && !*ret_is_cut;
}

/** The source has nothing, unless it was woken meanwhile. */
static void fall_asleep(struct http_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->is_asleep = !stream->is_woken;
    pthread_mutex_unlock(&stream->lock);
}

/** Read the source once into the output, as a chunk where the client knows chunks. */
static ssize_t read_source(struct http_connection *connection)
{
    struct http_stream *stream = connection->stream;
    bool is_chunk = !connection->exchange->is_http_1_0;
    size_t head = is_chunk ? CHUNK_HEAD_BYTES : 0;
    char *room = buf_room(&connection->output, HTTP_SERVER_CHUNK_BYTES + head + 2);
    ssize_t n = stream->source.read(stream->source.context, room + head, HTTP_SERVER_CHUNK_BYTES);
    if (n > 0 && is_chunk) {
        char size[CHUNK_HEAD_BYTES + 1];
        snprintf(size, sizeof(size), "%04zx\r\n", (size_t)n & 0xffff);
        memcpy(room, size, head);
    }
    buf_grown(&connection->output, n <= 0 ? 0 : (size_t)n + head);
    buf_append(&connection->output, "\r\n", n > 0 && is_chunk ? 2 : 0);
    return n;
}

/** Get the next piece of the connection's stream. */
static enum worker_step read_stream(struct http_connection *connection)
{
    struct http_stream *stream = connection->stream;
    bool is_cut = false;
    while (is_awake(stream, &is_cut)) {
        ssize_t n = read_source(connection);
        if (n > 0) {
            return STEP_AGAIN;
        }
        if (n < 0 || atomic_load(&stream->server->is_quiescing)) {
            buf_append_string(&connection->output,
                              connection->exchange->is_http_1_0 ? "" : "0\r\n\r\n");
            http_server_close_stream(connection);
            return STEP_AGAIN;
        }
        fall_asleep(stream);
    }
    if (!is_cut) {
        buf_fini(&connection->output); /* it may sleep for long, and there are many */
    }
    return is_cut ? STEP_CLOSE : STEP_WAIT;
}

static enum worker_step write_answer(struct http_connection *connection)
{
    if (has_output(connection)) {
        return send_output(connection);
    }
    if (connection->stream == NULL) {
        return end_answer(connection);
    }
    return connection->has_left ? STEP_CLOSE : read_stream(connection);
}

/* ---- The next step of a connection. ---------------------------------------------------------- */

/** Whether the thread that the request was left to has its answer. */
static bool take_answer(struct http_connection *connection)
{
    pthread_mutex_lock(&connection->worker->lock);
    bool has_answer = connection->has_answer;
    connection->has_answer = false;
    pthread_mutex_unlock(&connection->worker->lock);
    return has_answer;
}

static enum worker_step proceed(struct http_connection *connection)
{
    switch (connection->phase) { /* only this thread changes it */
    case HTTP_PHASE_FRESH:
    case HTTP_PHASE_KEPT:
        return receive(connection);
    case HTTP_PHASE_REQUEST:
        if (connection->exchange == NULL) {
            return read_head(connection);
        }
        return http_exchange_is_whole(connection->exchange) ? call_handler(connection)
                                                            : read_body(connection);
    case HTTP_PHASE_HANDLING:
        return take_answer(connection) ? begin_answer(connection) : STEP_WAIT;
    case HTTP_PHASE_ANSWERING:
        return write_answer(connection);
    }
    return STEP_CLOSE;
}

static void end(struct http_connection *connection)
{
    struct http_worker *worker = connection->worker;
    http_server_close_stream(connection);
    http_exchange_free(connection->exchange);
    pthread_mutex_lock(&worker->lock);
    if (connection->is_woken) {
        TAILQ_REMOVE(&worker->woken, connection, woken_link);
    }
    pthread_mutex_unlock(&worker->lock);
    http_server_close(connection);
}

static void run(struct http_connection *connection)
{
    for (unsigned turns = 0; turns < HTTP_SERVER_TURNS;) {
        switch (proceed(connection)) {
        case STEP_WAIT:
            return;
        case STEP_CLOSE:
            end(connection);
            return;
        case STEP_AGAIN:
            turns += connection->phase == HTTP_PHASE_ANSWERING;
            break;
        }
    }
    http_server_wake(connection);
}

/* ---- Waking. --------------------------------------------------------------------------------- */

static void wake(struct http_connection *connection, bool has_answer)
{
    struct http_worker *worker = connection->worker;
    pthread_mutex_lock(&worker->lock);
    connection->has_answer |= has_answer;
    if (!connection->is_woken) {
        if (TAILQ_EMPTY(&worker->woken)) {
            eventfd_write(worker->event_fd, 1);
        }
        connection->is_woken = true;
        TAILQ_INSERT_TAIL(&worker->woken, connection, woken_link);
    }
    pthread_mutex_unlock(&worker->lock);
}

void http_server_wake(struct http_connection *connection)
{
    wake(connection, false);
}

void http_server_wake_with_answer(struct http_connection *connection)
{
    wake(connection, true);
}

/** Those that were woken until now; others follow in the next round. */
static void run_woken(struct http_worker *worker)
{
    eventfd_t count = 0;
    eventfd_read(worker->event_fd, &count);
    pthread_mutex_lock(&worker->lock);
    const struct http_connection *last = TAILQ_LAST(&worker->woken, http_woken_list);
    struct http_connection *connection = NULL;
    bool is_last = last == NULL;
    while (!is_last && (connection = TAILQ_FIRST(&worker->woken)) != NULL) {
        TAILQ_REMOVE(&worker->woken, connection, woken_link);
        connection->is_woken = false;
        is_last = connection == last;
        pthread_mutex_unlock(&worker->lock);
        run(connection);
        pthread_mutex_lock(&worker->lock);
    }
    bool is_more = !TAILQ_EMPTY(&worker->woken);
    pthread_mutex_unlock(&worker->lock);
    if (is_more) {
        eventfd_write(worker->event_fd, 1);
    }
}

/* ---- The thread. ----------------------------------------------------------------------------- */

/** @return whether it says that connections were woken */
static bool handle(const struct epoll_event *event)
{
    struct http_connection *connection = event->data.ptr;
    if (connection == NULL) {
        return true;
    }
    connection->may_read |= (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    connection->has_left |= (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    run(connection);
    return false;
}

static void end_all(struct http_worker *worker)
{
    struct http_server *server = worker->server;
    struct http_connection *connection = NULL;
    do {
        pthread_mutex_lock(&server->lock);
        connection = LIST_FIRST(&server->connections);
        while (connection != NULL && connection->worker != worker) {
            connection = LIST_NEXT(connection, link);
        }
        pthread_mutex_unlock(&server->lock);
        if (connection != NULL) {
            end(connection);
        }
    } while (connection != NULL);
}

static void *work(void *context)
{
    struct http_worker *worker = context;
    while (!atomic_load(&worker->server->is_stopping)) {
        struct epoll_event events[EVENTS];
        bool is_woken = false;
        int n = epoll_wait(worker->epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            is_woken |= handle(&events[i]);
        }
        if (is_woken) { /* only now: a connection may end, and no event be left of it */
            run_woken(worker);
        }
    }
    end_all(worker);
    return NULL;
}

static int start_thread(struct http_worker *worker)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int problem = pthread_create(&worker->thread, &attributes, work, worker);
    pthread_attr_destroy(&attributes);
    return problem;
}

static void release(struct http_worker *worker)
{
    if (worker->epoll_fd >= 0) {
        close(worker->epoll_fd);
    }
    if (worker->event_fd >= 0) {
        close(worker->event_fd);
    }
    pthread_mutex_destroy(&worker->lock);
}

int http_server_start_worker(struct http_worker *worker, struct rondo_error *err)
{
    TAILQ_INIT(&worker->woken);
    pthread_mutex_init(&worker->lock, NULL);
    worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int problem = 0;
    if (worker->epoll_fd < 0 || worker->event_fd < 0 ||
        epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, worker->event_fd, &event) < 0) {
        problem = errno;
    }
    problem = problem == 0 ? start_thread(worker) : problem;
    if (problem != 0) {
        release(worker);
        return error_set_errno(err, RONDO_ERR_SYSTEM, problem, "cannot start an HTTP server");
    }
    return 0;
}

void http_server_join_worker(struct http_worker *worker)
{
    eventfd_write(worker->event_fd, 1);
    pthread_join(worker->thread, NULL);
    release(worker);
}
