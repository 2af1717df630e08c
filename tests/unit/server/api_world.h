// SPDX-License-Identifier: Apache-2.0
/* A whole server on loopback over a store in memory, and a client that sends what it is told. */
#pragma once

#include "../../support/http_raw.h"
#include "../../support/store/memory_store.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/runtime.h"
#include "orchestrator/orchestrator.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "server/auth/token.h"
#include "server/server.h"
#include "support/scratch.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct api_world {
    char folder[64];
    char policy[96];
    char desks[96]; /* a test may write it */
    char work[96];
    struct store *store;
    struct runtime *runtime;
    struct orchestrator *orchestrator;
    struct metrics *metrics;
    struct server *server;
    const char *address;
    char operate[TOKEN_SIZE];
    char read[TOKEN_SIZE];
    char administer[TOKEN_SIZE];
    char other[TOKEN_SIZE]; /* operate, but another agent's */
    char decide[TOKEN_SIZE];
    char agent[TOKEN_SIZE]; /* of the agent fixer */
};

/** An answer as it came. */
struct api_reply {
    int status;
    struct buf all; /* head and body */
    const char *body;
    struct json_object *json; /* of the body, or NULL */
};

static inline void answer_fini(struct api_reply *answer)
{
    json_object_put(answer->json);
    buf_fini(&answer->all);
    *answer = (struct api_reply){0};
}

/** Send one request. @param token "" = none @param headers lines with their ends, or "" */
static inline void ask(struct api_world *world, const char *method, const char *path,
                       const char *token, const char *headers, const char *body,
                       struct api_reply *ret_answer)
{
    auto_buf struct buf request = {0};
    *ret_answer = (struct api_reply){0};
    buf_printf(&request, "%s %s HTTP/1.1\r\nConnection: close\r\n", method, path);
    if (strcasestr(headers, "Host:") == NULL) {
        buf_printf(&request, "Host: %s\r\n", world->address);
    }
    if (token[0] != '\0') {
        buf_printf(&request, "Authorization: Bearer %s\r\n", token);
    }
    if (body[0] != '\0' && strcasestr(headers, "Content-Type:") == NULL) {
        buf_append_string(&request, "Content-Type: application/json\r\n");
    }
    if (body[0] != '\0') {
        buf_printf(&request, "Content-Length: %zu\r\n", strlen(body));
    }
    buf_printf(&request, "%s\r\n%s", headers, body);
    ret_answer->status = http_raw_ask(world->address, buf_string(&request), &ret_answer->all);
    const char *end = strstr(buf_string(&ret_answer->all), "\r\n\r\n");
    ret_answer->body = end == NULL ? "" : end + 4;
    json_parse(ret_answer->body, strlen(ret_answer->body), &ret_answer->json, NULL);
}

/** Send a request and check its status. */
static inline void expect(struct api_world *world, const char *method, const char *path,
                          const char *token, const char *headers, const char *body, int status)
{
    struct api_reply answer;
    ask(world, method, path, token, headers, body, &answer);
    if (answer.status != status) {
        print_error("%s %.100s: %s\n", method, path, buf_string(&answer.all));
    }
    assert_int_equal(answer.status, status);
    answer_fini(&answer);
}

/** The member `code` of a problem. */
static inline void expect_problem(struct api_world *world, const char *method, const char *path,
                                  const char *token, const char *headers, const char *body,
                                  const char *code)
{
    struct api_reply answer;
    ask(world, method, path, token, headers, body, &answer);
    if (strcmp(json_get_string(answer.json, "code", ""), code) != 0) {
        print_error("%s %.100s: %s\n", method, path, buf_string(&answer.all));
    }
    assert_string_equal(json_get_string(answer.json, "code", ""), code);
    assert_non_null(strstr(buf_string(&answer.all), "application/problem+json"));
    assert_int_equal(json_get_int(answer.json, "status", 0), answer.status);
    answer_fini(&answer);
}

static inline void make_token(struct api_world *world, const char *name, enum token_scope scope,
                              const char *const *agents, char *ret_token)
{
    struct token_spec spec = {.name = name, .scope = scope, .agents = agents};
    assert_int_equal(token_create(world->store, &spec, ret_token, NULL, NULL), 0);
}

/** A server with some options of its own: needs_token, hosts, log. */
static inline int world_setup_with(void **state, const struct server_options *wanted)
{
    static const char *const listen[] = {"127.0.0.1:0", NULL};
    static const char *const fixer[] = {"fixer", NULL};
    static const char *const stranger[] = {"stranger", NULL};
    struct api_world *world = memory_new_zero(1, sizeof(*world));
    struct rondo_error err = {0};
    assert_true(scratch_new(world->folder, sizeof(world->folder)));
    snprintf(world->policy, sizeof(world->policy), "%s/rondo.cedar", world->folder);
    snprintf(world->work, sizeof(world->work), "%s/work", world->folder);
    snprintf(world->desks, sizeof(world->desks), "%s/desks.yaml", world->folder);
    world->store = store_memory_new(NULL);
    struct runtime_options runtime = {.store = world->store,
                                      .policy = world->policy,
                                      .is_policy_optional = true,
                                      .desks = world->desks};
    assert_int_equal(runtime_new(&runtime, &world->runtime, &err), 0);
    struct orchestrator_options orchestrator = {
        .runtime = world->runtime, .work_folder = world->work, .max_loops = 4, .drain_ns = -1};
    assert_int_equal(orchestrator_start(&orchestrator, &world->orchestrator, &err), 0);
    world->metrics = metrics_new();
    struct server_options options = {
        .runtime = world->runtime,
        .orchestrator = world->orchestrator,
        .metrics = world->metrics,
        .policy_path = world->policy,
        .workspace = world->folder,
        .listen = listen,
        .store_label = wanted->store_label,
        .store_labels = wanted->store_labels,
        .front = wanted->front,
        .hosts = wanted->hosts,
        .needs_token = wanted->needs_token,
        .requests_per_second =
            wanted->requests_per_second == 0 ? 100000 : wanted->requests_per_second,
        .receive_hook = wanted->receive_hook,
        .hook_context = wanted->hook_context,
        .log = wanted->log,
        .audit = wanted->audit,
        .log_context = wanted->log_context,
    };
    int r = server_start(&options, &world->server, &err);
    if (r < 0) {
        print_error("%s\n", err.message);
    }
    assert_int_equal(r, 0);
    world->address = server_address(wanted->front == NULL ? world->server : wanted->front, 0);
    make_token(world, "read", TOKEN_READ, NULL, world->read);
    make_token(world, "operate", TOKEN_OPERATE, fixer, world->operate);
    make_token(world, "administer", TOKEN_ADMINISTER, NULL, world->administer);
    make_token(world, "other", TOKEN_OPERATE, stranger, world->other);
    make_token(world, "decide", TOKEN_DECIDE, NULL, world->decide);
    make_token(world, "agent", TOKEN_AGENT, fixer, world->agent);
    *state = world;
    return 0;
}

static inline int world_setup(void **state)
{
    struct server_options wanted = {.needs_token = true};
    return world_setup_with(state, &wanted);
}

static inline int world_teardown(void **state)
{
    struct api_world *world = *state;
    server_stop(world->server);
    orchestrator_stop(world->orchestrator);
    runtime_free(world->runtime);
    metrics_free(world->metrics);
    store_close(world->store);
    file_remove_tree(world->folder, NULL);
    free(world);
    return 0;
}
