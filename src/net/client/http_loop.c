// SPDX-License-Identifier: Apache-2.0
/*
 * The one thread that drives all transfers: libcurl's multi handle over epoll. It also watches the
 * callers' cancel tokens, one entry for each token however many calls share it, because a caller
 * sleeps on a condition and not on descriptors. Deadlines are the callers' own business.
 *
 * A host name takes a thread of libcurl's while it is looked up, so their number is limited;
 * later calls find the answer in the cache or a connection that is kept alive.
 */
#include "net/client/http_internal.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uthash.h>

#define EVENTS_AT_ONCE 64
/* Connections that are kept alive beyond those in use: so many, and one for each in use. */
#define IDLE_CONNECTIONS 64L
#define NO_TIMER         INT64_MAX

enum event_kind { EVENT_SOCKET, EVENT_WAKE, EVENT_CANCEL };

enum library_state { LIBRARY_LOADING, LIBRARY_READY, LIBRARY_MISSING };

/** A cancel token that calls under way wait for. */
struct token_watch {
    int fd;
    struct http_calls calls;
    UT_hash_handle hh;
};

struct http_loop {
    pthread_t thread;
    int epoll_fd;
    int wake_fd;

    pthread_mutex_t mutex;
    pthread_cond_t loaded;
    enum library_state library_state;
    struct rondo_error library_error;
    struct http_calls ordered;
    bool is_woken;
    bool is_ending;

    /* The thread's own. */
    struct curl_library curl;
    CURLM *multi;
    int64_t timer_ns;
    struct http_calls waiting;
    size_t lookups;
    size_t active;
    struct token_watch *watches;
};

/* --- epoll --- */

static uint64_t event_tag(enum event_kind kind, int fd)
{
    return (uint64_t)kind << 32 | (uint32_t)fd;
}

static int watch_fd(struct http_loop *loop, int operation, enum event_kind kind, int fd,
                    uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = event_tag(kind, fd)};
    return epoll_ctl(loop->epoll_fd, operation, fd, &event);
}

/** CURLMOPT_SOCKETFUNCTION. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
    struct http_loop *loop = context;
    (void)easy, (void)socket_context;
    if (what == CURL_POLL_REMOVE) {
        (void)watch_fd(loop, EPOLL_CTL_DEL, EVENT_SOCKET, fd, 0); /* It may be closed already. */
        return 0;
    }
    uint32_t events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0) |
                      ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0);
    if (watch_fd(loop, EPOLL_CTL_MOD, EVENT_SOCKET, fd, events) == 0) {
        return 0;
    }
    return watch_fd(loop, EPOLL_CTL_ADD, EVENT_SOCKET, fd, events) == 0 ? 0 : -1;
}

/** CURLMOPT_TIMERFUNCTION. */
static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    struct http_loop *loop = context;
    (void)multi;
    loop->timer_ns = timeout_ms < 0
                         ? NO_TIMER
                         : clock_monotonic(clock_system()) + (int64_t)timeout_ms * NS_PER_MS;
    return 0;
}

/* --- cancel tokens --- */

static void watch_token(struct http_loop *loop, struct http_call *call)
{
    struct cancel *cancel = call->request->cancel;
    struct token_watch *watch = NULL;
    if (cancel == NULL) {
        return;
    }
    HASH_FIND_INT(loop->watches, &cancel->event_fd, watch);
    if (watch == NULL) {
        watch = memory_new_zero(1, sizeof(*watch));
        watch->fd = cancel->event_fd;
        TAILQ_INIT(&watch->calls);
        HASH_ADD_INT(loop->watches, fd, watch);
        (void)watch_fd(loop, EPOLL_CTL_ADD, EVENT_CANCEL, watch->fd, EPOLLIN);
    }
    TAILQ_INSERT_TAIL(&watch->calls, call, watching);
}

