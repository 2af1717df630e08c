// SPDX-License-Identifier: Apache-2.0
/* The inbox over the API: who sees and who decides what, once, and what is refused. */
#include "api_world.h"

#include "handoff/inbox/inbox.h"

#define FIRST  "e6a19e20-f630-5f7a-91bd-71be0c3eae0d"
#define SECOND "7fce3aab-96f4-5117-817f-3579469c578b"
#define DIGEST "sha256:a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"
#define OTHER  "sha256:b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1"
#define BODY   "{\"status\":\"%s\",\"revision\":1,\"action_digest\":\"" DIGEST "\"%s}"

#define TEST_OF_INBOX(name) TEST_WITH(name, world_setup, world_teardown)

/** Submit a request to the store of a server, and put it on its desk. */
static void submit_for(struct api_world *world, const char *id, const char *agent,
                       enum handoff_level level, int64_t begin_ns)
{
    static const char body[] =
        "{\"action\":{\"tool\":\"run_shell\",\"args\":{\"command\":\"rm -rf \\u202e<b>x\"}},"
        "\"trigger\":{\"trigger_reason\":\"explicit_agent_rule\",\"message\":\"because\"}}";
    struct handoff_store handoffs = {.store = world->store, .rules = &handoff_default_rules};
    struct handoff_request request = {.request_id = id,
                                      .agent_id = agent,
                                      .lane_id = "lane",
                                      .action_digest = DIGEST,
                                      .body_digest = OTHER,
                                      .risk = level,
                                      .priority = level};
    struct handoff_result result;
    struct handoff handoff;
    assert_int_equal(handoff_submit(&handoffs, &request, body, begin_ns, &result, NULL), 0);
    assert_int_equal(inbox_route(&handoffs, id, begin_ns, &handoff, NULL), 0);
}

static void submit(struct api_world *world, const char *id, const char *agent,
                   enum handoff_level level)
{
    submit_for(world, id, agent, level, clock_now(clock_system()));
}

/** Send a decision. @param headers besides the key, or NULL for the version that it has */
static void decide(struct api_world *world, const char *token, const char *key, const char *version,
                   const char *status, const char *more, struct api_reply *ret_answer)
{
    auto_buf struct buf headers = {0};
    auto_buf struct buf body = {0};
    if (key != NULL) {
        buf_printf(&headers, "Idempotency-Key: %s\r\n", key);
    }
    if (version != NULL) {
        buf_printf(&headers, "If-Match: \"%s\"\r\n", version);
    }
    buf_printf(&body, BODY, status, more);
    ask(world, "POST", "/v1/hitl/decisions/" FIRST, token, buf_string(&headers), buf_string(&body),
        ret_answer);
}

static void expect_decision(struct api_world *world, const char *token, const char *key,
                            const char *version, const char *status, const char *more, int code,
                            const char *text)
{
    struct api_reply answer;
    decide(world, token, key, version, status, more, &answer);
    if (answer.status != code || strstr(answer.body, text) == NULL) {
        fail_msg("%s %s: %d %s", status, more, answer.status, answer.body);
    }
    answer_fini(&answer);
}

/** The version of the entry, from its ETag. */
static const char *version_of(struct api_world *world)
{
    static char version[24];
    struct api_reply answer;
    ask(world, "GET", "/v1/inbox/" FIRST, world->read, "", "", &answer);
    assert_int_equal(answer.status, 200);
    snprintf(version, sizeof(version), "%d", (int)json_get_int(answer.json, "version", 0));
    auto_buf struct buf etag = {0};
    buf_printf(&etag, "ETag: \"%s\"", version);
    assert_non_null(strcasestr(buf_string(&answer.all), buf_string(&etag)));
    answer_fini(&answer);
    return version;
}

static struct json_object *list_of(struct api_world *world, const char *path, const char *token,
                                   struct api_reply *ret_answer)
{
    ask(world, "GET", path, token, "", "", ret_answer);
    if (ret_answer->status != 200) {
        fail_msg("%s: %s", path, ret_answer->body);
    }
    return json_member(ret_answer->json, "handoffs");
}

