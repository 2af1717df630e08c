// SPDX-License-Identifier: Apache-2.0
/*
 * Requests that take long run on threads of their own, so that the workers keep serving all
 * others. Their connections wait meanwhile; when the answer is there they are woken, and the worker
 * sends it.
 *
 * The threads come with the requests, up to a limit, and stay; more requests wait for one.
 */
#include "base/memory.h"
#include "net/server/internal.h"

#include <assert.h>

#define STACK_BYTES ((size_t)1024 * 1024)

static void run(struct http_exchange *exchange)
{
    struct http_connection *connection = exchange->connection;
    exchange->work(exchange->work_context, exchange);
    http_server_wake_with_answer(connection);
}

static void *work(void *context)
{
    struct http_server *server = context;
    struct http_deferred *deferred = &server->deferred;
    pthread_mutex_lock(&deferred->lock);
    for (;;) {
        struct http_exchange *exchange = STAILQ_FIRST(&deferred->waiting);
        if (exchange != NULL) {
            STAILQ_REMOVE_HEAD(&deferred->waiting, waiting_link);
            deferred->waiting_count--;
            pthread_mutex_unlock(&deferred->lock);
            run(exchange);
            pthread_mutex_lock(&deferred->lock);
        } else if (deferred->is_closed) {
            break;
        } else {
            deferred->idle++;
            pthread_cond_wait(&deferred->changed, &deferred->lock);
            deferred->idle--;
        }
    }
    pthread_mutex_unlock(&deferred->lock);
    return NULL;
}

/** Under the lock. @return whether there is a thread at all */
static bool have_thread(struct http_server *server)
{
    struct http_deferred *deferred = &server->deferred;
    if (deferred->waiting_count < deferred->idle ||
        deferred->thread_count == HTTP_SERVER_DEFERRED_THREADS) {
        return true;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int problem =
        pthread_create(&deferred->threads[deferred->thread_count], &attributes, work, server);
    pthread_attr_destroy(&attributes);
    deferred->thread_count += problem == 0;
    return deferred->thread_count > 0;
}

void http_exchange_defer(struct http_exchange *exchange, http_handler_fn *handler, void *context)
{
    struct http_server *server = exchange->server;
    struct http_deferred *deferred = &server->deferred;
    assert(!exchange->is_answered && !exchange->is_deferred);
    pthread_mutex_lock(&deferred->lock);
    bool is_possible = !deferred->is_closed && have_thread(server);
    if (is_possible) {
        exchange->is_deferred = true;
        exchange->work = handler;
        exchange->work_context = context;
        STAILQ_INSERT_TAIL(&deferred->waiting, exchange, waiting_link);
        deferred->waiting_count++;
        pthread_cond_signal(&deferred->changed);
    }
    pthread_mutex_unlock(&deferred->lock);
    if (!is_possible) {
        handler(context, exchange);
    }
}

void http_exchange_park(struct http_exchange *exchange)
{
    assert(!exchange->is_answered && !exchange->is_deferred);
    exchange->is_deferred = true;
}

void http_exchange_unpark(struct http_exchange *exchange)
{
    assert(exchange->is_answered && exchange->is_deferred);
    http_server_wake_with_answer(exchange->connection);
}

void http_server_begin_deferred(struct http_server *server)
{
    struct http_deferred *deferred = &server->deferred;
    STAILQ_INIT(&deferred->waiting);
    pthread_mutex_init(&deferred->lock, NULL);
    pthread_cond_init(&deferred->changed, NULL);
}

void http_server_end_deferred(struct http_server *server)
{
    struct http_deferred *deferred = &server->deferred;
    pthread_mutex_lock(&deferred->lock);
    deferred->is_closed = true;
    pthread_cond_broadcast(&deferred->changed);
    pthread_mutex_unlock(&deferred->lock);
    for (unsigned i = 0; i < deferred->thread_count; i++) {
        pthread_join(deferred->threads[i], NULL);
    }
    pthread_cond_destroy(&deferred->changed);
}
