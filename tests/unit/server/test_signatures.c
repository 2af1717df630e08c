// SPDX-License-Identifier: Apache-2.0
/* Signed requests of agents and signed answers: what is believed, once, and while keys change. */
#include "agents_world.h"
#include "base/ed25519.h"

#define LANE "{\"agent_id\":\"fixer\",\"lane_id\":\"%s\"}"

static void make_signing_token(struct api_world *world, enum token_signing signing,
                               const char *public_key, char *ret_secret)
{
    static const char *const fixer[] = {"fixer", NULL};
    struct token_spec spec = {.name = "signing",
                              .scope = TOKEN_AGENT,
                              .agents = fixer,
                              .signing = signing,
                              .public_key = public_key};
    assert_int_equal(token_create(world->store, &spec, world->agent, ret_secret, NULL), 0);
}

static struct signing_key key_of(const char *text)
{
    struct signing_key key;
    assert_int_equal(signing_key_read(text, &key, NULL), 0);
    return key;
}

/** The headers of a signed request. @param late seconds that are added to the time */
static void sign(const struct signing_key *key, const char *id, int64_t late, const char *body,
                 struct buf *ret_headers)
{
    auto_buf struct buf list = {0};
    int64_t now_s = clock_now(clock_system()) / NS_PER_S + late;
    signing_sign(key, id, now_s, body, strlen(body), &list);
    buf_clear(ret_headers);
    buf_printf(ret_headers,
               "webhook-id: %s\r\nwebhook-timestamp: %lld\r\nwebhook-signature: %s\r\n", id,
               (long long)now_s, buf_string(&list));
}

/** Open a lane, with headers; @param code of a refusal, or "" */
static void open_lane(struct api_world *world, const char *headers, const char *body, int status,
                      const char *code)
{
    struct api_reply answer;
    ask(world, "POST", "/v1/lanes", world->agent, headers, body, &answer);
    if (answer.status != status) {
        print_error("%s\n", buf_string(&answer.all));
    }
    assert_int_equal(answer.status, status);
    assert_string_equal(json_get_string(json_member(answer.json, "error"), "code", ""), code);
    answer_fini(&answer);
}

static void open_signed(struct api_world *world, const struct signing_key *key, const char *id,
                        int64_t late, int status, const char *code)
{
    char body[128];
    auto_buf struct buf headers = {0};
    snprintf(body, sizeof(body), LANE, id);
    sign(key, id, late, body, &headers);
    open_lane(world, buf_string(&headers), body, status, code);
}

SERVER_TEST(what_must_be_signed_is_refused_without_a_signature_and_noted)
{
    struct api_world *world = *state;
    char secret[SIGNING_TEXT_SIZE];
    char body[128];
    struct api_reply answer;
    make_signing_token(world, SIGNING_REQUIRED, NULL, secret);
    struct signing_key key = key_of(secret);
    snprintf(body, sizeof(body), LANE, "a");
    open_lane(world, "", body, 401, "signature_missing");
    open_lane(world,
              "webhook-id: 1\r\nwebhook-id: 1\r\nwebhook-timestamp: 1\r\n"
              "webhook-signature: v1,x\r\n",
              body, 401, "signature_missing");
    open_signed(world, &key, "b", 0, 201, "");
    struct signing_key other = key;
    other.bytes[0] ^= 1;
    open_signed(world, &other, "c", 0, 401, "signature_invalid");
    open_signed(world, &key, "d", -SIGNING_TOLERANCE_S - 2, 401, "signature_stale");
    open_signed(world, &key, "e", SIGNING_TOLERANCE_S + 2, 401, "signature_stale");
    ask(world, "GET", "/v1/dlq", world->administer, "", "", &answer);
    assert_non_null(strstr(answer.body, "signature_invalid"));
    assert_non_null(strstr(answer.body, "signature_stale"));
    assert_null(strstr(answer.body, "lane_id"));
    answer_fini(&answer);
    ask(world, "GET", "/metrics", world->administer, "", "", &answer);
    assert_non_null(
        strstr(answer.body, "relaytrace_verify_failures_total{reason=\"signature\"} 3"));
    assert_non_null(strstr(answer.body, "relaytrace_verify_failures_total{reason=\"stale\"} 2"));
    answer_fini(&answer);
}

SERVER_TEST(the_bytes_are_verified_before_they_are_read)
{
    struct api_world *world = *state;
    char secret[SIGNING_TEXT_SIZE];
    make_signing_token(world, SIGNING_REQUIRED, NULL, secret);
    open_lane(world, "webhook-id: x\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,x\r\n",
              "{\"not json", 401, "signature_invalid");
}

SERVER_TEST(an_id_counts_once)
{
    struct api_world *world = *state;
    char secret[SIGNING_TEXT_SIZE];
    char body[128];
    auto_buf struct buf headers = {0};
    struct api_reply answer;
    make_signing_token(world, SIGNING_REQUIRED, NULL, secret);
    struct signing_key key = key_of(secret);
    snprintf(body, sizeof(body), LANE, "a");
    sign(&key, "msg_1", 0, body, &headers);
    open_lane(world, buf_string(&headers), body, 201, "");
    open_lane(world, buf_string(&headers), body, 401, "signature_replayed");
    /* A repetition has a later time. */
    sign(&key, "msg_1", 1, body, &headers);
    open_lane(world, buf_string(&headers), body, 200, "");
    snprintf(body, sizeof(body), LANE, "b");
    sign(&key, "msg_1", 2, body, &headers);
    open_lane(world, buf_string(&headers), body, 401, "signature_replayed");
    /* The same bytes are no request of another path. */
    snprintf(body, sizeof(body), LANE, "a");
    sign(&key, "msg_1", 3, body, &headers);
    ask(world, "POST", "/v1/findings", world->agent, buf_string(&headers), body, &answer);
    assert_int_equal(answer.status, 401);
    answer_fini(&answer);
}

