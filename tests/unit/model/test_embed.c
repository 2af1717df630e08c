// SPDX-License-Identifier: Apache-2.0
/* Embeddings: the bytes of a request, its reply, and endpoints that fail or hang. */
#include "asking.h"

#include "model/embed.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ITEM(index, vector) \
    "{\"object\":\"embedding\",\"index\":" index ",\"embedding\":" vector "}"
#define DATA(items) "{\"object\":\"list\",\"data\":[" items "],\"model\":\"e\"}"

static const char *const two_texts[] = {"one \"a\"", "two"};

static struct model_embed_usage last_usage;

/** Embed two texts. @return the code; the vectors as "1 0.5|0 1" in ret_text */
static int embed(struct asking *asking, int64_t timeout_ns, struct rondo_error *err,
                 char ret_text[128])
{
    struct buf vectors[2] = {0};
    ret_text[0] = '\0';
    int r = model_embed(asking->model, two_texts, 2, timeout_ns, &asking->cancel, vectors,
                        &last_usage, err);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < vectors[i].len / sizeof(float) && r == 0; k++) {
            float value;
            size_t len = strlen(ret_text);
            memcpy(&value, vectors[i].data + k * sizeof(value), sizeof(value));
            snprintf(ret_text + len, 128 - len, "%s%g",
                     k > 0   ? " "
                     : i > 0 ? "|"
                             : "",
                     (double)value);
        }
        buf_fini(&vectors[i]);
    }
    return r;
}

/** @return the vectors, or the message of the error; static */
static const char *embed_once(const char *provider, int status, const char *reply)
{
    static char text[RONDO_ERROR_MESSAGE_SIZE];
    struct asking asking;
    struct rondo_error err = {0};
    asking_open(&asking, provider, "e-1", NULL);
    http_peer_reply(asking.peer, status, JSON_TYPE, reply);
    if (embed(&asking, 30 * NS_PER_S, &err, text) < 0) {
        snprintf(text, sizeof(text), "%s", err.message);
    }
    asking_close(&asking);
    return text;
}

TEST(a_request_has_exactly_these_bytes)
{
    struct asking asking;
    struct rondo_error err = {0};
    char text[128];
    asking_open(&asking, "local", "e-1", NULL);
    http_peer_reply(asking.peer, 200, JSON_TYPE,
                    DATA(ITEM("0", "[1,0.5]") "," ITEM("1", "[0,-1]")));
    assert_int_equal(embed(&asking, 30 * NS_PER_S, &err, text), 0);
    assert_string_equal(text, "1 0.5|0 -1");
    const struct peer_request *request = http_peer_request(asking.peer, 0);
    assert_string_equal(request->method, "POST");
    assert_string_equal(request->path, "/v1/embeddings");
    assert_string_equal(http_peer_header(asking.peer, request, "authorization"),
                        "Bearer " TEST_KEY);
    assert_string_equal(asking_body(&asking, 0), "{\"model\":\"e-1\",\"input\":[\"one \\\"a\\\"\","
                                                 "\"two\"],\"encoding_format\":\"float\"}");
    asking_close(&asking);
}

#define USED(usage) \
    "{\"data\":[" ITEM("0", "[1,0]") "," ITEM("1", "[0,1]") "],\"model\":\"e\",\"usage\":" usage "}"

TEST(what_a_reply_reports_as_used_is_counted)
{
    embed_once("ollama", 200, USED("{\"prompt_tokens\":8,\"total_tokens\":9}"));
    assert_int_equal(last_usage.tokens, 9);
    assert_true(last_usage.has_cost); /* Local models are free. */
    assert_int_equal(last_usage.cost_micro, 0);
    embed_once("local", 200, USED("{\"prompt_tokens\":8}"));
    assert_int_equal(last_usage.tokens, 8);
    static const char *const nonsense[] = {"{}", "null", "[]", "{\"total_tokens\":-5}",
                                           "{\"total_tokens\":\"many\"}"};
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        char reply[256];
        snprintf(reply, sizeof(reply), USED("%s"), nonsense[i]);
        assert_string_equal(embed_once("local", 200, reply), "1 0|0 1");
        assert_int_equal(last_usage.tokens, 0);
    }
    embed_once("local", 200, USED("{\"total_tokens\":9000000000000000000}"));
    assert_int_equal(last_usage.tokens, 1000000000);
}

