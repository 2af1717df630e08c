// SPDX-License-Identifier: Apache-2.0
/*
 * Requests through the whole server: HTTP, access, routes, handlers, the store. Whatever is asked:
 * nothing is an internal error, each answer of ours is JSON or what it says, has the headers of
 * safety, and gives no token away.
 *
 * The first byte of an input says whose token goes with it, then come "METHOD TARGET", lines of
 * headers, an empty line and the body. Nobody may start, change or end runs here, so that no input
 * can execute what it likes.
 */
#include "fuzz_server.h"

#include "../support/store/memory_store.h"
#include "loop/runtime.h"
#include "orchestrator/orchestrator.h"
#include "os/file_folder.h"
#include "server/auth/token.h"
#include "server/server.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define START                                                              \
    "{\"command\":[\"true\"],\"agent_id\":\"fixer\",\"sandbox\":\"none\"," \
    "\"prompt\":\"hello\",\"max_iterations\":2}"

static struct {
    char folder[64];
    char policy[96];
    struct store *store;
    struct runtime *runtime;
    struct orchestrator *orchestrator;
    struct metrics *metrics;
    struct server *server;
    char tokens[4][TOKEN_SIZE]; /* none, read, read of another agent, administer */
} world;

/** Send a request and read until the connection ends. */
static void feed(const char *bytes, size_t len, struct buf *ret_answer)
{
    int fd = fuzz_connect(server_address(world.server, 0));
    fuzz_feed(fd, bytes, len, len, ret_answer);
}

static void start_run(void)
{
    auto_buf struct buf request = {0};
    auto_buf struct buf answer = {0};
    buf_printf(&request,
               "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n" START,
               world.tokens[3], strlen(START));
    feed(request.data, request.len, &answer);
    FUZZ_CHECK(strstr(buf_string(&answer), "201 Created") != NULL);
}

static void remove_folder(void)
{
    file_remove_tree(world.folder, NULL);
}

static void start(void)
{
    static const char *const listen[] = {"127.0.0.1:0", NULL};
    static const char *const stranger[] = {"stranger", NULL};
    snprintf(world.folder, sizeof(world.folder), "/tmp/rondo-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(world.folder) != NULL);
    atexit(remove_folder);
    snprintf(world.policy, sizeof(world.policy), "%s/rondo.cedar", world.folder);
    world.store = store_memory_new(NULL);
    struct runtime_options runtime = {
        .store = world.store, .policy = world.policy, .is_policy_optional = true};
    FUZZ_CHECK(runtime_new(&runtime, &world.runtime, NULL) == 0);
    struct orchestrator_options orchestrator = {
        .runtime = world.runtime, .work_folder = world.folder, .max_loops = 2, .drain_ns = -1};
    FUZZ_CHECK(orchestrator_start(&orchestrator, &world.orchestrator, NULL) == 0);
    world.metrics = metrics_new();
    struct server_options options = {
        .runtime = world.runtime,
        .orchestrator = world.orchestrator,
        .metrics = world.metrics,
        .policy_path = world.policy,
        .workspace = world.folder,
        .listen = listen,
        .needs_token = true,
        .requests_per_second = 1000000,
    };
    FUZZ_CHECK(server_start(&options, &world.server, NULL) == 0);
    struct token_spec specs[] = {{.name = "r", .scope = TOKEN_READ},
                                 {.name = "s", .scope = TOKEN_READ, .agents = stranger},
                                 {.name = "a", .scope = TOKEN_ADMINISTER}};
    for (size_t i = 0; i < 3; i++) {
        FUZZ_CHECK(token_create(world.store, &specs[i], world.tokens[i + 1], NULL, NULL) == 0);
    }
    start_run();
}

/** What an administrator may try: nothing that executes or is kept for ever. */
static bool is_harmless(const char *line)
{
    return strncmp(line, "GET ", 4) == 0 || strncmp(line, "HEAD ", 5) == 0 ||
           strstr(line, " /v1/sinks") != NULL || strstr(line, " /v1/policies/") != NULL;
}

/** Make a request of an input. @return false: there is no line to begin with */
static bool write_request(const char *bytes, size_t len, struct buf *ret_request)
{
    unsigned who = (unsigned char)bytes[0] & 3;
    const char *end = memmem(bytes + 1, len - 1, "\n\n", 2);
    size_t head_len = end == NULL ? len : (size_t)(end - bytes);
    auto_buf struct buf head = {0};
    buf_append(&head, bytes + 1, head_len - 1);
    size_t body_len = end == NULL ? 0 : len - head_len - 2;
    const char *text = buf_string(&head);
    size_t line_len = strcspn(text, "\n");
    if (strlen(text) != head.len || line_len == 0 || (who == 3 && !is_harmless(text))) {
        return false;
    }
    buf_printf(ret_request, "%.*s HTTP/1.1\r\nConnection: close\r\n", (int)line_len, text);
    if (strcasestr(text, "\nHost:") == NULL) {
        buf_append_string(ret_request, "Host: localhost\r\n");
    }
    if (who > 0) {
        buf_printf(ret_request, "Authorization: Bearer %s\r\n", world.tokens[who]);
    }
    if (body_len > 0) {
        buf_printf(ret_request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                   body_len);
    }
    for (const char *at = text + line_len; *at != '\0';) {
        at++;
        size_t n = strcspn(at, "\n");
        buf_append(ret_request, at, n);
        buf_append_string(ret_request, n > 0 ? "\r\n" : "");
        at += n;
    }
    buf_append_string(ret_request, "\r\n");
    buf_append(ret_request, end == NULL ? "" : end + 2, body_len);
    return true;
}

static void check_answer(const struct buf *answer, bool is_head)
{
    const char *text = answer->data;
    const char *body = memmem(text, answer->len, "\r\n\r\n", 4);
    FUZZ_CHECK(answer->len > 12 && strncmp(text, "HTTP/1.1 ", 9) == 0 && body != NULL);
    FUZZ_CHECK(strncmp(text + 9, "500", 3) != 0);
    body += 4;
    size_t len = answer->len - (size_t)(body - text);
    if (memmem(text, (size_t)(body - text), "Content-Type: ", 14) !=
        NULL) { /* else the library's */
        FUZZ_CHECK(strstr(text, "X-Content-Type-Options: nosniff\r\n") != NULL);
        FUZZ_CHECK(strstr(text, "X-Frame-Options: DENY\r\n") != NULL);
        FUZZ_CHECK(strstr(text, "Content-Security-Policy: default-src 'none'") != NULL);
    }
    bool is_json = memmem(text, (size_t)(body - text), "json\r\n", 6) != NULL;
    FUZZ_CHECK(!is_json || is_head || fuzz_is_json(body, len));
}

/** What nobody said does not come out. */
static void check_tokens(const struct buf *answer, const char *input, size_t size)
{
    for (size_t i = 1; i < 4; i++) {
        const char *secret = world.tokens[i];
        bool is_said = memmem(input, size, secret, strlen(secret)) != NULL;
        FUZZ_CHECK(is_said || memmem(answer->data, answer->len, secret, strlen(secret)) == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_buf struct buf request = {0};
    auto_buf struct buf answer = {0};
    if (world.server == NULL) {
        start();
    }
    if (size < 2) {
        return 0;
    }
    char *bytes = fuzz_bytes(data, size);
    if (write_request(bytes, size, &request)) {
        feed(request.data, request.len, &answer);
        if (answer.len > 0) { /* else there was no request in it */
            check_answer(&answer, strncmp(request.data, "HEAD ", 5) == 0);
            check_tokens(&answer, bytes, size);
        }
    }
    free(bytes);
    return 0;
}
