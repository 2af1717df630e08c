// SPDX-License-Identifier: Apache-2.0
/* See asking.h. */
#include "asking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t now(const struct clock *clock)
{
    (void)clock;
    return clock_now(clock_system());
}

static int64_t monotonic(const struct clock *clock)
{
    const struct asking *asking = clock->context;
    return clock_monotonic(clock_system()) + asking->slept_ns;
}

static void skip_sleep(const struct clock *clock, int64_t duration_ns, struct cancel *cancel)
{
    (void)cancel;
    ((struct asking *)clock->context)->slept_ns += duration_ns;
}

static void on_text(void *context, const char *text, size_t len)
{
    buf_append(&((struct asking *)context)->text, text, len);
}

static void on_thinking(void *context, const char *text, size_t len)
{
    buf_append(&((struct asking *)context)->thinking, text, len);
}

static void on_retry(void *context, unsigned attempt, int64_t delay_ns, const char *why)
{
    assert_true(delay_ns >= 0);
    buf_printf(&((struct asking *)context)->retries, "%u %s\n", attempt, why);
}

void asking_open(struct asking *asking, const char *provider, const char *name,
                 const struct model_options *options)
{
    struct rondo_error err = {0};
    *asking = (struct asking){.random = random_seeded(7)};
    asking->peer = http_peer_new();
    asking->clock = (struct clock){now, monotonic, skip_sleep, asking};
    struct model_options whole = {.temperature = 0.1,
                                  .max_tokens = 4096,
                                  .price_input_micro = -1,
                                  .price_output_micro = -1,
                                  .base_url = http_peer_url(asking->peer, "/v1"),
                                  .api_key_env = "RONDO_TEST_KEY"};
    if (options != NULL) {
        whole = *options;
    }
    if (whole.base_url == NULL && options != NULL) {
        whole.base_url = http_peer_url(asking->peer, "/v1");
    }
    setenv("RONDO_TEST_KEY", TEST_KEY, 1);
    assert_int_equal(http_client_new(NULL, &asking->http, &err), 0);
    assert_int_equal(cancel_init(&asking->cancel, &err), 0);
    whole.provider = provider;
    whole.name = name;
    whole.http = asking->http;
    whole.clock = &asking->clock;
    whole.random = &asking->random;
    if (model_open(&whole, &asking->model, &err) < 0) {
        fail_msg("%s", err.message);
    }
    asking->watcher = (struct model_watcher){on_text, on_thinking, on_retry, asking};
    asking->request = (struct model_request){
        .cancel = &asking->cancel,
        .watcher = &asking->watcher,
        .deadline_ns = INT64_MAX,
    };
}

void asking_close(struct asking *asking)
{
    for (size_t i = 0; i < asking->message_count; i++) {
        free(asking->messages[i].bytes);
    }
    buf_fini(&asking->text);
    buf_fini(&asking->thinking);
    buf_fini(&asking->retries);
    model_free(asking->model);
    http_client_free(asking->http);
    http_peer_free(asking->peer);
    cancel_fini(&asking->cancel);
}

static struct model_message *next(struct asking *asking)
{
    assert_true(asking->message_count < COUNT(asking->messages));
    return &asking->messages[asking->message_count++];
}

void asking_user(struct asking *asking, const char *text)
{
    model_write_user(asking->model, text, next(asking));
}

void asking_add(struct asking *asking, const struct model_reply *reply)
{
    model_write_assistant(asking->model, reply, next(asking));
}

void asking_answer(struct asking *asking, const struct model_reply *reply)
{
    struct model_answer answers[8];
    assert_true(reply->call_count <= COUNT(answers));
    for (size_t i = 0; i < reply->call_count; i++) {
        answers[i] = (struct model_answer){.call_id = reply->calls[i].id,
                                           .name = reply->calls[i].name,
                                           .text = "ok",
                                           .text_len = 2};
    }
    model_write_answers(asking->model, answers, reply->call_count, next(asking));
}

struct model_reply asking_ask(struct asking *asking)
{
    struct model_reply reply = {0};
    struct rondo_error err = {0};
    asking->request.messages = asking->messages;
    asking->request.message_count = asking->message_count;
    if (asking->request.deadline_ns == INT64_MAX) {
        asking->request.deadline_ns = clock_monotonic(&asking->clock) + 3600 * NS_PER_S;
    }
    if (model_ask(asking->model, &asking->request, &reply, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return reply;
}

struct model_reply asking_stream(struct asking *asking)
{
    asking->request.is_streaming = true;
    struct model_reply reply = asking_ask(asking);
    asking->request.is_streaming = false;
    return reply;
}

const char *asking_body(struct asking *asking, size_t number)
{
    return http_peer_request(asking->peer, number)->body;
}