static void unwatch_token(struct http_loop *loop, struct http_call *call)
{
    struct cancel *cancel = call->request->cancel;
    struct token_watch *watch = NULL;
    if (cancel == NULL) {
        return;
    }
    HASH_FIND_INT(loop->watches, &cancel->event_fd, watch);
    if (watch == NULL) {
        return;
    }
    TAILQ_REMOVE(&watch->calls, call, watching);
    if (TAILQ_EMPTY(&watch->calls)) {
        (void)watch_fd(loop, EPOLL_CTL_DEL, EVENT_CANCEL, watch->fd, 0);
        HASH_DEL(loop->watches, watch);
        free(watch);
    }
}

/* --- calls --- */

void http_loop_looked_up(struct http_call *call)
{
    if (call->is_looking_up) {
        call->is_looking_up = false;
        call->loop->lookups--;
    }
}

static void forget_orders(struct http_loop *loop, struct http_call *call)
{
    pthread_mutex_lock(&loop->mutex);
    if (call->orders != 0) {
        TAILQ_REMOVE(&loop->ordered, call, ordered);
        call->orders = 0;
    }
    pthread_mutex_unlock(&loop->mutex);
}

/** After this the call is the caller's again and may be gone. */
static void finish(struct http_loop *loop, struct http_call *call, CURLcode code)
{
    if (call->is_added) {
        loop->curl.multi_remove_handle(loop->multi, call->easy);
        loop->active--;
    }
    if (call->is_waiting) {
        TAILQ_REMOVE(&loop->waiting, call, waiting);
    }
    http_loop_looked_up(call);
    unwatch_token(loop, call);
    pthread_mutex_lock(&call->mutex);
    forget_orders(loop, call);
    call->code = code;
    call->is_finished = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->mutex);
}

/** What is kept alive may not take the descriptors that new connections need. */
static void bound_connections(struct http_loop *loop)
{
    struct rlimit files = {0};
    long most = IDLE_CONNECTIONS + 2 * (long)loop->active;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < (rlim_t)(2 * most)) {
        most = (long)files.rlim_cur / 2;
    }
    loop->curl.multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, most);
}

static void add_to_multi(struct http_loop *loop, struct http_call *call)
{
    call->is_added = true;
    call->is_looking_up = call->needs_lookup;
    loop->lookups += call->needs_lookup;
    loop->active++;
    bound_connections(loop);
    if (loop->curl.multi_add_handle(loop->multi, call->easy) != CURLM_OK) {
        abort(); /* out of memory: nothing else is wrong with a new handle */
    }
}

static void start(struct http_loop *loop, struct http_call *call)
{
    watch_token(loop, call);
    if (call->needs_lookup && loop->lookups >= HTTP_LOOKUPS_MAX) {
        call->is_waiting = true;
        TAILQ_INSERT_TAIL(&loop->waiting, call, waiting);
        return;
    }
    add_to_multi(loop, call);
}

static void start_waiting(struct http_loop *loop)
{
    while (loop->lookups < HTTP_LOOKUPS_MAX && !TAILQ_EMPTY(&loop->waiting)) {
        struct http_call *call = TAILQ_FIRST(&loop->waiting);
        TAILQ_REMOVE(&loop->waiting, call, waiting);
        call->is_waiting = false;
        add_to_multi(loop, call);
    }
}

static void obey(struct http_loop *loop, struct http_call *call, unsigned orders)
{
    if ((orders & HTTP_ORDER_START) != 0) {
        start(loop, call);
    }
    if ((orders & HTTP_ORDER_ABORT) != 0) {
        call->was_ordered_to_end = true;
        finish(loop, call, CURLE_ABORTED_BY_CALLBACK);
    } else if ((orders & HTTP_ORDER_RESUME) != 0) {
        loop->curl.easy_pause(call->easy, CURLPAUSE_CONT);
    }
}

/** @return the next call with orders, or NULL */
static struct http_call *next_ordered(struct http_loop *loop, unsigned *ret_orders)
{
    pthread_mutex_lock(&loop->mutex);
    struct http_call *call = TAILQ_FIRST(&loop->ordered);
    if (call != NULL) {
        TAILQ_REMOVE(&loop->ordered, call, ordered);
        *ret_orders = call->orders;
        call->orders = 0;
    }
    pthread_mutex_unlock(&loop->mutex);
    return call;
}

