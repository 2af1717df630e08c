// SPDX-License-Identifier: Apache-2.0
/* Starting and ending an HTTP server, and its figures. */
#include "net/server/http_server.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "net/server/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_THREADS 4
static void fill_options(struct http_server_options *options)
{
    options->threads = options->threads == 0 ? DEFAULT_THREADS : options->threads;
    if (options->threads > HTTP_SERVER_THREADS) {
        options->threads = HTTP_SERVER_THREADS;
    }
    if (options->max_connections == 0) {
        options->max_connections = HTTP_SERVER_CONNECTIONS;
    }
    if (options->max_body_bytes == 0) {
        options->max_body_bytes = HTTP_SERVER_BODY_BYTES;
    }
    options->request_ns = options->request_ns == 0 ? HTTP_SERVER_REQUEST_NS : options->request_ns;
    options->idle_ns = options->idle_ns == 0 ? HTTP_SERVER_IDLE_NS : options->idle_ns;
    options->clock = options->clock == NULL ? clock_system() : options->clock;
}

static int start_all(struct http_server *server, struct rondo_error *err)
{
    int r = http_server_listen(server, err);
    for (unsigned i = 0; r == 0 && i < server->options.threads; i++) {
        struct http_worker *worker = &server->workers[i];
        worker->server = server;
        r = http_server_start_worker(worker, err);
        server->worker_count += r == 0;
    }
    return r < 0 ? r : http_server_start_keeper(server, err);
}

int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
                      struct rondo_error *err)
{
    struct http_server *server = memory_new_zero(1, sizeof(*server));
    server->options = *options;
    server->epoll_fd = -1;
    server->event_fd = -1;
    fill_options(&server->options);
    http_server_begin_deferred(server);
    LIST_INIT(&server->connections);
    pthread_mutex_init(&server->lock, NULL);
    int r = start_all(server, err);
    if (r < 0) {
        http_server_stop(server);
        return r;
    }
    *ret_server = server;
    return 0;
}

void http_server_quiesce(struct http_server *server)
{
    atomic_store(&server->is_quiescing, true);
    http_server_unlisten(server);
    pthread_mutex_lock(&server->lock);
    struct http_connection *connection = NULL;
    LIST_FOREACH(connection, &server->connections, link)
    {
        if (connection->stream != NULL) {
            http_stream_wake(connection->stream);
        }
    }
    pthread_mutex_unlock(&server->lock);
}

static void cut_all(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    struct http_connection *connection = NULL;
    LIST_FOREACH(connection, &server->connections, link)
    {
        http_server_cut(connection);
    }
    pthread_mutex_unlock(&server->lock);
}

/** What lingers, and what the keeper had. */
static void release_rest(struct http_server *server)
{
    for (size_t i = 0; i < HTTP_SERVER_LINGERING; i++) {
        if (server->lingering[i].fd > 0) {
            close(server->lingering[i].fd);
        }
    }
    if (server->epoll_fd >= 0) {
        close(server->epoll_fd);
    }
    if (server->event_fd >= 0) {
        close(server->event_fd);
    }
}

void http_server_stop(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    http_server_quiesce(server);
    http_server_end_deferred(server);
    atomic_store(&server->is_stopping, true);
    http_server_join_keeper(server);
    cut_all(server);
    for (unsigned i = 0; i < server->worker_count; i++) {
        http_server_join_worker(&server->workers[i]);
    }
    http_server_close_listeners(server);
    release_rest(server);
    pthread_mutex_destroy(&server->deferred.lock);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

struct http_server_state http_server_state(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    struct http_server_state state = {
        .connections = server->connection_count,
        .streams = atomic_load(&server->streams),
        .requests = atomic_load(&server->requests),
        .refused = server->refused,
        .cut_off = server->cut_off,
    };
    pthread_mutex_unlock(&server->lock);
    return state;
}
