// SPDX-License-Identifier: Apache-2.0
/* A forge whose API is a scripted server, and a clock that waits pass at once. */
#pragma once

#include "../../support/http_peer.h"
#include "../../support/test.h"
#include "base/clock.h"
#include "base/memory.h"
#include "forge/forge.h"
#include "net/client/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Sun, 29 Nov 2026 15:00:00 GMT */
#define WORLD_START_S  INT64_C(1795964400)
#define WORLD_START_NS (WORLD_START_S * NS_PER_S)
#define WORLD_TOKEN    "ghp_secretsecretsecretsecretsecretsecret"

struct forge_world {
    struct http_peer *peer;
    struct http_client *http;
    struct clock clock;
    struct random random;
    int64_t passed_ns; /**< by waiting */
    unsigned waits;
    struct forge *forge;
    struct forge_place place; /**< of it */
};

static inline int64_t world_now(const struct clock *clock)
{
    const struct forge_world *world = clock->context;
    return WORLD_START_NS + world->passed_ns;
}

static inline int64_t world_monotonic(const struct clock *clock)
{
    const struct forge_world *world = clock->context;
    return NS_PER_S + world->passed_ns;
}

static inline void world_sleep(const struct clock *clock, int64_t duration_ns,
                               struct cancel *cancel)
{
    struct forge_world *world = clock->context;
    (void)cancel;
    world->passed_ns += duration_ns;
    world->waits++;
}

/** Open the forge again, as another kind or without a token. */
static inline void world_open(struct forge_world *world, enum forge_kind kind, const char *token)
{
    forge_place_fini(&world->place);
    world->place = (struct forge_place){
        .kind = kind,
        .host = memory_dup_string("forge.test"),
        .api = memory_dup_string(http_peer_url(world->peer, "/api")),
        .owner = memory_dup_string("acme"),
        .name = memory_dup_string("shop"),
    };
    const struct forge_options options = {
        .place = &world->place,
        .token = token,
        .http = world->http,
        .clock = &world->clock,
        .random = &world->random,
    };
    struct rondo_error err = {0};
    forge_close(world->forge);
    world->forge = NULL;
    assert_int_equal(forge_open(&options, &world->forge, &err), 0);
}

static inline int world_set_up(void **state)
{
    struct forge_world *world = memory_new_zero(1, sizeof(*world));
    world->peer = http_peer_new();
    assert_int_equal(http_client_new(NULL, &world->http, NULL), 0);
    world->clock = (struct clock){.now_ns = world_now,
                                  .monotonic_ns = world_monotonic,
                                  .sleep = world_sleep,
                                  .context = world};
    world->random = random_seeded(1);
    world_open(world, FORGE_GITHUB, WORLD_TOKEN);
    *state = world;
    return 0;
}

static inline int world_tear_down(void **state)
{
    struct forge_world *world = *state;
    forge_close(world->forge);
    forge_place_fini(&world->place);
    http_client_free(world->http);
    http_peer_free(world->peer);
    free(world);
    return 0;
}

#define FORGE_TEST(test) TEST_WITH(test, world_set_up, world_tear_down)

static inline void world_reply(struct forge_world *world, int status, const char *headers,
                               const char *body)
{
    http_peer_reply(world->peer, status, headers, body);
}

static inline size_t world_requests(struct forge_world *world)
{
    return http_peer_request_count(world->peer);
}

static inline const char *world_path(struct forge_world *world, size_t number)
{
    return http_peer_request(world->peer, number)->path;
}

/** "METHOD PATH BODY" of a request. Lives until the next call. */
static inline const char *world_line(struct forge_world *world, size_t number)
{
    static char line[2048];
    const struct peer_request *request = http_peer_request(world->peer, number);
    snprintf(line, sizeof(line), "%s %s%s%s", request->method, request->path,
             request->body_len > 0 ? " " : "", request->body_len > 0 ? request->body : "");
    return line;
}

static inline const char *world_header(struct forge_world *world, size_t number, const char *name)
{
    const char *value = http_peer_header(world->peer, http_peer_request(world->peer, number), name);
    return value == NULL ? "(none)" : value;
}

static inline const char *world_message(const struct forge_world *world)
{
    return forge_outcome(world->forge)->message;
}
