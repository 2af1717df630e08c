// SPDX-License-Identifier: Apache-2.0
/* Cedar's decimal: a signed 64-bit number of ten-thousandths. Pure; any thread. */
#include "policy/cedar/value/extension.h"

#include "policy/cedar/value/extension_text.h"

#include <inttypes.h>
#include <stdio.h>

#define DECIMALS 4

bool cedar_decimal_parse(const char *text, size_t len, int64_t *ret_units)
{
    struct extension_text rest = {.bytes = text, .len = len};
    int64_t units = 0;
    bool is_negative = extension_text_take(&rest, '-');
    if (!extension_text_has_digit(&rest) || !extension_text_append(&rest, is_negative, &units) ||
        !extension_text_take(&rest, '.')) {
        return false;
    }
    size_t point = rest.at;
    if (!extension_text_has_digit(&rest) || !extension_text_append(&rest, is_negative, &units) ||
        !extension_text_is_at_end(&rest) || len - point > DECIMALS) {
        return false;
    }
    for (size_t decimals = len - point; decimals < DECIMALS; decimals++) {
        if (__builtin_mul_overflow(units, 10, &units)) {
            return false;
        }
    }
    *ret_units = units;
    return true;
}

void cedar_decimal_format(int64_t units, char *ret_text)
{
    /* Unsigned, because INT64_MIN has no positive counterpart. */
    uint64_t size = units < 0 ? 0 - (uint64_t)units : (uint64_t)units;
    uint64_t fraction = size % 10000;
    int decimals = DECIMALS;
    while (decimals > 1 && fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    snprintf(ret_text, CEDAR_EXTENSION_TEXT_SIZE, "%s%" PRIu64 ".%0*" PRIu64, units < 0 ? "-" : "",
             size / 10000, decimals, fraction);
}
