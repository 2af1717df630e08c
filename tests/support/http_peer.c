// SPDX-License-Identifier: Apache-2.0
/* A thread that accepts, and one for each connection. Everything shared is guarded by one mutex. */
#include "http_peer.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 30, READ_BYTES = 65536, BACKLOG = 4096 };

struct peer_script {
    TAILQ_ENTRY(peer_script) entry;
    struct peer_reply reply; /* its texts are owned */
};
TAILQ_HEAD(scripts, peer_script);

struct received_request {
    TAILQ_ENTRY(received_request) entry;
    struct peer_request request;
};
TAILQ_HEAD(asked_list, received_request);

struct peer_text {
    SLIST_ENTRY(peer_text) entry;
    char *text;
};

struct peer_connection {
    SLIST_ENTRY(peer_connection) entry;
    struct http_peer *peer;
    pthread_t thread;
    size_t number;
    int fd;
    struct buf input; /* of its own thread */
};

struct http_peer {
    int listen_fd;
    int port;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_released;
    bool is_ending;
    size_t stalled;
    size_t connection_count;
    size_t request_count;
    struct scripts scripts;
    struct peer_script *always;
    struct asked_list asked;
    SLIST_HEAD(, peer_connection) connections;
    SLIST_HEAD(, peer_text) texts;
};

/* --- texts --- */

static const char *keep_text(struct http_peer *peer, char *text)
{
    struct peer_text *kept = memory_new(sizeof(*kept));
    kept->text = text;
    pthread_mutex_lock(&peer->mutex);
    SLIST_INSERT_HEAD(&peer->texts, kept, entry);
    pthread_mutex_unlock(&peer->mutex);
    return text;
}

static struct peer_script *script_new(const struct peer_reply *reply)
{
    struct peer_script *script = memory_new_zero(1, sizeof(*script));
    script->reply = *reply;
    script->reply.len = reply->len > 0 ? reply->len : strlen(reply->bytes);
    script->reply.bytes = memory_dup_bytes(reply->bytes, script->reply.len);
    script->reply.path = memory_dup_string(reply->path);
    return script;
}

static void script_free(struct peer_script *script)
{
    if (script != NULL) {
        free((void *)(uintptr_t)script->reply.bytes);
        free((void *)(uintptr_t)script->reply.path);
        free(script);
    }
}

static struct peer_script *simple_script(int status, const char *headers, const char *body)
{
    auto_buf struct buf bytes = {0};
    buf_printf(&bytes, "HTTP/1.1 %d Scripted\r\n%sContent-Length: %zu\r\n\r\n", status,
               headers == NULL ? "" : headers, strlen(body));
    buf_append_string(&bytes, body);
    return script_new(&(struct peer_reply){.bytes = buf_string(&bytes), .len = bytes.len});
}

/* --- sending --- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static void stall(struct http_peer *peer)
{
    pthread_mutex_lock(&peer->mutex);
    peer->stalled++;
    pthread_cond_broadcast(&peer->changed);
    while (!peer->is_released && !peer->is_ending) {
        pthread_cond_wait(&peer->changed, &peer->mutex);
    }
    pthread_mutex_unlock(&peer->mutex);
}

/** Send bytes in the reply's pieces. */
static bool send_pieces(int fd, const struct peer_reply *reply, size_t from, size_t to)
{
    size_t piece = reply->piece_bytes > 0 ? reply->piece_bytes : to - from;
    while (from < to) {
        size_t len = to - from < piece ? to - from : piece;
        if (!send_all(fd, reply->bytes + from, len)) {
            return false;
        }
        from += len;
    }
    return true;
}

static bool send_reply(struct peer_connection *connection, const struct peer_reply *reply)
{
    size_t from = 0;
    bool continues = true;
    if (reply->stalls) {
        from = reply->stall_at;
        continues = send_pieces(connection->fd, reply, 0, from);
        stall(connection->peer);
    }
    continues = continues && send_pieces(connection->fd, reply, from, reply->len);
    for (size_t i = 1; i < reply->repeat && continues; i++) {
        continues = send_pieces(connection->fd, reply, reply->repeat_from, reply->len);
    }
    if (reply->cuts && reply->resets) {
        struct linger hard = {.l_onoff = 1};
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    }
    return continues && !reply->cuts;
}

