// SPDX-License-Identifier: Apache-2.0
/* A client and a scripted peer, and calls between them with everything at generous defaults. */
#pragma once

#include "../../../support/http_peer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "net/client/http.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1024 * 1024)

struct http_client_world {
    struct http_peer *peer;
    struct http_client *client;
    struct http_response response; /* of the last call */
};

static inline int make_world(void **state)
{
    struct http_client_world *world = memory_new_zero(1, sizeof(*world));
    world->peer = http_peer_new();
    assert_int_equal(http_client_new(NULL, &world->client, NULL), 0);
    *state = world;
    return 0;
}

static inline int end_world(void **state)
{
    struct http_client_world *world = *state;
    http_response_fini(&world->response);
    http_client_free(world->client);
    http_peer_free(world->peer);
    free(world);
    return 0;
}

/** A GET that waits long enough for anything. */
static inline struct http_request request_to(const char *url)
{
    return (struct http_request){
        .method = "GET", .url = url, .total_ns = 60 * NS_PER_S, .max_body_bytes = 64 * MIB};
}

/** Make a call. @return how it failed */
static inline enum http_failure call(struct http_client_world *world,
                                     const struct http_request *request)
{
    struct rondo_error err = {0};
    http_response_fini(&world->response);
    int r = http_call(world->client, request, &world->response, &err);
    if (r < 0) {
        fail_msg("%s", err.message);
    }
    return world->response.failure;
}

/** GET a path of the peer. */
static inline enum http_failure get(struct http_client_world *world, const char *path)
{
    struct http_request request = request_to(http_peer_url(world->peer, path));
    return call(world, &request);
}

#define WORLD_TEST(name) TEST_WITH(name, make_world, end_world)

#define assert_failure(got, expected) \
    assert_string_equal(http_failure_name(got), http_failure_name(expected))
