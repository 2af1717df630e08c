// SPDX-License-Identifier: Apache-2.0
/* The parts of the server that need no socket. */
#include "../../support/store/memory_store.h"
#include "alert/sink.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "server/answer/idempotency.h"
#include "server/answer/problem.h"
#include "server/api/openapi.h"
#include "server/api/run_cursor.h"
#include "server/auth/access.h"
#include "server/auth/rate.h"
#include "server/router.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Routes --------------------------------------------------------------------------------- */

TEST(a_path_is_matched_and_decoded)
{
    struct route_match match;
    (void)state;
    assert_int_equal(router_match(routes, "GET", "/v1/runs/a%62c", &match), ROUTE_FOUND);
    assert_string_equal(match.route->operation, "getRun");
    assert_string_equal(route_value(&match, "run"), "abc");
    assert_int_equal(router_match(routes, "HEAD", "/v1/runs", &match), ROUTE_FOUND);
    assert_int_equal(router_match(routes, "PUT", "/v1/runs", &match), ROUTE_OTHER_METHOD);
    assert_string_equal(match.allow, "GET, HEAD, POST");
    assert_int_equal(router_match(routes, "GET", "/v1/policies/history", &match), ROUTE_FOUND);
    assert_string_equal(match.route->operation, "listPolicyChanges");
    static const char *const nowhere[] = {"",
                                          "v1/runs",
                                          "/v1/runs/",
                                          "/v1//runs",
                                          "/v1/runs/..",
                                          "/v1/runs/%2e%2e",
                                          "/v1/runs/%2f",
                                          "/v1/runs/%5c",
                                          "/v1/runs/%0a",
                                          "/v1/runs/%ff",
                                          "/v1/runs/%4",
                                          "/v1/runs/%"};
    for (size_t i = 0; i < COUNT(nowhere); i++) {
        assert_int_equal(router_match(routes, "GET", nowhere[i], &match), ROUTE_UNKNOWN);
    }
}

TEST(a_value_is_as_long_as_its_limit)
{
    char path[ROUTE_VALUE_SIZE + 32];
    struct route_match match;
    (void)state;
    snprintf(path, sizeof(path), "/v1/runs/%0*d", ROUTE_VALUE_SIZE - 1, 0);
    assert_int_equal(router_match(routes, "GET", path, &match), ROUTE_FOUND);
    snprintf(path, sizeof(path), "/v1/runs/%0*d", ROUTE_VALUE_SIZE, 0);
    assert_int_equal(router_match(routes, "GET", path, &match), ROUTE_UNKNOWN);
}

static struct json_object *member(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    json_object_object_get_ex(object, name, &value);
    return value;
}

/** Parameters of an operation in the query, checked against a route's list. */
static size_t check_parameters(struct json_object *operation, const struct route *route)
{
    struct json_object *list = member(operation, "parameters");
    size_t count = 0;
    for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
        struct json_object *parameter = json_object_array_get_idx(list, i);
        if (strcmp(json_get_string(parameter, "in", ""), "query") == 0) {
            count++;
            assert_true(route_list_has(route->query, json_get_string(parameter, "name", "")));
        }
    }
    return count;
}

TEST(the_description_has_every_route_and_no_other)
{
    size_t len = 0;
    size_t described = 0;
    size_t count = 0;
    auto_json struct json_object *root = NULL;
    const char *text = openapi_text(&len);
    (void)state;
    assert_int_equal(json_parse(text, len, &root, NULL), 0);
    struct json_object *paths = member(root, "paths");
    for (const struct route *route = routes; route->operation != NULL; route++, count++) {
        char method[8] = "";
        for (size_t i = 0; route->method[i] != '\0'; i++) {
            method[i] = (char)(route->method[i] | 0x20);
        }
        struct json_object *operation = member(member(paths, route->pattern), method);
        if (operation == NULL) {
            fail_msg("%s has no entry in src/server/openapi", route->operation);
        }
        assert_string_equal(json_get_string(operation, "operationId", ""), route->operation);
        assert_string_equal(json_get_string(operation, "x-rondo-scope", "none"),
                            route->is_public ? "none" : token_right_name(route->right));
        assert_int_equal(json_get_bool(operation, "x-rondo-all-agents", false),
                         route->needs_all_agents);
        size_t listed = 0;
        for (const char *at = route->query; at != NULL && *at != '\0'; at++) {
            listed += at == route->query || at[-1] == ',';
        }
        assert_int_equal(check_parameters(operation, route), listed);
        struct json_object *body = member(operation, "requestBody");
        assert_int_equal(body != NULL, route->body != ROUTE_NO_BODY);
        assert_int_equal(json_get_bool(body, "required", false), route->body == ROUTE_NEEDS_BODY);
    }
    struct json_object_iterator at = json_object_iter_begin(paths);
    struct json_object_iterator end = json_object_iter_end(paths);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        described += (size_t)json_object_object_length(json_object_iter_peek_value(&at));
    }
    assert_int_equal(described, count);
}

