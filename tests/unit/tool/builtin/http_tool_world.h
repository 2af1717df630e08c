// SPDX-License-Identifier: Apache-2.0
/* A world of tools with a scripted HTTP peer that the guard lets them reach. */
#pragma once

#include "../tool_world.h"

#include "../../../support/http_peer.h"
#include "model/key/environment.h"
#include "net/client/guard.h"
#include "net/client/http.h"

struct http_world {
    struct tool_world world; /* first: the functions of tool_world.h take it */
    struct http_peer *peer;
    struct http_client *client;
    struct dotenv *dotenv;
    struct net_guard guard;
};

static const char *const loopback_only[] = {"127.0.0.1", NULL};

static inline int http_world_set_up(void **state)
{
    struct http_world *self = calloc(1, sizeof(*self));
    void *plain = NULL;
    assert_int_equal(world_set_up(&plain), 0);
    self->world = *(struct tool_world *)plain;
    free(plain);
    world_write(&self->world, ".env", "RONDO_TEST_TOKEN=t0ken\n");
    self->peer = http_peer_new();
    self->guard.allow_hosts = loopback_only;
    assert_int_equal(http_client_new(NULL, &self->client, NULL), 0);
    assert_int_equal(dotenv_read(self->world.workspace, &self->dotenv, NULL), 0);
    self->world.around.workspace = self->world.workspace;
    self->world.around.http = self->client;
    self->world.around.guard = &self->guard;
    self->world.around.dotenv = self->dotenv;
    *state = self;
    return 0;
}

static inline int http_world_tear_down(void **state)
{
    struct http_world *self = *state;
    toolbox_free(self->world.toolbox);
    self->world.toolbox = NULL;
    http_client_free(self->client);
    http_peer_free(self->peer);
    dotenv_free(self->dotenv);
    void *plain = malloc(sizeof(self->world));
    memcpy(plain, &self->world, sizeof(self->world));
    free(self);
    return world_tear_down(&plain);
}

#define HTTP_WORLD_TEST(test) TEST_WITH(test, http_world_set_up, http_world_tear_down)

/** Open an entry in which "PEER" is replaced by the peer's URL. */
static inline int http_world_try_open(struct http_world *self, const char *config,
                                      struct rondo_error *err)
{
    struct buf text = {0};
    for (const char *at = config; *at != '\0';) {
        if (strncmp(at, "PEER", 4) == 0) {
            buf_append_string(&text, http_peer_url(self->peer, ""));
            at += 4;
        } else {
            buf_append(&text, at++, 1);
        }
    }
    int code = world_try_open(&self->world, buf_string(&text), err);
    buf_fini(&text);
    return code;
}

static inline void http_world_open(struct http_world *self, const char *config)
{
    struct rondo_error err = {0};
    if (http_world_try_open(self, config, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

/** A header of the peer's request with a number; "" = absent. */
static inline const char *header_of(struct http_world *self, size_t number, const char *name)
{
    const char *value = http_peer_header(self->peer, http_peer_request(self->peer, number), name);
    return value == NULL ? "" : value;
}