static void expect_count(struct api_world *world, const char *path, const char *token, size_t count)
{
    struct api_reply answer;
    struct json_object *list = list_of(world, path, token, &answer);
    if (json_object_array_length(list) != count) {
        fail_msg("%s: %s", path, answer.body);
    }
    answer_fini(&answer);
}

TEST_OF_INBOX(the_inbox_is_sorted_by_the_time_that_is_left)
{
    struct api_world *world = *state;
    struct api_reply answer;
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    submit(world, SECOND, "stranger", HANDOFF_CRITICAL);
    struct json_object *list = list_of(world, "/v1/inbox", world->decide, &answer);
    assert_int_equal(json_object_array_length(list), 2);
    struct json_object *first = json_object_array_get_idx(list, 0);
    assert_string_equal(json_get_string(first, "request_id", ""), SECOND);
    assert_string_equal(json_get_string(first, "desk", ""), INBOX_DESK);
    assert_null(json_member(first, "request"));
    assert_non_null(strstr(answer.body, "\"critical\":1"));
    assert_non_null(strstr(answer.body, "{\"name\":\"operators\",\"count\":2}"));
    answer_fini(&answer);
    expect_count(world, "/v1/inbox?priority=low", world->decide, 1);
    expect_count(world, "/v1/inbox?agent=fixer", world->decide, 1);
    expect_count(world, "/v1/inbox?desk=leads", world->decide, 0);
    expect_count(world, "/v1/inbox?state=needs_info", world->decide, 0);
    expect_count(world, "/v1/inbox?q=RM%20-RF", world->decide, 2);
    expect_count(world, "/v1/inbox?q=nothing", world->decide, 0);
    expect_count(world, "/v1/inbox?q=STRANGER", world->decide, 1);
    expect_count(world, "/v1/inbox?q=run_shell", world->other, 1);
    expect_count(world, "/v1/inbox?run=lane", world->decide, 2);
    expect_count(world, "/v1/inbox?mine=true", world->decide, 2);
    expect_count(world, "/v1/inbox?mine=true", world->read, 0);
    static const char *const cursors[] = {"x",
                                          "2.1.0." FIRST,
                                          "0.1.0." FIRST "x",
                                          "0.1.0.",
                                          "0.1.0",
                                          "0.99999999999999999999.0." FIRST,
                                          "-1.1.0." FIRST};
    for (size_t i = 0; i < COUNT(cursors); i++) {
        char path[160];
        snprintf(path, sizeof(path), "/v1/inbox?cursor=%s", cursors[i]);
        expect_problem(world, "GET", path, world->read, "", "", "malformed");
    }
    expect_problem(world, "GET", "/v1/inbox?state=gone", world->read, "", "", "malformed");
}

TEST_OF_INBOX(a_page_of_the_inbox_continues_where_the_one_before_ended)
{
    struct api_world *world = *state;
    struct api_reply answer;
    char path[128];
    int64_t now_ns = clock_now(clock_system());
    submit_for(world, FIRST, "fixer", HANDOFF_LOW, now_ns);
    submit_for(world, SECOND, "fixer", HANDOFF_LOW, now_ns); /* due at the same time */
    struct json_object *list = list_of(world, "/v1/inbox?limit=1", world->read, &answer);
    assert_int_equal(json_object_array_length(list), 1);
    assert_string_equal(json_get_string(json_object_array_get_idx(list, 0), "request_id", ""),
                        SECOND);
    snprintf(path, sizeof(path), "/v1/inbox?limit=1&cursor=%s",
             json_get_string(answer.json, "next", ""));
    answer_fini(&answer);
    list = list_of(world, path, world->read, &answer);
    assert_string_equal(json_get_string(json_object_array_get_idx(list, 0), "request_id", ""),
                        FIRST);
    assert_string_equal(json_get_string(answer.json, "next", ""), "");
    answer_fini(&answer);
}

