// SPDX-License-Identifier: Apache-2.0
/*
 * Limits of a forge, as the headers of an answer say them: Retry-After, x-ratelimit-* of GitHub,
 * RateLimit-* of GitLab. Pure.
 */
#pragma once

#include "net/client/http.h"

#include <stdbool.h>
#include <stdint.h>

/** No wait is longer: after it the forge is asked again. */
#define FORGE_LONGEST_WAIT_NS (INT64_C(3600) * 1000000000)
/** The wait for a limit without a time, doubled with each in a row. */
#define FORGE_LIMIT_WAIT_NS (INT64_C(60) * 1000000000)

/** Whether an answer refuses a request because of a limit, not of rights. @param text what the
 *  forge says, for 403 */
bool limits_are_reached(const struct http_response *response, const char *text);

/** Whether an answer says that the next request would be refused. */
bool limits_are_used_up(const struct http_response *response);

/**
 * Until when to wait.
 * @param now_ns  clock of the forge
 * @param strikes limits reached in a row before this one
 * @return from now_ns to now_ns + FORGE_LONGEST_WAIT_NS
 */
int64_t limits_until(const struct http_response *response, int64_t now_ns, unsigned strikes);