/* --- reading --- */

static bool read_more(struct peer_connection *connection)
{
    char *room = buf_room(&connection->input, READ_BYTES);
    ssize_t got = recv(connection->fd, room, READ_BYTES, 0);
    if (got <= 0) {
        return false;
    }
    buf_grown(&connection->input, (size_t)got);
    return true;
}

static void drop_front(struct buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len + 1);
    buf->len -= len;
}

/** Value of a header in a block of lines; allocated. */
static char *header_value(const char *headers, const char *name)
{
    size_t name_len = strlen(name);
    for (const char *line = headers; line != NULL && *line != '\0';) {
        const char *end = strstr(line, "\r\n");
        if (strncasecmp(line, name, name_len) == 0 && line[name_len] == ':') {
            const char *value = line + name_len + 1;
            value += strspn(value, " ");
            return memory_dup_bytes(value, (size_t)(end - value));
        }
        line = end == NULL ? NULL : end + 2;
    }
    return NULL;
}

static size_t body_len_of(const char *headers)
{
    auto_free char *value = header_value(headers, "content-length");
    return value == NULL ? 0 : (size_t)strtoull(value, NULL, 10);
}

/** The first line, taken apart; the rest up to the blank line are headers. */
static void take_head(struct peer_connection *connection, size_t head_len,
                      struct peer_request *request)
{
    const char *head = connection->input.data;
    size_t method_len = strcspn(head, " ");
    const char *path = head + method_len + 1;
    const char *line_end = strstr(head, "\r\n") + 2;
    request->method = memory_dup_bytes(head, method_len);
    request->path = memory_dup_bytes(path, strcspn(path, " \r"));
    request->headers = memory_dup_bytes(line_end, head_len - 2 - (size_t)(line_end - head));
    request->connection = connection->number;
}

static void request_fini(struct peer_request *request)
{
    free(request->method);
    free(request->path);
    free(request->headers);
    free(request->body);
}

/** @return false at the end of the connection */
static bool read_request(struct peer_connection *connection, struct peer_request *request)
{
    const char *blank = NULL;
    while (blank == NULL) {
        blank = strstr(buf_string(&connection->input), "\r\n\r\n");
        if (blank == NULL && !read_more(connection)) {
            return false;
        }
    }
    size_t head_len = (size_t)(blank + 4 - connection->input.data);
    take_head(connection, head_len, request);
    drop_front(&connection->input, head_len);
    request->body_len = body_len_of(request->headers);
    while (connection->input.len < request->body_len) {
        if (!read_more(connection)) {
            return false;
        }
    }
    request->body = memory_dup_bytes(buf_string(&connection->input), request->body_len);
    if (request->body_len > 0) {
        drop_front(&connection->input, request->body_len);
    }
    return true;
}

/* --- serving --- */

static bool fits(const struct peer_script *script, const struct peer_request *request)
{
    const char *path = script->reply.path;
    return path != NULL && strncmp(request->path, path, strlen(path)) == 0;
}

/** Take the reply to a request out of the script; the mutex is held. NULL = the script is over */
static struct peer_script *take_script(struct http_peer *peer, const struct peer_request *request)
{
    struct peer_script *found = NULL;
    struct peer_script *script;
    TAILQ_FOREACH(script, &peer->scripts, entry)
    {
        if (fits(script, request)) {
            found = script;
            break;
        }
        if (found == NULL && script->reply.path == NULL) {
            found = script;
        }
    }
    if (found != NULL) {
        TAILQ_REMOVE(&peer->scripts, found, entry);
    }
    return found;
}

