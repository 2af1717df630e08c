// SPDX-License-Identifier: Apache-2.0
/* What is worth another attempt, and how long to wait for it. */

#include "base/clock.h"
#include "base/random.h"
#include "net/client/retry.h"
#include "support/test.h"

#include <string.h>

/* Sun, 06 Nov 1994 08:49:37 GMT, the date that RFC 9110 gives in all its forms */
#define NOW_NS (INT64_C(784111777) * NS_PER_S)

static struct http_response reply(long status, const char *headers)
{
    struct http_response response = {.status = status};
    buf_append_string(&response.headers, headers);
    return response;
}

/** Delay after the first attempt, of a server that says `header`. */
static int64_t delay_after(const char *header)
{
    struct retry_policy policy = retry_policy_default();
    struct http_response response = reply(429, header);
    struct random random = random_seeded(1);
    int64_t delay = retry_delay_ns(&policy, 1, &response, NOW_NS, &random);
    http_response_fini(&response);
    return delay;
}

TEST(some_statuses_are_worth_another_attempt)
{
    static const struct {
        long status;
        bool is_worth;
    } cases[] = {{200, false}, {400, false}, {401, false}, {404, false}, {408, true},
                 {409, true},  {425, true},  {429, true},  {500, true},  {501, false},
                 {502, true},  {503, true},  {504, true},  {529, true},  {599, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_response response = reply(cases[i].status, "");
        assert_int_equal(retry_is_worth(&response), cases[i].is_worth);
        http_response_fini(&response);
    }
}

TEST(failures_on_the_way_are_worth_another_attempt)
{
    static const struct {
        enum http_failure failure;
        bool is_worth;
    } cases[] = {{HTTP_NO_HOST, true},    {HTTP_NO_CONNECTION, true}, {HTTP_BROKEN, true},
                 {HTTP_TIMED_OUT, true},  {HTTP_BAD_REQUEST, false},  {HTTP_TLS, false},
                 {HTTP_TOO_LARGE, false}, {HTTP_BLOCKED, false},      {HTTP_REDIRECTS, false},
                 {HTTP_CANCELLED, false}, {HTTP_STOPPED, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct http_response response = {.failure = cases[i].failure};
        assert_int_equal(retry_is_worth(&response), cases[i].is_worth);
    }
}

TEST(the_server_may_say_that_it_is_or_is_not)
{
    struct http_response no = reply(500, "X-Should-Retry: false\r\n");
    struct http_response yes = reply(404, "x-should-retry: true\r\n");
    struct http_response nonsense = reply(404, "x-should-retry: maybe\r\n");
    assert_false(retry_is_worth(&no));
    assert_true(retry_is_worth(&yes));
    assert_false(retry_is_worth(&nonsense));
    http_response_fini(&no);
    http_response_fini(&yes);
    http_response_fini(&nonsense);
}

TEST(our_own_delay_grows_and_stays_below_its_bound)
{
    struct retry_policy policy = retry_policy_default();
    struct http_response response = reply(503, "");
    struct random random = random_seeded(7);
    static const int64_t bounds_s[] = {1, 2, 4, 8, 16, 30, 30, 30};
    policy.max_attempts = 100;
    for (unsigned attempt = 1; attempt <= 8; attempt++) {
        int64_t most = 0;
        for (int i = 0; i < 1000; i++) {
            int64_t delay = retry_delay_ns(&policy, attempt, &response, NOW_NS, &random);
            assert_in_range(delay, 0, bounds_s[attempt - 1] * NS_PER_S);
            most = delay > most ? delay : most;
        }
        assert_true(most > bounds_s[attempt - 1] * NS_PER_S * 9 / 10);
    }
    http_response_fini(&response);
}

TEST(no_attempt_follows_the_last_one)
{
    struct retry_policy policy = retry_policy_default();
    struct http_response response = reply(503, "");
    struct random random = random_seeded(7);
    assert_true(retry_delay_ns(&policy, 4, &response, NOW_NS, &random) >= 0);
    assert_int_equal(retry_delay_ns(&policy, 5, &response, NOW_NS, &random), -1);
    assert_int_equal(retry_delay_ns(&policy, UINT32_MAX, &response, NOW_NS, &random), -1);
    http_response_fini(&response);
}

TEST(what_is_not_worth_it_has_no_delay)
{
    struct retry_policy policy = retry_policy_default();
    struct http_response response = reply(400, "Retry-After: 1\r\n");
    assert_int_equal(retry_delay_ns(&policy, 1, &response, NOW_NS, random_system()), -1);
    http_response_fini(&response);
}

TEST(seconds_of_the_server_are_honoured)
{
    assert_int_equal(delay_after("Retry-After: 20\r\n"), 20 * NS_PER_S);
    assert_int_equal(delay_after("Retry-After: 120\r\n"), 120 * NS_PER_S);
    assert_int_equal(delay_after("Retry-After: 121\r\n"), -1);
    assert_int_equal(delay_after("Retry-After: 99999999999999999999999999\r\n"), -1);
}

TEST(a_date_of_the_server_is_honoured)
{
    assert_int_equal(delay_after("Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n"), 60 * NS_PER_S);
    assert_int_equal(delay_after("Retry-After: Sun, 06 Nov 1994 08:59:37 GMT\r\n"), -1);
    assert_in_range(delay_after("Retry-After: Sun, 06 Nov 1994 08:00:00 GMT\r\n"), 0, NS_PER_S);
}

TEST(nonsense_of_the_server_is_ignored)
{
    static const char *const nonsense[] = {
        "Retry-After: \r\n",
        "Retry-After: -5\r\n",
        "Retry-After: 1.5\r\n",
        "Retry-After: soon\r\n",
        "Retry-After: Sun, 06 Now 1994 08:59:37 GMT\r\n",
        "Retry-After: Sun, 06 Nov 1994 08:59:37 CET\r\n",
        "Retry-After: Sun, 36 Nov 1994 08:59:37 GMT\r\n",
        "Retry-After: Sun, 06 Nov 1994 28:59:37 GMT\r\n",
    };
    for (size_t i = 0; i < COUNT(nonsense); i++) {
        assert_in_range(delay_after(nonsense[i]), 0, NS_PER_S);
    }
}
