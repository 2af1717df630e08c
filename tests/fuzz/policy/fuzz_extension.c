// SPDX-License-Identifier: Apache-2.0
/* Cedar's extension types: what is read from any bytes reads back from what is written of it. */
#include "../fuzz.h"

#include "policy/cedar/value/extension.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)

static void check_decimal(const char *text, size_t len)
{
    int64_t units = 0;
    int64_t again = 0;
    char shown[CEDAR_EXTENSION_TEXT_SIZE];
    if (cedar_decimal_parse(text, len, &units)) {
        cedar_decimal_format(units, shown);
        FUZZ_CHECK(cedar_decimal_parse(shown, strlen(shown), &again) && again == units);
    }
}

static void check_duration(const char *text, size_t len)
{
    int64_t ms = 0;
    int64_t again = 0;
    char shown[CEDAR_EXTENSION_TEXT_SIZE];
    if (cedar_duration_parse(text, len, &ms)) {
        cedar_duration_format(ms, shown);
        FUZZ_CHECK(cedar_duration_parse(shown, strlen(shown), &again) && again == ms);
    }
}

static void check_datetime(const char *text, size_t len)
{
    int64_t ms = 0;
    int64_t again = 0;
    int64_t date = 0;
    char shown[CEDAR_EXTENSION_TEXT_SIZE];
    if (!cedar_datetime_parse(text, len, &ms)) {
        return;
    }
    FUZZ_CHECK(cedar_datetime_to_date(ms, &date) && date % DAY_MS == 0);
    FUZZ_CHECK(date + cedar_datetime_to_time(ms) == ms);
    cedar_datetime_format(ms, shown);
    /* An offset may lead out of the years that have a text form. */
    if (strstr(shown, "since") == NULL) {
        FUZZ_CHECK(cedar_datetime_parse(shown, strlen(shown), &again) && again == ms);
    }
}

static void check_ip(const char *text, size_t len)
{
    struct cedar_ip ip;
    struct cedar_ip again;
    char shown[CEDAR_EXTENSION_TEXT_SIZE];
    if (!cedar_ip_parse(text, len, &ip)) {
        return;
    }
    FUZZ_CHECK(ip.prefix <= (ip.is_v6 ? 128 : 32));
    FUZZ_CHECK(cedar_ip_is_in_range(&ip, &ip));
    FUZZ_CHECK(!cedar_ip_is_loopback(&ip) || !cedar_ip_is_multicast(&ip));
    cedar_ip_format(&ip, shown);
    FUZZ_CHECK(cedar_ip_parse(shown, strlen(shown), &again) && cedar_ip_equals(&ip, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    check_decimal(text, size);
    check_duration(text, size);
    check_datetime(text, size);
    check_ip(text, size);
    free(text);
    return 0;
}