TEST_OF_INBOX(a_caller_sees_only_the_handoffs_of_its_agents)
{
    struct api_world *world = *state;
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    expect_count(world, "/v1/inbox", world->operate, 1);
    expect_count(world, "/v1/inbox", world->other, 0);
    expect(world, "GET", "/v1/inbox/" FIRST, world->operate, "", "", 200);
    expect_problem(world, "GET", "/v1/inbox/" FIRST, world->other, "", "", "not_found");
    expect_problem(world, "GET", "/v1/inbox/" SECOND, world->read, "", "", "not_found");
    expect_problem(world, "GET", "/v1/inbox/" FIRST, world->agent, "", "", "forbidden");
}

TEST_OF_INBOX(a_person_decides_and_the_next_one_is_told_who)
{
    struct api_world *world = *state;
    char ben[TOKEN_SIZE];
    make_token(world, "ben", TOKEN_DECIDE, NULL, ben);
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    char version[24];
    snprintf(version, sizeof(version), "%s", version_of(world));
    expect_decision(world, world->decide, "k1", version, "approved", ",\"context\":\"fine\"", 200,
                    "\"decided_by\":\"user:decide\"");
    expect_decision(world, ben, "k2", version, "rejected", ",\"context\":\"no\"", 409,
                    "\"decided_by\":\"user:decide\"");
    expect_decision(world, ben, "k2", version, "rejected", ",\"context\":\"no\"", 409,
                    "\"code\":\"already_decided\"");
    expect_count(world, "/v1/inbox", world->decide, 0);
    expect_count(world, "/v1/inbox?state=approved", world->decide, 1);
}

TEST_OF_INBOX(a_decision_is_made_once_for_its_key)
{
    struct api_world *world = *state;
    struct api_reply answer;
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    char version[24];
    snprintf(version, sizeof(version), "%s", version_of(world));
    expect_decision(world, world->decide, NULL, version, "approved", "", 400, "Idempotency-Key");
    expect_decision(world, world->decide, "k", NULL, "approved", "", 400, "If-Match");
    expect_decision(world, world->decide, "k", "x", "approved", "", 400, "If-Match");
    expect_decision(world, world->decide, "k", version, "approved", "", 200, "approved");
    decide(world, world->decide, "k", version, "approved", "", &answer);
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(buf_string(&answer.all), "Idempotency-Replayed: true"));
    answer_fini(&answer);
    expect_decision(world, world->decide, "k", version, "approved", ",\"context\":\"more\"", 422,
                    "idempotency_mismatch");
}

TEST_OF_INBOX(what_was_not_seen_is_not_decided)
{
    struct api_world *world = *state;
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    const char *version = version_of(world);
    static const char *const wrong[] = {
        "{\"status\":\"approved\",\"revision\":1,\"action_digest\":\"" OTHER "\"}",
        "{\"status\":\"approved\",\"revision\":2,\"action_digest\":\"" DIGEST "\"}",
        "{\"status\":\"approved\",\"revision\":1}",
        "{\"status\":\"approved\",\"action_digest\":\"" DIGEST "\"}",
        "{\"status\":\"approved\",\"revision\":\"1\",\"action_digest\":\"" DIGEST "\"}",
        "{\"status\":\"rejected\",\"revision\":1,\"action_digest\":\"" DIGEST "\"}",
        "{\"status\":\"needs_info\",\"revision\":1,\"action_digest\":\"" DIGEST "\"}",
        "{\"status\":\"needs_info\",\"revision\":1,\"action_digest\":\"" DIGEST
        "\",\"questions\":[1]}",
        "{\"status\":\"needs_info\",\"revision\":1,\"action_digest\":\"" DIGEST
        "\",\"questions\":[\"a\\u0000b\"]}",
        "{\"status\":\"rerouted\",\"revision\":1,\"action_digest\":\"" DIGEST "\"}",
        "{\"status\":\"claimed\"}",
        "{\"status\":\"granted\"}",
        "{}",
        "{\"status\":\"approved\",\"revision\":1,\"action_digest\":\"" DIGEST
        "\",\"by\":\"user:eve\"}",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char headers[96];
        snprintf(headers, sizeof(headers), "Idempotency-Key: w%zu\r\nIf-Match: \"%s\"\r\n", i,
                 version);
        expect_problem(world, "POST", "/v1/hitl/decisions/" FIRST, world->decide, headers, wrong[i],
                       "invalid");
    }
    expect_decision(world, world->decide, "old", "999", "approved", "", 409, "retryable\":true");
    expect_count(world, "/v1/inbox", world->decide, 1);
}