TEST(the_description_knows_every_kind_of_sink)
{
    size_t len = 0;
    auto_json struct json_object *root = NULL;
    const char *text = openapi_text(&len);
    (void)state;
    assert_int_equal(json_parse(text, len, &root, NULL), 0);
    struct json_object *schemas = member(member(root, "components"), "schemas");
    struct json_object *names = member(member(schemas, "SinkKind"), "enum");
    assert_int_equal(json_object_array_length(names), SINK_KIND_COUNT);
    for (enum sink_kind kind = 0; kind < SINK_KIND_COUNT; kind++) {
        const char *name = json_object_get_string(json_object_array_get_idx(names, kind));
        assert_string_equal(name, sink_kind_name(kind));
    }
}

TEST(the_description_knows_every_problem)
{
    size_t len = 0;
    auto_json struct json_object *root = NULL;
    (void)state;
    const char *text = openapi_text(&len);
    assert_int_equal(json_parse(text, len, &root, NULL), 0);
    struct json_object *schema = member(member(member(root, "components"), "schemas"), "Problem");
    struct json_object *codes = member(member(member(schema, "properties"), "code"), "enum");
    assert_int_equal(json_object_array_length(codes), PROBLEM_CODE_COUNT);
    for (int i = 0; i < PROBLEM_CODE_COUNT; i++) {
        assert_string_equal(json_object_get_string(json_object_array_get_idx(codes, (size_t)i)),
                            problem_name((enum problem_code)i));
    }
}

TEST(what_never_became_a_request_has_a_problem_of_its_own)
{
    /* All that src/net/server refuses with. */
    static const unsigned statuses[] = {400, 408, 413, 414, 431, 500, 501, 503, 505};
    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        auto_buf struct buf text = {0};
        auto_json struct json_object *root = NULL;
        problem_of_status(statuses[i], &text);
        assert_int_equal(json_parse(text.data, text.len, &root, NULL), 0);
        assert_int_equal(json_get_int(root, "status", 0), statuses[i]);
    }
}

/* ---- Callers -----------------------------------------------------------------------------------
 */

TEST(only_our_names_are_ours)
{
    static const char *const listen[] = {"here.example:7466", "[fd00::1]:7466", "unix:/run/x",
                                         NULL};
    static const char *const hosts[] = {"rondo.example", NULL};
    static const char *const ours[] = {
        "localhost", "LOCALHOST:80", "127.0.0.1:1",       "[::1]", "[::1]:7466",    "here.example",
        "box7",      "BOX7:80",      "rondo.example:443", "Box7.", "Rondo.Example."};
    static const char *const others[] = {"",
                                         "evil.example",
                                         "localhost.evil.example",
                                         "127.0.0.1.evil.example",
                                         "box",
                                         "box7.evil",
                                         "localhost:8x",
                                         "localhost:123456",
                                         "[::1",
                                         "[::1]x",
                                         "unix",
                                         "user@localhost",
                                         "[box7]:80",
                                         "[localhost]",
                                         "rondo.example.evil"};
    struct access_names names = {listen, hosts, "box7"};
    (void)state;
    for (size_t i = 0; i < COUNT(ours); i++) {
        assert_true(access_is_our_host(&names, ours[i]));
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_false(access_is_our_host(&names, others[i]));
    }
    assert_false(access_is_our_host(&names, NULL));
}