/** Remember a request, whose texts are taken over, and find its reply. free with script_free */
static struct peer_script *answer_to(struct http_peer *peer, const struct peer_request *request)
{
    struct received_request *asked = memory_new(sizeof(*asked));
    asked->request = *request;
    pthread_mutex_lock(&peer->mutex);
    TAILQ_INSERT_TAIL(&peer->asked, asked, entry);
    peer->request_count++;
    struct peer_script *script = take_script(peer, request);
    if (script == NULL && peer->always != NULL) {
        script = script_new(&peer->always->reply);
    }
    pthread_cond_broadcast(&peer->changed);
    pthread_mutex_unlock(&peer->mutex);
    return script != NULL ? script : simple_script(500, NULL, "the script of the peer is over");
}

static void *serve(void *argument)
{
    struct peer_connection *connection = argument;
    bool continues = true;
    while (continues) {
        struct peer_request request = {0};
        if (!read_request(connection, &request)) {
            request_fini(&request);
            break;
        }
        struct peer_script *script = answer_to(connection->peer, &request);
        continues = send_reply(connection, &script->reply);
        script_free(script);
    }
    buf_fini(&connection->input);
    pthread_mutex_lock(&connection->peer->mutex);
    close(connection->fd);
    connection->fd = -1;
    pthread_mutex_unlock(&connection->peer->mutex);
    return NULL;
}

static void *accept_all(void *argument)
{
    struct http_peer *peer = argument;
    for (;;) {
        int fd = accept4(peer->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            return NULL;
        }
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        struct peer_connection *connection = memory_new_zero(1, sizeof(*connection));
        connection->peer = peer;
        connection->fd = fd;
        pthread_mutex_lock(&peer->mutex);
        connection->number = peer->connection_count++;
        SLIST_INSERT_HEAD(&peer->connections, connection, entry);
        pthread_mutex_unlock(&peer->mutex);
        assert_int_equal(pthread_create(&connection->thread, NULL, serve, connection), 0);
    }
}

/* --- the peer --- */

