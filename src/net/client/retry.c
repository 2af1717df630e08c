// SPDX-License-Identifier: Apache-2.0
/* Which replies are worth another attempt, and when. Pure but for the given randomness. */
#include "net/client/retry.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/time/calendar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

struct retry_policy retry_policy_default(void)
{
    return (struct retry_policy){.max_attempts = 5,
                                 .base_ns = NS_PER_S,
                                 .max_ns = 30 * NS_PER_S,
                                 .max_server_ns = 120 * NS_PER_S};
}

static bool is_status_worth(long status)
{
    static const long worth[] = {408, 409, 425, 429, 500, 502, 503, 504, 529};
    for (size_t i = 0; i < sizeof(worth) / sizeof(worth[0]); i++) {
        if (worth[i] == status) {
            return true;
        }
    }
    return false;
}

static bool is_reply_worth(const struct http_response *response)
{
    char should[8];
    if (http_response_header(response, "x-should-retry", should, sizeof(should))) {
        if (strcasecmp(should, "true") == 0 || strcasecmp(should, "false") == 0) {
            return strcasecmp(should, "true") == 0;
        }
    }
    return is_status_worth(response->status);
}

bool retry_is_worth(const struct http_response *response)
{
    switch (response->failure) {
    case HTTP_OK:
        return is_reply_worth(response);
    case HTTP_NO_HOST:
    case HTTP_NO_CONNECTION:
    case HTTP_BROKEN:
    case HTTP_TIMED_OUT:
        return true;
    case HTTP_BAD_REQUEST:
    case HTTP_TLS:
    case HTTP_TOO_LARGE:
    case HTTP_BLOCKED:
    case HTTP_REDIRECTS:
    case HTTP_STOPPED:
    case HTTP_CANCELLED:
        return false;
    }
    return false;
}

/* --- Retry-After --- */

/** Number of digits' worth; saturates. @return false when the text is no number */
static bool read_seconds(const char *text, int64_t *ret_ns)
{
    int64_t seconds = 0;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return false;
    }
    for (; *text != '\0' && seconds < INT64_MAX / NS_PER_S / 16; text++) {
        seconds = seconds * 10 + (*text - '0');
    }
    *ret_ns = seconds * NS_PER_S;
    return true;
}

/** Read a name of a month. @return 0 to 11, or -1 */
static int read_month(const char *text)
{
    for (int i = 0; i < 12; i++) {
        if (strncmp(text, calendar_month_name(i + 1), 3) == 0) {
            return i;
        }
    }
    return -1;
}

/** A number of exactly `len` digits; -1 = it is none. */
static int read_digits(const char *text, size_t len)
{
    int number = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/** strptime would follow the locale. */
bool retry_read_date(const char *text, int64_t *ret_ns)
{
    static const char shape[] = "..., 00 ... 0000 00:00:00 GMT";
    if (strlen(text) != sizeof(shape) - 1) {
        return false;
    }
    for (size_t i = 0; shape[i] != '\0'; i++) {
        if (shape[i] != '.' && shape[i] != '0' && shape[i] != text[i]) {
            return false;
        }
    }
    struct tm parts = {.tm_mday = read_digits(text + 5, 2),
                       .tm_mon = read_month(text + 8),
                       .tm_year = read_digits(text + 12, 4) - 1900,
                       .tm_hour = read_digits(text + 17, 2),
                       .tm_min = read_digits(text + 20, 2),
                       .tm_sec = read_digits(text + 23, 2)};
    if (parts.tm_mday < 1 || parts.tm_mday > 31 || parts.tm_mon < 0 || parts.tm_year < 70 ||
        parts.tm_year > 300 || parts.tm_hour < 0 || parts.tm_hour > 23 || parts.tm_min < 0 ||
        parts.tm_min > 59 || parts.tm_sec < 0 || parts.tm_sec > 60) {
        return false;
    }
    *ret_ns = (int64_t)timegm(&parts) * NS_PER_S;
    return true;
}

int64_t retry_after_ns(const struct http_response *response, int64_t now_ns)
{
    char text[64];
    int64_t ns = 0;
    if (!http_response_header(response, "retry-after", text, sizeof(text))) {
        return -1;
    }
    if (read_seconds(text, &ns)) {
        return ns;
    }
    if (!retry_read_date(text, &ns)) {
        return -1;
    }
    return ns > now_ns ? ns - now_ns : 0;
}

/* --- our own delay --- */

static int64_t own_delay_ns(const struct retry_policy *policy, unsigned attempt,
                            struct random *random)
{
    int64_t most = policy->base_ns;
    for (unsigned i = 1; i < attempt && most < policy->max_ns; i++) {
        most = most > policy->max_ns / 2 ? policy->max_ns : most * 2;
    }
    most = most < policy->max_ns ? most : policy->max_ns;
    return most <= 0 ? 0 : (int64_t)random_below(random, (uint64_t)most + 1);
}

int64_t retry_delay_ns(const struct retry_policy *policy, unsigned attempt,
                       const struct http_response *response, int64_t now_ns, struct random *random)
{
    if (attempt >= policy->max_attempts || !retry_is_worth(response)) {
        return -1;
    }
    int64_t own = own_delay_ns(policy, attempt, random);
    int64_t server = retry_after_ns(response, now_ns);
    if (server > policy->max_server_ns) {
        return -1;
    }
    return server > own ? server : own;
}