TEST_OF_INBOX(only_a_person_decides)
{
    struct api_world *world = *state;
    char fixer[TOKEN_SIZE];
    struct token_spec spec = {.name = "fixer-itself", .scope = TOKEN_DECIDE, .person = "fixer"};
    assert_int_equal(token_create(world->store, &spec, fixer, NULL, NULL), RONDO_ERR_INVALID);
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    const char *version = version_of(world);
    const char *const tokens[] = {world->read, world->operate, world->administer, world->agent};
    for (size_t i = 0; i < COUNT(tokens); i++) {
        expect_decision(world, tokens[i], "key", version, "approved", "", 403, "scope decide");
        expect_problem(world, "POST", "/v1/inbox/" FIRST "/claim", tokens[i], "", "", "forbidden");
    }
    assert_int_equal(token_revoke(world->store, "agent", NULL), 0);
    assert_int_equal(token_create(world->store, &spec, fixer, NULL, NULL), 0);
    expect_decision(world, fixer, "self", version, "approved", "", 403, "its own request");
    expect_problem(world, "POST", "/v1/runs", world->decide, "", "{\"command\":[\"true\"]}",
                   "forbidden");
    expect_count(world, "/v1/inbox", world->decide, 1);
}

TEST_OF_INBOX(a_claim_is_seen_and_released)
{
    struct api_world *world = *state;
    struct api_reply answer;
    char ben[TOKEN_SIZE];
    make_token(world, "ben", TOKEN_DECIDE, NULL, ben);
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    expect(world, "POST", "/v1/inbox/" FIRST "/claim", world->decide, "", "", 200);
    expect_problem(world, "POST", "/v1/inbox/" FIRST "/claim", ben, "", "", "conflict");
    expect_problem(world, "POST", "/v1/inbox/" FIRST "/release", ben, "", "", "conflict");
    expect_count(world, "/v1/inbox?mine=true", ben, 0);
    expect_count(world, "/v1/inbox?mine=true", world->decide, 1);
    ask(world, "GET", "/v1/inbox/" FIRST, ben, "", "", &answer);
    assert_string_equal(json_get_string(answer.json, "claimed_by", ""), "user:decide");
    answer_fini(&answer);
    expect(world, "POST", "/v1/inbox/" FIRST "/release", world->decide, "", "", 200);
    expect_count(world, "/v1/inbox?mine=true", ben, 1);
}

TEST_OF_INBOX(looking_has_no_effect)
{
    struct api_world *world = *state;
    submit(world, FIRST, "fixer", HANDOFF_LOW);
    char before[24];
    snprintf(before, sizeof(before), "%s", version_of(world));
    expect(world, "GET", "/v1/inbox/" FIRST, world->decide, "", "", 200);
    expect(world, "GET", "/v1/inbox/" FIRST "/claim", world->decide, "", "", 405);
    expect(world, "GET", "/v1/hitl/decisions/" FIRST, world->decide, "", "", 405);
    expect(world, "HEAD", "/v1/hitl/decisions/" FIRST, world->decide, "", "", 405);
    assert_string_equal(version_of(world), before);
}

int main(void)
{
    return test_run(NULL, NULL);
}
