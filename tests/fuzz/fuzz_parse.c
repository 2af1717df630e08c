// SPDX-License-Identifier: Apache-2.0
/* Numbers, durations and money as people write them: in range, or refused with a message. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/parse.h"
#include "rondo/error.h"

#include <inttypes.h>
#include <string.h>

static void check_int(const char *text)
{
    struct rondo_error err = {0};
    int64_t number = 0;
    if (parse_int(text, -1000, INT64_MAX, &number, &err) < 0) {
        FUZZ_CHECK(err.message[0] != '\0');
        return;
    }
    FUZZ_CHECK(number >= -1000);
    char digits[32];
    int64_t again = 0;
    snprintf(digits, sizeof(digits), "%" PRId64, number);
    FUZZ_CHECK(parse_int(digits, -1000, INT64_MAX, &again, &err) == 0 && again == number);
}

static void check_duration(const char *text)
{
    struct rondo_error err = {0};
    int64_t ns = -1;
    if (parse_duration(text, &ns, &err) < 0) {
        FUZZ_CHECK(ns == -1 && err.message[0] != '\0');
        return;
    }
    FUZZ_CHECK(ns >= 0 && ns <= LIMIT_DURATION_NS);
    char shown[FORMAT_DURATION_SIZE];
    format_duration(ns, shown);
    FUZZ_CHECK(strlen(shown) > 0 && strlen(shown) < sizeof(shown));
}

static void check_money(const char *text)
{
    struct rondo_error err = {0};
    int64_t micro = -1;
    if (parse_money(text, &micro, &err) < 0) {
        FUZZ_CHECK(micro == -1 && err.message[0] != '\0');
        return;
    }
    FUZZ_CHECK(micro >= 0);
    char shown[64];
    int64_t again = -1;
    snprintf(shown, sizeof(shown), "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000);
    FUZZ_CHECK(parse_money(shown, &again, &err) == 0 && again == micro);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_int(text);
    check_duration(text);
    check_money(text);
    free(text);
    return 0;
}
