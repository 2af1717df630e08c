// SPDX-License-Identifier: Apache-2.0
/* Webhooks on the server's listener: what reaches a source, and that nothing else is reached. */
#include "api_world.h"

#include "source/webhook/hook_answer.h"

#include <pthread.h>

/** What a stand-in for the sources saw last. */
struct hook_seen {
    unsigned count;
    char name[64];
    char body[64];
    char signature[64];
    char authorization[64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static struct hook_seen last;

/** What was seen so far. */
static struct hook_seen seen(void)
{
    pthread_mutex_lock(&lock);
    struct hook_seen copy = last;
    pthread_mutex_unlock(&lock);
    return copy;
}

static bool receive_hook(void *context, const char *name, const struct source_delivery *delivery,
                         struct source_answer *ret_answer)
{
    struct hook_seen *seen = context;
    const char *signature = delivery->header(delivery, "x-hub-signature-256");
    const char *authorization = delivery->header(delivery, "authorization");
    if (strcmp(name, "deploys") != 0) {
        return false;
    }
    pthread_mutex_lock(&lock);
    seen->count++;
    snprintf(seen->name, sizeof(seen->name), "%s", name);
    snprintf(seen->body, sizeof(seen->body), "%.*s", (int)delivery->body_len, delivery->body);
    snprintf(seen->signature, sizeof(seen->signature), "%s", signature == NULL ? "" : signature);
    snprintf(seen->authorization, sizeof(seen->authorization), "%s",
             authorization == NULL ? "" : authorization);
    pthread_mutex_unlock(&lock);
    *ret_answer = (struct source_answer){.status = 202};
    snprintf(ret_answer->run_id, sizeof(ret_answer->run_id),
             "018bcfe5-6800-7000-8000-000000000001");
    return true;
}

static int setup_with_rate(void **state, unsigned requests_per_second)
{
    static const char *const hosts[] = {"rondo.example", NULL};
    struct server_options wanted = {.needs_token = true,
                                    .hosts = hosts,
                                    .requests_per_second = requests_per_second,
                                    .receive_hook = receive_hook,
                                    .hook_context = &last};
    last = (struct hook_seen){0};
    return world_setup_with(state, &wanted);
}

static int hooks_setup(void **state)
{
    return setup_with_rate(state, 0);
}

static int slow_hooks_setup(void **state)
{
    return setup_with_rate(state, 1);
}

#define TEST_IN_WORLD(name) TEST_WITH(name, hooks_setup, world_teardown)

TEST_IN_WORLD(a_webhook_needs_no_token)
{
    struct api_world *world = *state;
    struct api_reply answer;
    ask(world, "POST", "/hooks/deploys", "",
        "Content-Type: text/plain\r\nX-Hub-Signature-256: sig\r\n", "any \"bytes\"", &answer);
    assert_int_equal(answer.status, 202);
    assert_string_equal(answer.body, "{\"status\":\"accepted\","
                                     "\"run_id\":\"018bcfe5-6800-7000-8000-000000000001\"}");
    assert_non_null(strstr(buf_string(&answer.all),
                           "Location: /v1/runs/018bcfe5-6800-7000-8000-000000000001\r\n"));
    answer_fini(&answer);
    assert_string_equal(seen().body, "any \"bytes\"");
    assert_string_equal(seen().signature, "sig");
}

TEST_IN_WORLD(headers_that_occur_twice_count_as_missing)
{
    struct api_world *world = *state;
    expect(world, "POST", "/hooks/deploys", "",
           "X-Hub-Signature-256: one\r\nX-Hub-Signature-256: two\r\n", "{}", 202);
    assert_string_equal(seen().signature, "");
}

TEST_IN_WORLD(a_webhook_opens_nothing_else)
{
    struct api_world *world = *state;
    expect(world, "GET", "/hooks/deploys", "", "", "", 405);
    expect(world, "POST", "/hooks/", "", "", "{}", 404);
    expect(world, "POST", "/hooks/other", "", "", "{}", 404);
    expect(world, "POST", "/hooks/deploys/v1/runs", "", "", "{}", 404);
    expect(world, "POST", "/hooks/..%2fv1%2fruns", "", "", "{}", 404);
    assert_int_equal(seen().count, 0);
}

TEST_IN_WORLD(the_api_still_needs_its_token)
{
    struct api_world *world = *state;
    expect(world, "GET", "/hooks/../v1/runs", "", "", "", 405);
    expect(world, "GET", "/v1/runs", "", "X-Hub-Signature-256: sig\r\n", "", 401);
    expect(world, "POST", "/v1/runs", "", "Idempotency-Key: a\r\n", "{}", 401);
    assert_int_equal(seen().count, 0);
}

TEST_IN_WORLD(foreign_hosts_and_pages_are_refused)
{
    struct api_world *world = *state;
    expect(world, "POST", "/hooks/deploys", "", "Host: evil.example\r\n", "{}", 421);
    expect(world, "POST", "/hooks/deploys", "", "Origin: http://evil.example\r\n", "{}", 403);
    expect(world, "POST", "/hooks/deploys", "", "Sec-Fetch-Site: cross-site\r\n", "{}", 403);
    assert_int_equal(seen().count, 0);
    expect(world, "POST", "/hooks/deploys", "", "Host: rondo.example\r\n", "{}", 202);
}

TEST_WITH(requests_of_one_address_are_limited, slow_hooks_setup, world_teardown)
{
    struct api_world *world = *state;
    int status = 202;
    for (unsigned i = 0; i < 1000 && status == 202; i++) {
        struct api_reply answer;
        ask(world, "POST", "/hooks/deploys", "", "", "{}", &answer);
        status = answer.status;
        answer_fini(&answer);
    }
    assert_int_equal(status, 429);
}

TEST_IN_WORLD(a_server_that_ends_asks_the_sender_to_come_again)
{
    struct api_world *world = *state;
    server_drain(world->server);
    struct api_reply answer;
    ask(world, "POST", "/hooks/deploys", "", "", "{}", &answer);
    assert_int_equal(answer.status, 503);
    assert_non_null(strstr(buf_string(&answer.all), "Retry-After: 10\r\n"));
    answer_fini(&answer);
    assert_int_equal(seen().count, 0);
}

TEST_WITH(a_server_without_roles_has_no_webhooks, world_setup, world_teardown)
{
    struct api_world *world = *state;
    expect(world, "POST", "/hooks/deploys", "", "", "{}", 404);
}
