// SPDX-License-Identifier: Apache-2.0
/*
 * When to repeat a single request: the numbers only, no clock and no waiting. The delay grows
 * exponentially with full jitter; a server's Retry-After (RFC 9110, 10.2.3: seconds or a date) is
 * honoured up to a limit.
 */
#pragma once

#include "net/client/http.h"

struct random;

struct retry_policy {
    unsigned max_attempts; /**< over all, at least 1 */
    int64_t base_ns;
    int64_t max_ns;        /**< of a delay that we choose */
    int64_t max_server_ns; /**< a longer Retry-After is not waited for: no more attempts */
};

/** 5 attempts, 1 s doubling to 30 s, Retry-After up to 120 s. */
struct retry_policy retry_policy_default(void);

/**
 * Whether a reply is worth another attempt: 408, 409 (lock timeout), 425, 429, 500, 502, 503, 504,
 * 529, and failures before or while the reply came; not HTTP_TOO_LARGE, HTTP_BLOCKED and the like.
 * `x-should-retry: true|false` overrides the status.
 */
bool retry_is_worth(const struct http_response *response);

/**
 * @param attempt attempts made so far, from 1
 * @param now_ns  wall clock, for a Retry-After that is a date
 * @return the delay, or -1 = do not try again
 */
int64_t retry_delay_ns(const struct retry_policy *policy, unsigned attempt,
                       const struct http_response *response, int64_t now_ns, struct random *random);

/**
 * The delay that a reply requests by Retry-After, whatever its status.
 * @param now_ns wall clock, for one that is a date
 * @return -1 = it requests none
 */
int64_t retry_after_ns(const struct http_response *response, int64_t now_ns);

/**
 * A date of a header in the form IMF-fixdate (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
 * The two obsolete forms are not read.
 * @return whether it is one
 */
bool retry_read_date(const char *text, int64_t *ret_ns);