static void obey_all(struct http_loop *loop)
{
    unsigned orders = 0;
    struct http_call *call = next_ordered(loop, &orders);
    while (call != NULL) {
        obey(loop, call, orders);
        call = next_ordered(loop, &orders);
    }
}

static void cancel_calls(struct http_loop *loop, int token_fd)
{
    struct token_watch *watch = NULL;
    HASH_FIND_INT(loop->watches, &token_fd, watch);
    while (watch != NULL) {
        struct http_call *call = TAILQ_FIRST(&watch->calls);
        call->is_aborted = true;
        call->failure = HTTP_CANCELLED;
        snprintf(call->response->message, sizeof(call->response->message), "cancelled");
        finish(loop, call, CURLE_ABORTED_BY_CALLBACK); /* The last one frees the watch. */
        HASH_FIND_INT(loop->watches, &token_fd, watch);
    }
}

static void finish_done(struct http_loop *loop)
{
    int left = 0;
    CURLMsg *message = loop->curl.multi_info_read(loop->multi, &left);
    while (message != NULL) {
        CURLcode code = message->data.result;
        struct http_call *call = NULL;
        loop->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        finish(loop, call, code);
        message = loop->curl.multi_info_read(loop->multi, &left);
    }
}

/* --- the thread --- */

static void take_wake(struct http_loop *loop)
{
    uint64_t count = 0;
    ssize_t got = read(loop->wake_fd, &count, sizeof(count));
    (void)got;
    pthread_mutex_lock(&loop->mutex);
    loop->is_woken = false;
    pthread_mutex_unlock(&loop->mutex);
}

static void socket_ready(struct http_loop *loop, int fd, uint32_t events)
{
    int running = 0;
    int mask = ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
               ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
               ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    loop->curl.multi_socket_action(loop->multi, fd, mask, &running);
}

static void take_event(struct http_loop *loop, const struct epoll_event *event)
{
    int fd = (int)(uint32_t)event->data.u64;
    switch ((enum event_kind)(event->data.u64 >> 32)) {
    case EVENT_SOCKET:
        socket_ready(loop, fd, event->events);
        break;
    case EVENT_WAKE:
        take_wake(loop);
        break;
    case EVENT_CANCEL:
        cancel_calls(loop, fd);
        break;
    }
}

/** Milliseconds until libcurl's timer, rounded up; -1 = it has none. */
static int timer_left_ms(const struct http_loop *loop)
{
    if (loop->timer_ns == NO_TIMER) {
        return -1;
    }
    int64_t left = loop->timer_ns - clock_monotonic(clock_system());
    int64_t left_ms = left <= 0 ? 0 : (left + NS_PER_MS - 1) / NS_PER_MS;
    return (int)(left_ms < INT32_MAX ? left_ms : INT32_MAX);
}

static void run_timer(struct http_loop *loop)
{
    int running = 0;
    if (loop->timer_ns != NO_TIMER && loop->timer_ns <= clock_monotonic(clock_system())) {
        loop->timer_ns = NO_TIMER;
        loop->curl.multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

static bool is_ending(struct http_loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    bool answer = loop->is_ending;
    pthread_mutex_unlock(&loop->mutex);
    return answer;
}

static void drive(struct http_loop *loop)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    while (!is_ending(loop)) {
        int count = epoll_wait(loop->epoll_fd, events, EVENTS_AT_ONCE, timer_left_ms(loop));
        for (int i = 0; i < count; i++) {
            take_event(loop, &events[i]);
        }
        obey_all(loop);
        run_timer(loop);
        finish_done(loop);
        start_waiting(loop);
    }
}

static void set_up_multi(struct http_loop *loop)
{
    loop->multi = loop->curl.multi_init();
    if (loop->multi == NULL) {
        abort(); /* out of memory */
    }
    loop->curl.multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    loop->curl.multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    loop->curl.multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    loop->curl.multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
}

static void notify_loaded(struct http_loop *loop, bool is_ready)
{
    pthread_mutex_lock(&loop->mutex);
    loop->library_state = is_ready ? LIBRARY_READY : LIBRARY_MISSING;
    pthread_cond_broadcast(&loop->loaded);
    pthread_mutex_unlock(&loop->mutex);
}

static void *thread_main(void *argument)
{
    struct http_loop *loop = argument;
    if (curl_library_open(&loop->curl, &loop->library_error) < 0) {
        notify_loaded(loop, false);
        return NULL;
    }
    set_up_multi(loop);
    notify_loaded(loop, true);
    drive(loop);
    loop->curl.multi_cleanup(loop->multi);
    curl_library_close(&loop->curl);
    return NULL;
}

/** Signals are other threads' business; also a SIGPIPE of a write that TLS makes. */
static int start_thread(struct http_loop *loop, struct rondo_error *err)
{
    sigset_t all;
    sigset_t saved;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    int r = pthread_create(&loop->thread, NULL, thread_main, loop);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (r != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, r,
                               "cannot start the thread for network calls");
    }
    pthread_setname_np(loop->thread, "rondo-http");
    return 0;
}

