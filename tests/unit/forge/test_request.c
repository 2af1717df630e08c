// SPDX-License-Identifier: Apache-2.0
/* Requests: pacing, limits, retries, what an answer means, and where the token goes. */
#include "forge_world.h"

#include "base/cancel.h"
#include "base/limits.h"

#define ISSUE "{\"number\":7,\"title\":\"T\",\"state\":\"open\"}"

static enum forge_end read_seven(struct forge_world *world)
{
    struct forge_issue issue = {0};
    enum forge_end end = forge_read_issue(world->forge, 7, &issue);
    forge_issue_fini(&issue);
    return end;
}

static enum forge_end label_seven(struct forge_world *world)
{
    return forge_add_label(world->forge, 7, "code");
}

FORGE_TEST(an_issue_is_read_with_the_token_in_a_header)
{
    struct forge_world *world = *state;
    world_reply(world, 200, NULL, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_string_equal(world_line(world, 0), "GET /api/repos/acme/shop/issues/7");
    assert_string_equal(world_header(world, 0, "Authorization"), "Bearer " WORLD_TOKEN);
    assert_string_equal(world_header(world, 0, "Accept"), "application/vnd.github+json");
}

FORGE_TEST(every_status_has_its_end)
{
    struct forge_world *world = *state;
    static const struct {
        int status;
        enum forge_end of_read, of_write;
    } rows[] = {
        {400, FORGE_CONFLICT, FORGE_CONFLICT},
        {401, FORGE_AUTH, FORGE_AUTH},
        {403, FORGE_FORBIDDEN, FORGE_FORBIDDEN},
        {404, FORGE_ABSENT, FORGE_ABSENT},
        {406, FORGE_UNAVAILABLE, FORGE_UNAVAILABLE},
        {409, FORGE_CONFLICT, FORGE_CONFLICT},
        {410, FORGE_GONE, FORGE_GONE},
        {422, FORGE_CONFLICT, FORGE_CONFLICT},
        {423, FORGE_FORBIDDEN, FORGE_FORBIDDEN},
        {451, FORGE_FORBIDDEN, FORGE_FORBIDDEN},
        {501, FORGE_UNAVAILABLE, FORGE_UNCERTAIN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        world_reply(world, rows[i].status, NULL, "{\"message\":\"no\"}");
        assert_int_equal(read_seven(world), rows[i].of_read);
        world_reply(world, rows[i].status, NULL, "{\"message\":\"no\"}");
        assert_int_equal(label_seven(world), rows[i].of_write);
        assert_int_equal(forge_outcome(world->forge)->status, rows[i].status);
    }
}

FORGE_TEST(a_refusal_says_what_the_forge_said)
{
    struct forge_world *world = *state;
    world_reply(world, 422, NULL,
                "{\"message\":\"Validation\\u001b[31m Failed\",\"errors\":[{\"code\":\"invalid\","
                "\"message\":\"No commits between main and x\"}]}");
    assert_int_equal(label_seven(world), FORGE_CONFLICT);
    assert_string_equal(world_message(world), "forge.test: status 422: Validation Failed: "
                                              "No commits between main and x");
}

FORGE_TEST(a_token_that_a_forge_repeats_is_not_shown)
{
    struct forge_world *world = *state;
    world_reply(world, 401, NULL, "{\"message\":\"bad token " WORLD_TOKEN "\"}");
    assert_int_equal(read_seven(world), FORGE_AUTH);
    assert_null(strstr(world_message(world), WORLD_TOKEN));
    assert_non_null(strstr(world_message(world), "bad token"));
}

FORGE_TEST(a_read_is_tried_again_after_errors_of_the_server)
{
    struct forge_world *world = *state;
    world_reply(world, 500, NULL, "oops");
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = "HTTP", .cuts = true});
    world_reply(world, 200, NULL, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_int_equal(world_requests(world), 3);
}

FORGE_TEST(a_read_ends_after_four_attempts)
{
    struct forge_world *world = *state;
    http_peer_always(world->peer, 503, NULL, "");
    assert_int_equal(read_seven(world), FORGE_UNAVAILABLE);
    assert_int_equal(world_requests(world), 4);
}

FORGE_TEST(a_write_whose_answer_is_lost_is_uncertain_and_not_repeated)
{
    struct forge_world *world = *state;
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = "HTTP", .cuts = true});
    assert_int_equal(label_seven(world), FORGE_UNCERTAIN);
    assert_int_equal(world_requests(world), 1);
    world_reply(world, 502, NULL, "");
    assert_int_equal(label_seven(world), FORGE_UNCERTAIN);
    assert_int_equal(world_requests(world), 2);
}