SERVER_TEST(what_may_be_signed_must_be_right)
{
    struct api_world *world = *state;
    char secret[SIGNING_TEXT_SIZE];
    char body[128];
    make_signing_token(world, SIGNING_OPTIONAL, NULL, secret);
    struct signing_key key = key_of(secret);
    snprintf(body, sizeof(body), LANE, "a");
    open_lane(world, "", body, 201, "");
    open_signed(world, &key, "b", 0, 201, "");
    key.bytes[0] ^= 1;
    open_signed(world, &key, "c", 0, 401, "signature_invalid");
}

SERVER_TEST(a_secret_is_replaced_without_a_gap)
{
    struct api_world *world = *state;
    char secret[SIGNING_TEXT_SIZE];
    struct api_reply answer;
    make_signing_token(world, SIGNING_REQUIRED, NULL, secret);
    struct signing_key former = key_of(secret);
    expect(world, "POST", "/v1/keys/rotate", world->operate, "", "{\"token\":\"signing\"}", 403);
    expect(world, "POST", "/v1/keys/rotate", world->administer, "", "{\"token\":\"agent\"}", 422);
    expect(world, "POST", "/v1/keys/rotate", world->administer, "", "{\"token\":\"nobody\"}", 404);
    ask(world, "POST", "/v1/keys/rotate", world->administer, "",
        "{\"token\":\"signing\",\"overlap_seconds\":60}", &answer);
    assert_int_equal(answer.status, 200);
    struct signing_key current = key_of(json_get_string(answer.json, "secret", ""));
    answer_fini(&answer);
    open_signed(world, &former, "a", 0, 201, "");
    open_signed(world, &current, "b", 0, 201, "");
    ask(world, "POST", "/v1/keys/rotate", world->administer, "",
        "{\"token\":\"signing\",\"overlap_seconds\":0}", &answer);
    assert_int_equal(answer.status, 200);
    struct signing_key last = key_of(json_get_string(answer.json, "secret", ""));
    answer_fini(&answer);
    open_signed(world, &former, "c", 0, 401, "signature_invalid");
    open_signed(world, &current, "d", 0, 401, "signature_invalid");
    open_signed(world, &last, "e", 0, 201, "");
}

/** A header of an answer, copied. */
static void header_of(const struct api_reply *answer, const char *name, char *ret_value,
                      size_t size)
{
    char line[64];
    snprintf(line, sizeof(line), "\r\n%s: ", name);
    const char *found = strcasestr(buf_string(&answer->all), line);
    assert_non_null(found);
    found += strlen(line);
    snprintf(ret_value, size, "%.*s", (int)strcspn(found, "\r"), found);
}

static void expect_signed_answer(const struct api_reply *answer, const struct signing_key *keys,
                                 size_t count)
{
    char id[64], timestamp[32], signature[512];
    header_of(answer, "webhook-id", id, sizeof(id));
    header_of(answer, "webhook-timestamp", timestamp, sizeof(timestamp));
    header_of(answer, "webhook-signature", signature, sizeof(signature));
    struct signed_message message = {id, timestamp, signature, answer->body, strlen(answer->body)};
    assert_int_equal(signing_verify(keys, count, &message, clock_now(clock_system()) / NS_PER_S),
                     SIGNING_GENUINE);
}

SERVER_TEST(answers_are_signed_with_the_secret_of_the_token)
{
    struct api_world *world = *state;
    char secret[SIGNING_TEXT_SIZE];
    struct api_reply answer;
    make_signing_token(world, SIGNING_REQUIRED, NULL, secret);
    struct signing_key key = key_of(secret);
    ask(world, "GET", "/v1/hitl/requests/e6a19e20-f630-5f7a-91bd-71be0c3eae0d", world->agent, "",
        "", &answer);
    assert_int_equal(answer.status, 404);
    expect_signed_answer(&answer, &key, 1);
    answer_fini(&answer);
}

SERVER_TEST(a_pair_of_the_agent_verifies_its_requests)
{
    struct api_world *world = *state;
    char text[SIGNING_TEXT_SIZE];
    char secret[SIGNING_TEXT_SIZE] = "x";
    struct api_reply answer;
    struct signing_key own = {.kind = SIGNING_SECRET, .len = ED25519_SECRET_SIZE, .bytes = {7}};
    struct signing_key public_key = {.kind = SIGNING_PUBLIC, .len = ED25519_PUBLIC_SIZE};
    ed25519_public(own.bytes, public_key.bytes);
    signing_key_write(&public_key, text);
    make_signing_token(world, SIGNING_REQUIRED, text, secret);
    assert_string_equal(secret, "");
    open_signed(world, &own, "a", 0, 201, "");
    own.bytes[0] ^= 1;
    open_signed(world, &own, "b", 0, 401, "signature_invalid");
    /* Answers are signed with the pair of the server. */
    ask(world, "POST", "/v1/keys/rotate", world->administer, "", "{}", &answer);
    assert_int_equal(answer.status, 200);
    struct signing_key of_server = key_of(json_get_string(answer.json, "public_key", ""));
    answer_fini(&answer);
    ask(world, "GET", "/v1/hitl/requests/e6a19e20-f630-5f7a-91bd-71be0c3eae0d", world->agent, "",
        "", &answer);
    expect_signed_answer(&answer, &of_server, 1);
    answer_fini(&answer);
}
