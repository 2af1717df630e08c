// SPDX-License-Identifier: Apache-2.0
/* Requests that take long leave the server to the others. */
#include "http_server_world.h"

#include <pthread.h>

#define WAITING (HTTP_SERVER_DEFERRED_THREADS + 8)

/** Handlers of "/wait" wait at it until it is opened. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int standing;
};

static void stand(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->standing++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open) {
        pthread_cond_wait(&gate->changed, &gate->lock);
    }
    gate->standing--;
    pthread_mutex_unlock(&gate->lock);
}

static void open_gate(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static void wait_until_standing(struct gate *gate, int count)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += HTTP_RAW_PATIENCE_NS / NS_PER_S;
    pthread_mutex_lock(&gate->lock);
    while (gate->standing < count) {
        assert_int_equal(pthread_cond_timedwait(&gate->changed, &gate->lock, &until), 0);
    }
    pthread_mutex_unlock(&gate->lock);
}

static void answer_late(void *context, struct http_exchange *exchange)
{
    stand(context);
    http_exchange_add_header(exchange, "X-Told", "late");
    handle(NULL, exchange); /* nothing for "/silent" */
}

static void handle_or_defer(void *context, struct http_exchange *exchange)
{
    if (http_exchange_query(exchange, "wait") != NULL) {
        http_exchange_defer(exchange, answer_late, context);
    } else {
        handle(NULL, exchange);
    }
}

static struct http_server_world begin_gated(struct gate *gate)
{
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
    return begin_with((struct http_server_options){.handler = handle_or_defer, .context = gate});
}

static void end_gated(struct http_server_world *world, struct gate *gate)
{
    end(world);
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
}

static int send_request(const struct http_server_world *world, const char *request)
{
    int fd = http_raw_connect(world->address);
    assert_true(http_raw_send(fd, request, strlen(request)));
    return fd;
}

static void read_answer(int fd, int status, const char *text)
{
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    assert_int_equal(http_raw_read_answer(fd, &head, &body, false), status);
    if (text != NULL) {
        assert_string_equal(buf_string(&body), text);
    }
}

TEST(others_are_served_while_more_wait_than_there_are_threads)
{
    struct gate gate = {0};
    struct http_server_world world = begin_gated(&gate);
    int fds[WAITING];
    for (int i = 0; i < WAITING; i++) {
        char request[96];
        snprintf(request, sizeof(request),
                 "POST /%d?wait HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi", i);
        fds[i] = send_request(&world, request);
    }
    wait_until_standing(&gate, HTTP_SERVER_DEFERRED_THREADS);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask(&world, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
                         200);
    }
    assert_int_equal(gate.standing, HTTP_SERVER_DEFERRED_THREADS);
    open_gate(&gate);
    for (int i = 0; i < WAITING; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "POST /%d [wait=]hi", i);
        read_answer(fds[i], 200, expected);
        close(fds[i]);
    }
    end_gated(&world, &gate);
}

static void stand_or_answer(void *context, struct http_exchange *exchange)
{
    if (http_exchange_query(exchange, "stand") != NULL) {
        stand(context);
    }
    handle(NULL, exchange);
}

/** A connection that sends nothing is ended, which shows that the server has looked at all. */
static void await_look(const struct http_server_world *world, struct hand_clock *hand)
{
    auto_buf struct buf bytes = {0};
    uint64_t before = http_server_state(world->server).connections;
    int fd = http_raw_connect(world->address);
    wait_for_state(world->server, connections, before + 1);
    pass_until_end(hand, fd, &bytes);
    close(fd);
}

TEST(a_request_that_waits_for_a_busy_thread_is_not_late)
{
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct hand_clock hand;
    hand_clock_init(&hand);
    struct http_server_world world =
        begin_with((struct http_server_options){.handler = stand_or_answer,
                                                .context = &gate,
                                                .clock = &hand.clock,
                                                .request_ns = 200 * MS,
                                                .threads = 1});
    int first = send_request(&world, "GET /a?stand HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_until_standing(&gate, 1);
    int second = send_request(&world, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_state(world.server, connections, 2);
    await_look(&world, &hand);
    await_look(&world, &hand);
    open_gate(&gate);
    read_answer(first, 200, "GET /a [stand=]");
    read_answer(second, 200, "GET /b ");
    close(first);
    close(second);
    end_gated(&world, &gate);
}

TEST(requests_of_a_connection_keep_their_order)
{
    struct gate gate = {0};
    struct http_server_world world = begin_gated(&gate);
    int fd = send_request(&world, "GET /a?wait HTTP/1.1\r\nHost: h\r\n\r\n"
                                  "GET /big?n=100000&wait HTTP/1.1\r\nHost: h\r\n\r\n"
                                  "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_until_standing(&gate, 1);
    open_gate(&gate);
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
    assert_string_equal(buf_string(&body), "GET /a [wait=]");
    assert_non_null(strstr(buf_string(&head), "X-Told: late\r\n"));
    assert_int_equal(http_raw_read_answer(fd, &head, &body, false), 200);
    assert_int_equal(body.len, 100000);
    read_answer(fd, 200, "GET /b ");
    close(fd);
    end_gated(&world, &gate);
}

TEST(a_client_that_leaves_while_it_waits_harms_nobody)
{
    struct gate gate = {0};
    struct http_server_world world = begin_gated(&gate);
    int fd = send_request(&world, "GET /a?wait HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_until_standing(&gate, 1);
    close(fd);
    open_gate(&gate);
    wait_for_state(world.server, connections, 0);
    assert_int_equal(ask(&world, "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), 200);
    end_gated(&world, &gate);
}

TEST(a_handler_that_answers_nothing_is_an_error_of_the_server)
{
    struct gate gate = {.is_open = true};
    struct http_server_world world = begin_gated(&gate);
    assert_int_equal(ask(&world, "GET /silent?wait HTTP/1.1\r\nHost: h\r\n\r\n"), 500);
    end_gated(&world, &gate);
}

static void *stop(void *server)
{
    http_server_stop(server);
    return NULL;
}

TEST(the_end_waits_for_those_that_were_begun)
{
    struct gate gate = {0};
    struct http_server_world world = begin_gated(&gate);
    int fds[WAITING];
    for (int i = 0; i < WAITING; i++) {
        fds[i] = send_request(&world, "GET /a?wait HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    wait_until_standing(&gate, HTTP_SERVER_DEFERRED_THREADS);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop, world.server), 0);
    open_gate(&gate);
    pthread_join(thread, NULL);
    assert_int_equal(gate.standing, 0);
    for (int i = 0; i < WAITING; i++) {
        close(fds[i]);
    }
    pthread_mutex_destroy(&gate.lock);
    pthread_cond_destroy(&gate.changed);
}