static void close_fds(struct http_loop *loop)
{
    if (loop->epoll_fd >= 0) {
        close(loop->epoll_fd);
    }
    if (loop->wake_fd >= 0) {
        close(loop->wake_fd);
    }
}

static void release(struct http_loop *loop)
{
    close_fds(loop);
    pthread_mutex_destroy(&loop->mutex);
    pthread_cond_destroy(&loop->loaded);
    free(loop);
}

static int open_fds(struct http_loop *loop, struct rondo_error *err)
{
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->wake_fd < 0 ||
        watch_fd(loop, EPOLL_CTL_ADD, EVENT_WAKE, loop->wake_fd, EPOLLIN) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot prepare network calls");
    }
    return 0;
}

int http_loop_new(struct http_loop **ret_loop, struct rondo_error *err)
{
    struct http_loop *loop = memory_new_zero(1, sizeof(*loop));
    pthread_mutex_init(&loop->mutex, NULL);
    pthread_cond_init(&loop->loaded, NULL);
    TAILQ_INIT(&loop->ordered);
    TAILQ_INIT(&loop->waiting);
    loop->timer_ns = NO_TIMER;
    int r = open_fds(loop, err);
    if (r == 0) {
        r = start_thread(loop, err);
    }
    if (r < 0) {
        release(loop);
        return r;
    }
    *ret_loop = loop;
    return 0;
}

/** Under the mutex. One write wakes for all orders until the thread has taken it. */
static void wake(struct http_loop *loop)
{
    if (!loop->is_woken) {
        uint64_t one = 1;
        ssize_t written = write(loop->wake_fd, &one, sizeof(one));
        (void)written;
        loop->is_woken = true;
    }
}

void http_loop_free(struct http_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    pthread_mutex_lock(&loop->mutex);
    loop->is_ending = true;
    wake(loop);
    pthread_mutex_unlock(&loop->mutex);
    pthread_join(loop->thread, NULL);
    release(loop);
}

int http_loop_library(struct http_loop *loop, const struct curl_library **ret_curl,
                      struct rondo_error *err)
{
    pthread_mutex_lock(&loop->mutex);
    while (loop->library_state == LIBRARY_LOADING) {
        pthread_cond_wait(&loop->loaded, &loop->mutex);
    }
    bool is_ready = loop->library_state == LIBRARY_READY;
    pthread_mutex_unlock(&loop->mutex);
    if (!is_ready) {
        if (err != NULL) {
            *err = loop->library_error;
        }
        return loop->library_error.code;
    }
    *ret_curl = &loop->curl;
    return 0;
}

void http_loop_order(struct http_loop *loop, struct http_call *call, enum http_order order)
{
    pthread_mutex_lock(&loop->mutex);
    if (call->orders == 0) {
        TAILQ_INSERT_TAIL(&loop->ordered, call, ordered);
    }
    call->orders |= (unsigned)order;
    wake(loop);
    pthread_mutex_unlock(&loop->mutex);
}