TEST(addresses_in_digits_are_ours)
{
    static const char *const ours[] = {"10.0.0.5",  "192.0.2.7:7466", "127.0.0.2:1", "0.0.0.0",
                                       "[fd00::1]", "[fe80::1]:9",    "[::]:80"};
    static const char *const others[] = {
        "10.0.0",  "10.0.0.256", "010.0.0.5",        "0x7f.0.0.1", "2130706433", "10.0.0.5.com",
        "fd00::1", "[10.0.0.5]", "[fe80::1%25eth0]", "[]",         "[",          "[fd00::1"};
    struct access_names names = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(ours); i++) {
        assert_true(access_is_our_host(&names, ours[i]));
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_false(access_is_our_host(&names, others[i]));
    }
}

TEST(a_name_to_add_has_no_scheme_and_no_port)
{
    static const char *const good[] = {"rondo.example.org", "box", "a_b-c.d", "10.0.0.5",
                                       "[fd00::1]"};
    static const char *const bad[] = {
        "", "https://rondo.example.org", "rondo:80", "a b", "*.x", "rondo/", "fd00::1", "a\nb"};
    char longest[257];
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(access_is_host_name(good[i]));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_false(access_is_host_name(bad[i]));
    }
    memset(longest, 'a', sizeof(longest));
    longest[256] = '\0';
    assert_false(access_is_host_name(longest));
    longest[255] = '\0';
    assert_true(access_is_host_name(longest));
}

TEST(a_peer_is_counted_by_its_address_or_network)
{
    static const char *const cases[][2] = {
        {"192.0.2.7:4711", "peer 192.0.2.7"},
        {"127.0.0.1:1", "peer 127.0.0.1"},
        {"[2001:db8:1:2:3:4:5:6]:4711", "peer [2001:db8:1:2::]"},
        {"[2001:db8:1:2:ffff::1]:80", "peer [2001:db8:1:2::]"},
        {"[::1]:7466", "peer [::]"},
        {"unix", "peer unix"},
    };
    char name[96];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        access_name_peer(cases[i][0], name, sizeof(name));
        assert_string_equal(name, cases[i][1]);
    }
}

TEST(an_origin_is_ours_with_name_and_port)
{
    assert_true(access_is_same_origin("http://localhost:7466", "localhost:7466"));
    assert_true(access_is_same_origin("https://rondo.example", "rondo.example:443"));
    assert_false(access_is_same_origin("http://localhost:1", "localhost:7466"));
    assert_false(access_is_same_origin("http://localhost", "localhost:7466"));
    assert_false(access_is_same_origin("null", "localhost:7466"));
    assert_false(access_is_same_origin("http://evil", "localhost:7466"));
    assert_false(access_is_same_origin("file://localhost:7466", "localhost:7466"));
}

