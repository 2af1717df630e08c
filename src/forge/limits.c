// SPDX-License-Identifier: Apache-2.0
#include "forge/limits.h"

#include "base/clock.h"
#include "base/parse.h"
#include "net/client/retry.h"

#include <string.h>

/** A header that is a number of seconds, under either name. @return -1 = it is absent */
static int64_t read_number(const struct http_response *response, const char *name,
                           const char *other_name)
{
    char text[32];
    int64_t number = 0;
    if (!http_response_header(response, name, text, sizeof(text)) &&
        !http_response_header(response, other_name, text, sizeof(text))) {
        return -1;
    }
    return parse_int(text, 0, INT64_MAX / NS_PER_S, &number, NULL) < 0 ? -1 : number;
}

bool limits_are_used_up(const struct http_response *response)
{
    return read_number(response, "x-ratelimit-remaining", "ratelimit-remaining") == 0;
}

bool limits_are_reached(const struct http_response *response, const char *text)
{
    char value[64];
    if (response->status == 429) {
        return true;
    }
    return response->status == 403 &&
           (http_response_header(response, "retry-after", value, sizeof(value)) ||
            limits_are_used_up(response) || strcasestr(text, "rate limit") != NULL ||
            strcasestr(text, "abuse detection") != NULL);
}

int64_t limits_until(const struct http_response *response, int64_t now_ns, unsigned strikes)
{
    int64_t wait_ns = retry_after_ns(response, now_ns);
    int64_t reset_s = read_number(response, "x-ratelimit-reset", "ratelimit-reset");
    if (wait_ns < 0 && limits_are_used_up(response) && reset_s > 0) {
        wait_ns = reset_s * NS_PER_S - now_ns;
    } else if (wait_ns < 0) {
        wait_ns = FORGE_LIMIT_WAIT_NS;
        for (; strikes > 0 && wait_ns < FORGE_LONGEST_WAIT_NS; strikes--) {
            wait_ns *= 2;
        }
    }
    /* A server that says "now" is given a second. */
    wait_ns = wait_ns < NS_PER_S ? NS_PER_S : wait_ns;
    return now_ns + (wait_ns > FORGE_LONGEST_WAIT_NS ? FORGE_LONGEST_WAIT_NS : wait_ns);
}