TEST(the_cost_is_known_where_the_price_and_the_tokens_are)
{
    static const struct {
        const char *model;
        const char *reply;
        bool has_cost;
        int64_t cost_micro;
    } cases[] = {
        {"text-embedding-3-small", USED("{\"total_tokens\":1000000}"), true, 20000},
        {"text-embedding-3-small", USED("{}"), false, 0},
        {"e-1", USED("{\"total_tokens\":1000000}"), false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct asking asking;
        struct rondo_error err = {0};
        char text[128];
        asking_open(&asking, "openai", cases[i].model, NULL);
        http_peer_reply(asking.peer, 200, JSON_TYPE, cases[i].reply);
        assert_int_equal(embed(&asking, 30 * NS_PER_S, &err, text), 0);
        assert_int_equal(last_usage.has_cost, cases[i].has_cost);
        assert_int_equal(last_usage.cost_micro, cases[i].cost_micro);
        asking_close(&asking);
    }
}

TEST(vectors_may_come_in_any_order)
{
    assert_string_equal(embed_once("local", 200, DATA(ITEM("1", "[0,1]") "," ITEM("0", "[1,0]"))),
                        "1 0|0 1");
}

TEST(a_reply_that_lacks_something_is_an_error)
{
    static const char *const replies[] = {
        "",
        "[]",
        "{}",
        "not json",
        DATA(ITEM("0", "[1]")),
        DATA(ITEM("0", "[1]") "," ITEM("0", "[1]")),
        DATA(ITEM("0", "[1]") "," ITEM("2", "[1]")),
        DATA(ITEM("0", "[1]") "," ITEM("1", "[1,2]")),
        DATA(ITEM("0", "[]") "," ITEM("1", "[]")),
        DATA(ITEM("0", "[1]") "," ITEM("1", "[\"x\"]")),
        DATA(ITEM("0", "[1]") "," ITEM("1", "\"AAAA\"")),
    };
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        assert_string_equal(embed_once("local", 200, replies[i]),
                            "embeddings of local:e-1: the reply does not have the vectors");
    }
}

TEST(failures_are_reported_without_a_key)
{
    assert_string_equal(embed_once("local", 401, "{\"error\":\"" TEST_KEY "\"}"),
                        "embeddings of local:e-1: HTTP status 401");
    assert_string_equal(embed_once("anthropic", 200, "{}"),
                        "provider `anthropic` has no embeddings");
}

TEST(an_endpoint_that_hangs_is_waited_for_until_the_deadline_only)
{
    struct asking asking;
    struct rondo_error err = {0};
    char text[128];
    asking_open(&asking, "local", "e-1", NULL);
    http_peer_reply_raw(asking.peer,
                        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n", .stalls = true});
    assert_true(embed(&asking, NS_PER_S / 10, &err, text) < 0);
    asking_close(&asking);
}

static void *cancel_it(void *context)
{
    struct asking *asking = context;
    http_peer_wait_stalled(asking->peer, 1);
    cancel_set(&asking->cancel, CANCEL_NOW);
    return NULL;
}

TEST(a_request_ends_when_it_is_cancelled)
{
    struct asking asking;
    struct rondo_error err = {0};
    char text[128];
    pthread_t thread;
    asking_open(&asking, "local", "e-1", NULL);
    http_peer_reply_raw(asking.peer,
                        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n", .stalls = true});
    assert_int_equal(pthread_create(&thread, NULL, cancel_it, &asking), 0);
    assert_true(embed(&asking, 600 * NS_PER_S, &err, text) < 0);
    pthread_join(thread, NULL);
    asking_close(&asking);
}

TEST(providers_have_their_usual_models)
{
    assert_string_equal(model_embed_default("openai"), "text-embedding-3-small");
    assert_string_equal(model_embed_default("ollama"), "nomic-embed-text");
    assert_null(model_embed_default("anthropic"));
}