static void listen_somewhere(struct http_peer *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    peer->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(peer->listen_fd >= 0);
    assert_int_equal(bind(peer->listen_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(peer->listen_fd, BACKLOG), 0);
    assert_int_equal(getsockname(peer->listen_fd, (struct sockaddr *)&address, &len), 0);
    peer->port = ntohs(address.sin_port);
}

struct http_peer *http_peer_new(void)
{
    struct http_peer *peer = memory_new_zero(1, sizeof(*peer));
    pthread_mutex_init(&peer->mutex, NULL);
    pthread_cond_init(&peer->changed, NULL);
    TAILQ_INIT(&peer->scripts);
    TAILQ_INIT(&peer->asked);
    listen_somewhere(peer);
    assert_int_equal(pthread_create(&peer->thread, NULL, accept_all, peer), 0);
    return peer;
}

static void end_connections(struct http_peer *peer)
{
    struct peer_connection *connection;
    pthread_mutex_lock(&peer->mutex);
    peer->is_ending = true;
    pthread_cond_broadcast(&peer->changed);
    SLIST_FOREACH(connection, &peer->connections, entry)
    {
        if (connection->fd >= 0) {
            shutdown(connection->fd, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&peer->mutex);
    while (!SLIST_EMPTY(&peer->connections)) {
        connection = SLIST_FIRST(&peer->connections);
        SLIST_REMOVE_HEAD(&peer->connections, entry);
        pthread_join(connection->thread, NULL);
        free(connection);
    }
}

static void free_lists(struct http_peer *peer)
{
    while (!TAILQ_EMPTY(&peer->scripts)) {
        struct peer_script *script = TAILQ_FIRST(&peer->scripts);
        TAILQ_REMOVE(&peer->scripts, script, entry);
        script_free(script);
    }
    while (!TAILQ_EMPTY(&peer->asked)) {
        struct received_request *asked = TAILQ_FIRST(&peer->asked);
        TAILQ_REMOVE(&peer->asked, asked, entry);
        request_fini(&asked->request);
        free(asked);
    }
    while (!SLIST_EMPTY(&peer->texts)) {
        struct peer_text *text = SLIST_FIRST(&peer->texts);
        SLIST_REMOVE_HEAD(&peer->texts, entry);
        free(text->text);
        free(text);
    }
    script_free(peer->always);
}

void http_peer_free(struct http_peer *peer)
{
    if (peer == NULL) {
        return;
    }
    shutdown(peer->listen_fd, SHUT_RDWR); /* wakes accept */
    pthread_join(peer->thread, NULL);
    close(peer->listen_fd);
    end_connections(peer);
    free_lists(peer);
    pthread_mutex_destroy(&peer->mutex);
    pthread_cond_destroy(&peer->changed);
    free(peer);
}

int http_peer_port(const struct http_peer *peer)
{
    return peer->port;
}

const char *http_peer_url(struct http_peer *peer, const char *path)
{
    struct buf url = {0};
    buf_printf(&url, "http://127.0.0.1:%d%s", peer->port, path);
    return keep_text(peer, buf_steal(&url));
}

static void add_script(struct http_peer *peer, struct peer_script *script)
{
    pthread_mutex_lock(&peer->mutex);
    TAILQ_INSERT_TAIL(&peer->scripts, script, entry);
    pthread_mutex_unlock(&peer->mutex);
}

void http_peer_reply(struct http_peer *peer, int status, const char *headers, const char *body)
{
    add_script(peer, simple_script(status, headers, body));
}

void http_peer_reply_raw(struct http_peer *peer, const struct peer_reply *reply)
{
    add_script(peer, script_new(reply));
}

void http_peer_always(struct http_peer *peer, int status, const char *headers, const char *body)
{
    struct peer_script *script = simple_script(status, headers, body);
    pthread_mutex_lock(&peer->mutex);
    struct peer_script *before = peer->always;
    peer->always = script;
    pthread_mutex_unlock(&peer->mutex);
    script_free(before);
}

void http_peer_release(struct http_peer *peer)
{
    pthread_mutex_lock(&peer->mutex);
    peer->is_released = true;
    pthread_cond_broadcast(&peer->changed);
    pthread_mutex_unlock(&peer->mutex);
}

/* --- what was asked --- */

/** Wait until a counter of the peer reaches a value. */
static void wait_counter(struct http_peer *peer, const size_t *counter, size_t count,
                         const char *what)
{
    struct timespec until;
    int r = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&peer->mutex);
    while (*counter < count && r == 0) {
        r = pthread_cond_timedwait(&peer->changed, &peer->mutex, &until);
    }
    size_t reached = *counter;
    pthread_mutex_unlock(&peer->mutex);
    if (reached < count) {
        fail_msg("the peer waited for %zu %s and saw %zu", count, what, reached);
    }
}

static size_t counter_of(struct http_peer *peer, const size_t *counter)
{
    pthread_mutex_lock(&peer->mutex);
    size_t count = *counter;
    pthread_mutex_unlock(&peer->mutex);
    return count;
}

size_t http_peer_request_count(struct http_peer *peer)
{
    return counter_of(peer, &peer->request_count);
}

size_t http_peer_connection_count(struct http_peer *peer)
{
    return counter_of(peer, &peer->connection_count);
}

void http_peer_wait_requests(struct http_peer *peer, size_t count)
{
    wait_counter(peer, &peer->request_count, count, "requests");
}

void http_peer_wait_stalled(struct http_peer *peer, size_t count)
{
    wait_counter(peer, &peer->stalled, count, "stalled replies");
}

const struct peer_request *http_peer_request(struct http_peer *peer, size_t number)
{
    const struct peer_request *found = NULL;
    struct received_request *asked;
    size_t i = 0;
    pthread_mutex_lock(&peer->mutex);
    TAILQ_FOREACH(asked, &peer->asked, entry)
    {
        if (i++ == number) {
            found = &asked->request;
        }
    }
    pthread_mutex_unlock(&peer->mutex);
    if (found == NULL) {
        fail_msg("the peer has no request %zu", number);
    }
    return found;
}

const char *http_peer_header(struct http_peer *peer, const struct peer_request *request,
                             const char *name)
{
    char *value = header_value(request->headers, name);
    return value == NULL ? NULL : keep_text(peer, value);
}
