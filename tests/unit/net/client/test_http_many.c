// SPDX-License-Identifier: Apache-2.0
/* Many calls at once over one client. */
#include "http_world.h"

#include "base/cancel.h"

#include <pthread.h>
#include <stdio.h>

/* FEW: fewer than the connections that are kept alive however few calls are under way. */
enum { CALLERS = 200, FEW_CALLERS = 8 };

struct http_caller {
    struct http_client_world *world;
    const char *url;
    struct cancel *cancel;
    pthread_t thread;
    size_t number;
    size_t calls;
    size_t wrong;
    enum http_failure failure; /* of the last */
};

/** POST a text of its own, which comes back from nowhere else. */
static void *call_on(void *argument)
{
    struct http_caller *caller = argument;
    char text[32];
    snprintf(text, sizeof(text), "caller %zu", caller->number);
    struct http_part part = {text, strlen(text)};
    struct http_request request = request_to(caller->url);
    request.method = "POST";
    request.parts = &part;
    request.part_count = 1;
    request.cancel = caller->cancel;
    for (size_t i = 0; i < caller->calls; i++) {
        struct http_response response;
        int r = http_call(caller->world->client, &request, &response, NULL);
        caller->failure = response.failure;
        caller->wrong += r != 0 || response.failure != HTTP_OK || response.body.len != 6;
        http_response_fini(&response);
    }
    return NULL;
}

static void start_callers_to(struct http_client_world *world, struct http_caller *callers,
                             size_t count, const char *url, struct cancel *cancel, size_t calls)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)512 * 1024);
    for (size_t i = 0; i < count; i++) {
        callers[i] = (struct http_caller){
            .world = world, .url = url, .cancel = cancel, .number = i, .calls = calls};
        assert_int_equal(pthread_create(&callers[i].thread, &attributes, call_on, &callers[i]), 0);
    }
    pthread_attr_destroy(&attributes);
}

static void start_callers(struct http_client_world *world, struct http_caller *callers,
                          struct cancel *cancel, size_t calls)
{
    start_callers_to(world, callers, CALLERS, http_peer_url(world->peer, "/"), cancel, calls);
}

/** @return calls that went wrong */
static size_t join_callers(struct http_caller *callers, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        wrong += callers[i].wrong;
    }
    return wrong;
}

WORLD_TEST(many_threads_call_through_one_client)
{
    struct http_client_world *world = *state;
    struct http_caller callers[CALLERS];
    http_peer_always(world->peer, 200, NULL, "answer");
    start_callers(world, callers, NULL, 5);
    assert_int_equal(join_callers(callers, CALLERS), 0);
    assert_int_equal(http_peer_request_count(world->peer), 5 * CALLERS);
    /* More connections than callers are possible: most idle ones are closed while few calls are
     * under way, and as many calls as before may follow. */
}

/* A caller starts a call after its last one has given its connection back, and none is closed
 * below the number that is kept: a new one is made only while fewer exist than callers. */
WORLD_TEST(a_few_threads_use_their_connections_again)
{
    struct http_client_world *world = *state;
    struct http_caller callers[FEW_CALLERS];
    http_peer_always(world->peer, 200, NULL, "answer");
    start_callers_to(world, callers, FEW_CALLERS, http_peer_url(world->peer, "/"), NULL, 50);
    assert_int_equal(join_callers(callers, FEW_CALLERS), 0);
    assert_int_equal(http_peer_request_count(world->peer), 50 * FEW_CALLERS);
    assert_true(http_peer_connection_count(world->peer) <= FEW_CALLERS);
}

WORLD_TEST(all_of_them_are_under_way_at_the_same_time)
{
    struct http_client_world *world = *state;
    struct http_caller callers[CALLERS];
    for (size_t i = 0; i < CALLERS; i++) {
        http_peer_reply_raw(
            world->peer,
            &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer",
                                 .stalls = true,
                                 .stall_at = 10});
    }
    start_callers(world, callers, NULL, 1);
    http_peer_wait_stalled(world->peer, CALLERS);
    http_peer_release(world->peer);
    assert_int_equal(join_callers(callers, CALLERS), 0);
}

WORLD_TEST(one_token_cancels_all_of_them)
{
    struct http_client_world *world = *state;
    struct http_caller callers[CALLERS];
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        http_peer_reply_raw(
            world->peer, &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n\r\n", .stalls = true});
    }
    start_callers(world, callers, &cancel, 1);
    http_peer_wait_stalled(world->peer, CALLERS);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    assert_int_equal(join_callers(callers, CALLERS), CALLERS);
    for (size_t i = 0; i < CALLERS; i++) {
        assert_failure(callers[i].failure, HTTP_CANCELLED);
    }
    cancel_fini(&cancel);
}

WORLD_TEST(names_are_looked_up_a_few_at_a_time_and_all_arrive)
{
    struct http_client_world *world = *state;
    struct http_caller callers[CALLERS];
    char url[64];
    snprintf(url, sizeof(url), "http://localhost:%d/", http_peer_port(world->peer));
    http_peer_always(world->peer, 200, NULL, "answer");
    start_callers_to(world, callers, CALLERS, url, NULL, 2);
    assert_int_equal(join_callers(callers, CALLERS), 0);
}