FORGE_TEST(writes_are_a_second_apart)
{
    struct forge_world *world = *state;
    http_peer_always(world->peer, 200, NULL, "[]");
    assert_int_equal(label_seven(world), FORGE_OK);
    assert_int_equal(world->passed_ns, 0);
    assert_int_equal(label_seven(world), FORGE_OK);
    assert_int_equal(world->passed_ns, NS_PER_S);
    world->passed_ns += NS_PER_S / 4;
    assert_int_equal(label_seven(world), FORGE_OK);
    assert_int_equal(world->passed_ns, 2 * NS_PER_S);
}

FORGE_TEST(without_a_token_nothing_is_written)
{
    struct forge_world *world = *state;
    world_open(world, FORGE_GITHUB, NULL);
    assert_int_equal(label_seven(world), FORGE_AUTH);
    assert_int_equal(world_requests(world), 0);
    world_reply(world, 200, NULL, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_string_equal(world_header(world, 0, "Authorization"), "(none)");
}

/* ---- Limits ---------------------------------------------------------------------------------- */

FORGE_TEST(a_long_limit_is_the_callers_to_wait_for)
{
    struct forge_world *world = *state;
    world_reply(world, 403, "Retry-After: 90\r\n", "{\"message\":\"secondary\"}");
    assert_int_equal(read_seven(world), FORGE_LIMITED);
    assert_int_equal(forge_outcome(world->forge)->until_ns - forge_now(world->forge),
                     90 * NS_PER_S);
    assert_int_equal(read_seven(world), FORGE_LIMITED);
    assert_int_equal(world_requests(world), 1); /* The second one was not sent. */
    assert_int_equal(world->waits, 0);
    world->passed_ns += 90 * NS_PER_S;
    world_reply(world, 200, NULL, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
}

FORGE_TEST(a_short_limit_is_waited_for_by_a_read)
{
    struct forge_world *world = *state;
    world_reply(world, 429, "Retry-After: 2\r\n", "");
    world_reply(world, 200, NULL, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_int_equal(world->passed_ns, 2 * NS_PER_S);
}

FORGE_TEST(a_write_waits_for_no_limit)
{
    struct forge_world *world = *state;
    world_reply(world, 429, "Retry-After: 2\r\n", "");
    assert_int_equal(label_seven(world), FORGE_LIMITED);
    assert_int_equal(world_requests(world), 1);
}

FORGE_TEST(a_used_up_limit_is_over_at_its_reset)
{
    struct forge_world *world = *state;
    char headers[200];
    snprintf(headers, sizeof(headers),
             "X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: %lld\r\n"
             "Date: Sun, 29 Nov 2026 15:00:00 GMT\r\n",
             (long long)WORLD_START_S + 600);
    world_reply(world, 403, headers, "{\"message\":\"API rate limit exceeded\"}");
    assert_int_equal(label_seven(world), FORGE_LIMITED);
    assert_int_equal(forge_outcome(world->forge)->until_ns, WORLD_START_NS + 600 * NS_PER_S);
}

FORGE_TEST(the_last_request_of_a_limit_keeps_the_next_one_from_being_sent)
{
    struct forge_world *world = *state;
    char headers[200];
    snprintf(headers, sizeof(headers), "RateLimit-Remaining: 0\r\nRateLimit-Reset: %lld\r\n",
             (long long)WORLD_START_S + 60);
    world_reply(world, 200, headers, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_int_equal(read_seven(world), FORGE_LIMITED);
    assert_int_equal(world_requests(world), 1);
}

FORGE_TEST(a_limit_without_a_time_is_a_minute_and_doubles)
{
    struct forge_world *world = *state;
    static const int64_t minutes[] = {1, 2, 4, 8, 16, 32, 60, 60};
    for (size_t i = 0; i < COUNT(minutes); i++) {
        world_reply(world, 403, NULL, "{\"message\":\"You have exceeded a secondary rate limit\"}");
        assert_int_equal(read_seven(world), FORGE_LIMITED);
        int64_t wait_ns = forge_outcome(world->forge)->until_ns - forge_now(world->forge);
        assert_int_equal(wait_ns, minutes[i] * 60 * NS_PER_S);
        world->passed_ns += wait_ns;
    }
    world_reply(world, 200, NULL, ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    world_reply(world, 429, NULL, "");
    assert_int_equal(read_seven(world), FORGE_LIMITED);
    assert_int_equal(forge_outcome(world->forge)->until_ns - forge_now(world->forge),
                     60 * NS_PER_S);
}

FORGE_TEST(no_limit_is_longer_than_an_hour)
{
    struct forge_world *world = *state;
    world_reply(world, 429, "Retry-After: 99999999999999999999\r\n", "");
    assert_int_equal(label_seven(world), FORGE_LIMITED);
    assert_int_equal(forge_outcome(world->forge)->until_ns - forge_now(world->forge),
                     3600 * NS_PER_S);
}

/* ---- Time, redirects, answers ---------------------------------------------------------------- */

FORGE_TEST(time_is_the_forges)
{
    struct forge_world *world = *state;
    assert_int_equal(forge_now(world->forge), WORLD_START_NS);
    world_reply(world, 200, "Date: Sun, 29 Nov 2026 16:00:00 GMT\r\n", ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_int_equal(forge_now(world->forge), WORLD_START_NS + 3600 * NS_PER_S);
    /* An answer of a cache is old. */
    world_reply(world, 200, "Date: Sun, 29 Nov 2026 10:00:00 GMT\r\nAge: 21600\r\n", ISSUE);
    assert_int_equal(read_seven(world), FORGE_OK);
    assert_int_equal(forge_now(world->forge), WORLD_START_NS + 3600 * NS_PER_S);
}

FORGE_TEST(an_issue_that_was_transferred_has_moved)
{
    struct forge_world *world = *state;
    char headers[200];
    snprintf(headers, sizeof(headers), "Location: %s\r\n",
             http_peer_url(world->peer, "/api/repositories/5/issues/9"));
    world_reply(world, 301, headers, "{\"message\":\"Moved Permanently\"}");
    assert_int_equal(read_seven(world), FORGE_MOVED);
    assert_non_null(strstr(world_message(world), "/api/repositories/5/issues/9"));
    assert_int_equal(world_requests(world), 1);
}

FORGE_TEST(a_redirect_without_a_host_must_be_below_the_api)
{
    struct forge_world *world = *state;
    static const struct {
        const char *location;
        enum forge_end end;
    } rows[] = {
        {"/api/repos/acme/other/issues/7", FORGE_MOVED},
        {"//evil.test/api/repos", FORGE_UNAVAILABLE},
        {"/\\evil.test/api/", FORGE_UNAVAILABLE},
        {"/login?to=/api/", FORGE_UNAVAILABLE},
        {"/apiary", FORGE_UNAVAILABLE},
        {"/", FORGE_UNAVAILABLE},
        {"api/repos", FORGE_UNAVAILABLE},
        {"", FORGE_UNAVAILABLE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char headers[200];
        snprintf(headers, sizeof(headers), "Location: %s\r\n", rows[i].location);
        world_reply(world, 307, headers, "");
        assert_int_equal(label_seven(world), rows[i].end);
    }
    assert_int_equal(world_requests(world), COUNT(rows));
}

FORGE_TEST(a_redirect_to_another_host_is_not_followed)
{
    struct forge_world *world = *state;
    struct http_peer *thief = http_peer_new();
    char headers[200];
    http_peer_always(thief, 200, NULL, ISSUE);
    snprintf(headers, sizeof(headers), "Location: %s\r\n",
             http_peer_url(thief, "/api/repositories/5/issues/9"));
    http_peer_always(world->peer, 302, headers, "");
    assert_int_equal(read_seven(world), FORGE_UNAVAILABLE);
    assert_int_equal(label_seven(world), FORGE_UNAVAILABLE);
    assert_int_equal(http_peer_request_count(thief), 0);
    http_peer_free(thief);
}

FORGE_TEST(an_answer_that_is_no_json_is_no_issue)
{
    struct forge_world *world = *state;
    static const char *const bodies[] = {"<html>Sign in</html>",
                                         "[]",
                                         "{}",
                                         "",
                                         "{\"number\":7}",
                                         "{\"number\":8,\"state\":\"open\"}",
                                         "{\"number\":-7,\"state\":\"open\"}",
                                         "{\"number\":99999999999999999999,\"state\":\"open\"}",
                                         "{\"number\":\"7\",\"state\":\"open\"}"};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        world_reply(world, 200, NULL, bodies[i]);
        assert_int_equal(read_seven(world), FORGE_UNAVAILABLE);
    }
}

FORGE_TEST(a_304_that_nothing_asked_for_is_no_answer)
{
    struct forge_world *world = *state;
    world_reply(world, 304, NULL, "");
    assert_int_equal(read_seven(world), FORGE_UNAVAILABLE);
}

FORGE_TEST(a_cancelled_forge_sends_nothing)
{
    struct forge_world *world = *state;
    struct cancel cancel;
    struct forge *forge = NULL;
    struct forge_issue issue = {0};
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    const struct forge_options options = {
        .place = &world->place,
        .token = WORLD_TOKEN,
        .http = world->http,
        .clock = &world->clock,
        .random = &world->random,
        .cancel = &cancel,
    };
    assert_int_equal(forge_open(&options, &forge, NULL), 0);
    cancel_set(&cancel, CANCEL_GRACEFUL);
    assert_int_equal(forge_read_issue(forge, 7, &issue), FORGE_CANCELLED);
    assert_int_equal(forge_add_label(forge, 7, "code"), FORGE_CANCELLED);
    assert_int_equal(world_requests(world), 0);
    forge_close(forge);
    cancel_fini(&cancel);
}

FORGE_TEST(what_is_no_place_or_token_is_refused)
{
    struct forge_world *world = *state;
    static const struct {
        const char *owner, *name, *token;
    } rows[] = {{"acme", "..", "t"},     {"..", "shop", "t"},        {"acme", "", "t"},
                {"", "shop", "t"},       {"acme/../x", "shop", "t"}, {"acme", "a/b", "t"},
                {"acme", "shop", ""},    {"acme", "shop", "a\nb"},   {"acme", "shop", "a b"},
                {"acme//x", "shop", "t"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_place place = world->place;
        struct forge_options options = {.place = &place,
                                        .token = rows[i].token,
                                        .http = world->http,
                                        .clock = &world->clock,
                                        .random = &world->random};
        struct forge *forge = NULL;
        place.owner = (char *)(uintptr_t)rows[i].owner;
        place.name = (char *)(uintptr_t)rows[i].name;
        assert_int_equal(forge_open(&options, &forge, NULL), RONDO_ERR_INVALID);
    }
}

FORGE_TEST(a_token_is_at_most_so_long)
{
    struct forge_world *world = *state;
    char token[LIMIT_FORGE_TOKEN_LEN + 2];
    memset(token, 'a', sizeof(token));
    for (size_t extra = 0; extra < 2; extra++) {
        struct forge *forge = NULL;
        token[LIMIT_FORGE_TOKEN_LEN + extra] = '\0';
        const struct forge_options options = {.place = &world->place,
                                              .token = token,
                                              .http = world->http,
                                              .clock = &world->clock,
                                              .random = &world->random};
        assert_int_equal(forge_open(&options, &forge, NULL), extra == 0 ? 0 : RONDO_ERR_INVALID);
        forge_close(forge);
        token[LIMIT_FORGE_TOKEN_LEN] = 'a';
    }
}