TEST(a_token_counts_until_it_is_revoked_or_over)
{
    static const char *const agents[] = {"a", "b", NULL};
    struct store *store = store_memory_new(NULL);
    struct token_grant grant;
    char token[TOKEN_SIZE];
    char second[TOKEN_SIZE];
    (void)state;
    struct token_spec ci = {
        .name = "ci", .scope = TOKEN_OPERATE, .agents = agents, .expires_ns = 1000};
    struct token_spec two = {.name = "two", .scope = TOKEN_READ};
    struct token_spec wrong = {.name = "x y", .scope = TOKEN_READ};
    assert_int_equal(token_create(store, &ci, token, NULL, NULL), 0);
    assert_int_equal(strlen(token), 6 + 43);
    assert_int_equal(token_create(store, &ci, second, NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(token_check(store, token, 999, &grant, NULL), 0);
    assert_int_equal(grant.scope, TOKEN_OPERATE);
    assert_string_equal(grant.name, "token ci");
    assert_true(token_grant_covers(&grant, "a"));
    assert_false(token_grant_covers(&grant, "c"));
    token_grant_fini(&grant);
    assert_int_equal(token_check(store, token, 1000, &grant, NULL), 0);
    assert_int_equal(grant.scope, TOKEN_NONE);
    token[10] = token[10] == 'A' ? 'B' : 'A';
    assert_int_equal(token_check(store, token, 1, &grant, NULL), 0);
    assert_int_equal(grant.scope, TOKEN_NONE);
    assert_int_equal(token_create(store, &wrong, second, NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(token_create(store, &two, second, NULL, NULL), 0);
    assert_int_equal(token_revoke(store, "two", NULL), 0);
    assert_int_equal(token_revoke(store, "two", NULL), RONDO_ERR_NOT_FOUND);
    assert_int_equal(token_check(store, second, 1, &grant, NULL), 0);
    assert_int_equal(grant.scope, TOKEN_NONE);
    auto_buf struct buf list = {0};
    assert_int_equal(token_list(store, &list, NULL), 0);
    assert_non_null(strstr(buf_string(&list), "\"agents\":[\"a\",\"b\"]"));
    assert_null(strstr(buf_string(&list), "two"));
    store_close(store);
}

TEST(no_scope_decides_and_makes_an_agent_act)
{
    (void)state;
    for (enum token_scope scope = TOKEN_NONE; scope < TOKEN_SCOPE_COUNT; scope++) {
        unsigned rights = token_scope_rights(scope);
        bool acts = (rights & (RIGHT_OPERATE | RIGHT_ADMINISTER | RIGHT_AGENT)) != 0;
        assert_false((rights & RIGHT_DECIDE) != 0 && acts);
        assert_false((rights & RIGHT_AGENT) != 0 && rights != RIGHT_AGENT);
    }
    assert_int_equal(RIGHTS_LOCAL & RIGHT_AGENT, 0);
    for (unsigned right = RIGHT_READ; right <= RIGHT_AGENT; right *= 2) {
        bool is_alone = strcmp(token_right_name((enum token_right)right), "agent") == 0;
        assert_int_equal(is_alone, right == RIGHT_AGENT);
    }
}

TEST(a_token_that_decides_is_a_persons)
{
    struct store *store = store_memory_new(NULL);
    struct token_spec named = {.name = "phone", .scope = TOKEN_DECIDE, .person = "ann"};
    struct token_spec plain = {.name = "ben", .scope = TOKEN_DECIDE};
    struct token_spec reader = {.name = "eve", .scope = TOKEN_READ, .person = "ann"};
    struct token_spec forged = {.name = "eve", .scope = TOKEN_DECIDE, .person = "ann\nuser:x"};
    struct token_grant grant;
    char token[TOKEN_SIZE];
    (void)state;
    assert_int_equal(token_create(store, &named, token, NULL, NULL), 0);
    assert_int_equal(token_check(store, token, 1, &grant, NULL), 0);
    assert_string_equal(grant.name, "token phone");
    assert_string_equal(grant.person, "user:ann");
    token_grant_fini(&grant);
    assert_int_equal(token_create(store, &plain, token, NULL, NULL), 0);
    assert_int_equal(token_check(store, token, 1, &grant, NULL), 0);
    assert_string_equal(grant.person, "user:ben");
    token_grant_fini(&grant);
    assert_int_equal(token_create(store, &reader, token, NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(token_create(store, &forged, token, NULL, NULL), RONDO_ERR_INVALID);
    store_close(store);
}

TEST(a_token_of_an_agent_names_agents)
{
    static const char *const none[] = {NULL};
    static const char *const triage[] = {"triage-01", NULL};
    struct store *store = store_memory_new(NULL);
    struct token_spec spec = {.name = "triage", .scope = TOKEN_AGENT};
    struct token_grant grant;
    char token[TOKEN_SIZE];
    (void)state;
    assert_int_equal(token_create(store, &spec, token, NULL, NULL), RONDO_ERR_INVALID);
    spec.agents = none;
    assert_int_equal(token_create(store, &spec, token, NULL, NULL), RONDO_ERR_INVALID);
    spec.agents = triage;
    assert_int_equal(token_create(store, &spec, token, NULL, NULL), 0);
    assert_int_equal(token_check(store, token, 1, &grant, NULL), 0);
    assert_int_equal(grant.rights, RIGHT_AGENT);
    assert_string_equal(grant.person, "");
    assert_true(token_grant_covers(&grant, "triage-01"));
    assert_false(token_grant_covers(&grant, "triage-02"));
    token_grant_fini(&grant);
    store_close(store);
}

static bool count_one(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

TEST(an_agent_has_no_token_that_decides)
{
    static const char *const agents[] = {"triage-01", "triage-02", NULL};
    struct store *store = store_memory_new(NULL);
    struct token_spec agent = {
        .name = "triage", .scope = TOKEN_AGENT, .agents = agents, .person = "ann"};
    struct token_spec decider = {.name = "triage-02", .scope = TOKEN_DECIDE};
    struct token_spec second = {.name = "second", .scope = TOKEN_DECIDE, .person = "triage-03"};
    struct token_grant grant;
    char token[TOKEN_SIZE];
    (void)state;
    assert_int_equal(token_create(store, &agent, token, NULL, NULL), 0);
    assert_int_equal(token_check(store, token, 1, &grant, NULL), 0);
    assert_string_equal(grant.owner, "user:ann");
    assert_string_equal(grant.person, "");
    token_grant_fini(&grant);
    assert_int_equal(token_create(store, &decider, token, NULL, NULL), RONDO_ERR_INVALID);
    assert_int_equal(token_create(store, &second, token, NULL, NULL), 0);
    assert_true(token_is_of_agent(store, "user:triage-02", "another", ""));
    assert_true(token_is_of_agent(store, "user:ann", "triage-01", ""));
    assert_true(token_is_of_agent(store, "user:ann", "another", "triage-01"));
    assert_false(token_is_of_agent(store, "user:ann", "another", ""));
    assert_false(token_is_of_agent(store, "user:ben", "triage-01", ""));
    store_close(store);
}

TEST(the_last_use_of_a_token_is_noted_once_a_minute)
{
    struct store *store = store_memory_new(NULL);
    struct token_uses uses = {0};
    struct token_spec spec = {.name = "ann", .scope = TOKEN_READ};
    struct token_grant grant;
    auto_buf struct buf list = {0};
    char token[TOKEN_SIZE];
    struct store_document_query query = {.collection = "token-use"};
    size_t count = 0;
    (void)state;
    assert_int_equal(token_create(store, &spec, token, NULL, NULL), 0);
    assert_int_equal(token_check(store, token, 1, &grant, NULL), 0);
    token_note_use(store, &uses, grant.digest, clock_now(clock_system()));
    assert_int_equal(token_list(store, &list, NULL), 0);
    assert_null(strstr(buf_string(&list), "\"last_used\":null"));
    struct store_change gone = {STORE_DELETE,      "token-use", grant.digest, NULL, 0,
                                STORE_ANY_VERSION, false};
    bool is_applied = false;
    assert_int_equal(store->ops->change_documents(store, &gone, 1, &is_applied, NULL), 0);
    token_note_use(store, &uses, grant.digest, clock_now(clock_system()));
    assert_int_equal(store->ops->read_documents(store, &query, count_one, &count, NULL), 0);
    assert_int_equal(count, 0);
    token_note_use(store, &uses, grant.digest, clock_now(clock_system()) + 61 * NS_PER_S);
    assert_int_equal(store->ops->read_documents(store, &query, count_one, &count, NULL), 0);
    assert_int_equal(count, 1);
    token_grant_fini(&grant);
    store_close(store);
}

TEST(a_bucket_empties_and_fills)
{
    struct rate *rate = rate_new(2);
    int64_t wait = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(rate_take(rate, "a", 0, &wait));
    }
    assert_false(rate_take(rate, "a", 0, &wait));
    assert_int_equal(wait, 1);
    assert_true(rate_take(rate, "b", 0, &wait));
    assert_true(rate_take(rate, "a", NS_PER_S / 2, &wait));
    assert_false(rate_take(rate, "a", NS_PER_S / 2, &wait));
    assert_true(rate_take(rate, "a", INT64_C(4000000000000000000), &wait));
    rate_free(rate);
}

TEST(many_names_do_not_free_the_one_that_is_busy)
{
    struct rate *rate = rate_new(1);
    int64_t wait = 0;
    size_t taken = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        char name[16];
        taken += rate_take(rate, "busy", i, &wait);
        snprintf(name, sizeof(name), "n%d", i);
        rate_take(rate, name, i, &wait);
    }
    assert_int_equal(taken, 2);
    rate_free(rate);
}

/* ---- Again ---------------------------------------------------------------------------------- */

TEST(a_key_that_was_lost_is_taken_with_the_id_of_its_run)
{
    static const char id[] = "018bcfe5-6800-7000-8000-000000000001";
    struct store *store = store_memory_new(NULL);
    struct idempotency dead = {store, "one"};
    struct idempotency ours = {store, "two"};
    struct idempotency other = {store, "three"};
    struct idempotency_request request = {"me", "key", "POST", "/v1/runs", "{}", 2, id};
    struct idempotency_slot slot;
    struct idempotency_slot theirs;
    struct idempotency_answer answer = {201, NULL, (char[]){"{}"}};
    struct idempotency_answer got = {0};
    enum idempotency_outcome outcome;
    bool is_ours = false;
    (void)state;
    assert_int_equal(idempotency_begin(&dead, &request, 1, &outcome, &slot, &got, NULL), 0);
    request.run_id = "018bcfe5-6800-7000-8000-000000000002";
    assert_int_equal(idempotency_begin(&ours, &request, 5, &outcome, &slot, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_LOST);
    assert_string_equal(slot.run_id, id);
    assert_int_equal(slot.created_ns, 1);
    theirs = slot;

    assert_int_equal(idempotency_retake(&ours, &slot, &is_ours, NULL), 0);
    assert_true(is_ours);
    assert_int_equal(idempotency_retake(&other, &theirs, &is_ours, NULL), 0);
    assert_false(is_ours);
    assert_int_equal(idempotency_begin(&ours, &request, 6, &outcome, &theirs, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_UNDER_WAY);
    assert_int_equal(idempotency_finish(&ours, &slot, &answer, NULL), 0);
    assert_int_equal(idempotency_begin(&other, &request, 7, &outcome, &theirs, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_REPLAY);
    idempotency_answer_fini(&got);
    store_close(store);
}

TEST(a_key_gives_its_answer_again)
{
    struct store *store = store_memory_new(NULL);
    struct idempotency ours = {store, "one"};
    struct idempotency other = {store, "two"};
    struct idempotency_request request = {"me", "key", "POST", "/v1/runs", "{}", 2, NULL};
    struct idempotency_slot slot;
    struct idempotency_answer answer = {201, (char[]){"/x"}, (char[]){"{\"a\":1}"}};
    struct idempotency_answer got = {0};
    enum idempotency_outcome outcome;
    (void)state;
    assert_int_equal(idempotency_begin(&ours, &request, 1, &outcome, &slot, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_NEW);
    struct idempotency_slot unused;
    assert_int_equal(idempotency_begin(&ours, &request, 2, &outcome, &unused, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_UNDER_WAY);
    assert_int_equal(idempotency_begin(&other, &request, 2, &outcome, &unused, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_LOST);
    assert_string_equal(unused.run_id, "");
    assert_int_equal(idempotency_finish(&ours, &slot, &answer, NULL), 0);
    assert_int_equal(idempotency_begin(&other, &request, 3, &outcome, &unused, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_REPLAY);
    assert_int_equal(got.status, 201);
    assert_string_equal(got.location, "/x");
    assert_string_equal(got.body, "{\"a\":1}");
    idempotency_answer_fini(&got);
    request.body = "[]";
    assert_int_equal(idempotency_begin(&ours, &request, 4, &outcome, &unused, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_MISMATCH);
    request.caller = "you";
    assert_int_equal(idempotency_begin(&ours, &request, 5, &outcome, &slot, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_NEW);
    idempotency_forget(&ours, &slot);
    assert_int_equal(idempotency_begin(&ours, &request, 6, &outcome, &slot, &got, NULL), 0);
    assert_int_equal(outcome, IDEMPOTENCY_NEW);
    store_close(store);
}

TEST(a_key_is_free_again_after_a_day)
{
    struct store *store = store_memory_new(NULL);
    struct idempotency ours = {store, "one"};
    struct idempotency_request request = {"me", "key", "POST", "/v1/runs", "{}", 2, NULL};
    struct idempotency_slot slot;
    struct idempotency_answer got = {0};
    enum idempotency_outcome outcome;
    (void)state;
    idempotency_begin(&ours, &request, 1, &outcome, &slot, &got, NULL);
    idempotency_begin(&ours, &request, IDEMPOTENCY_WORK_NS, &outcome, &slot, &got, NULL);
    assert_int_equal(outcome, IDEMPOTENCY_UNDER_WAY);
    /* The store failed when the answer had to be recorded. */
    idempotency_begin(&ours, &request, IDEMPOTENCY_WORK_NS + 1, &outcome, &slot, &got, NULL);
    assert_int_equal(outcome, IDEMPOTENCY_LOST);
    idempotency_begin(&ours, &request, IDEMPOTENCY_KEEP_NS, &outcome, &slot, &got, NULL);
    assert_int_equal(outcome, IDEMPOTENCY_LOST);
    idempotency_begin(&ours, &request, IDEMPOTENCY_KEEP_NS + 1, &outcome, &slot, &got, NULL);
    assert_int_equal(outcome, IDEMPOTENCY_NEW);
    idempotency_prune(&ours, 3 * IDEMPOTENCY_KEEP_NS);
    idempotency_begin(&ours, &request, IDEMPOTENCY_KEEP_NS + 2, &outcome, &slot, &got, NULL);
    assert_int_equal(outcome, IDEMPOTENCY_NEW);
    store_close(store);
}

TEST(old_keys_are_deleted_faster_than_new_ones_come)
{
    struct store *store = store_memory_new(NULL);
    struct idempotency ours = {store, "one"};
    struct idempotency_slot slot;
    struct idempotency_answer got = {0};
    enum idempotency_outcome outcome;
    char key[32];
    (void)state;
    for (int i = 0; i < IDEMPOTENCY_PRUNED + 50; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        struct idempotency_request request = {"me", key, "POST", "/v1/runs", "{}", 2, NULL};
        assert_int_equal(idempotency_begin(&ours, &request, 1 + i, &outcome, &slot, &got, NULL), 0);
    }
    assert_int_equal(idempotency_prune(&ours, IDEMPOTENCY_KEEP_NS), 0);
    assert_int_equal(idempotency_prune(&ours, 2 * IDEMPOTENCY_KEEP_NS), IDEMPOTENCY_PRUNED);
    assert_int_equal(idempotency_prune(&ours, 2 * IDEMPOTENCY_KEEP_NS), 50);
    assert_int_equal(idempotency_prune(&ours, 2 * IDEMPOTENCY_KEEP_NS), 0);
    store_close(store);
}

TEST(a_key_has_visible_characters)
{
    char key[LIMIT_IDEMPOTENCY_KEY + 2];
    (void)state;
    memset(key, 'k', sizeof(key));
    key[LIMIT_IDEMPOTENCY_KEY + 1] = '\0';
    assert_false(idempotency_key_is_valid(key));
    key[LIMIT_IDEMPOTENCY_KEY] = '\0';
    assert_true(idempotency_key_is_valid(key));
    assert_false(idempotency_key_is_valid(""));
    assert_false(idempotency_key_is_valid("a b"));
    assert_false(idempotency_key_is_valid("\xc3\xa9"));
}

TEST(a_cursor_belongs_to_its_order)
{
    struct store_run_place place = {-7, "agent.x", "01900000-0000-7000-8000-000000000000"};
    struct store_run_place got;
    auto_buf struct buf text = {0};
    (void)state;
    run_cursor_write(&place, STORE_BY_AGENT, true, &text);
    assert_true(run_cursor_read(buf_string(&text), STORE_BY_AGENT, true, &got));
    assert_int_equal(got.number, -7);
    assert_string_equal(got.text, "agent.x");
    assert_string_equal(got.id, place.id);
    assert_false(run_cursor_read(buf_string(&text), STORE_BY_COST, true, &got));
    assert_false(run_cursor_read(buf_string(&text), STORE_BY_AGENT, false, &got));
    static const char *const bad[] = {"", "zz", "0", "00", "302e302e", "302e302e312e78"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_false(run_cursor_read(bad[i], STORE_BY_CREATED, false, &got));
    }
}
