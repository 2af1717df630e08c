// SPDX-License-Identifier: Apache-2.0
/* Cedar's duration: a signed 64-bit number of milliseconds. Pure; any thread. */
#include "policy/cedar/value/extension.h"

#include "policy/cedar/value/extension_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Units in the only order in which a text may name them. */
static const struct {
    const char *name;
    int64_t ms;
} units[] = {
    {"d", INT64_C(86400000)}, {"h", INT64_C(3600000)}, {"m", INT64_C(60000)},
    {"s", INT64_C(1000)},     {"ms", INT64_C(1)},
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

/**
 * Step over the name of one of the units from `first` on. A name ends at a digit or with the text,
 * which distinguishes "1m" from "1ms".
 * @return the unit's index, UNIT_COUNT when it is none of them
 */
static size_t take_unit(struct extension_text *rest, size_t first)
{
    size_t start = rest->at;
    while (!extension_text_is_at_end(rest) && !extension_text_has_digit(rest)) {
        rest->at++;
    }
    size_t len = rest->at - start;
    for (size_t unit = first; len > 0 && unit < UNIT_COUNT; unit++) {
        if (strlen(units[unit].name) == len &&
            memcmp(units[unit].name, rest->bytes + start, len) == 0) {
            return unit;
        }
    }
    return UNIT_COUNT;
}

bool cedar_duration_parse(const char *text, size_t len, int64_t *ret_ms)
{
    struct extension_text rest = {.bytes = text, .len = len};
    int64_t total = 0;
    size_t next = 0;
    bool is_negative = extension_text_take(&rest, '-');
    do {
        int64_t part = 0;
        if (!extension_text_has_digit(&rest) || !extension_text_append(&rest, is_negative, &part)) {
            return false;
        }
        size_t unit = take_unit(&rest, next);
        if (unit == UNIT_COUNT || __builtin_mul_overflow(part, units[unit].ms, &part) ||
            __builtin_add_overflow(total, part, &total)) {
            return false;
        }
        next = unit + 1;
    } while (!extension_text_is_at_end(&rest));
    *ret_ms = total;
    return true;
}

void cedar_duration_format(int64_t ms, char *ret_text)
{
    /* Unsigned, because INT64_MIN has no positive counterpart. */
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    size_t len = 0;
    if (ms == 0) {
        memcpy(ret_text, "0ms", sizeof("0ms"));
        return;
    }
    if (ms < 0) {
        ret_text[len++] = '-';
    }
    for (size_t unit = 0; unit < UNIT_COUNT; unit++) {
        uint64_t unit_ms = (uint64_t)units[unit].ms;
        if (left >= unit_ms) {
            len += (size_t)snprintf(ret_text + len, CEDAR_EXTENSION_TEXT_SIZE - len,
                                    "%" PRIu64 "%s", left / unit_ms, units[unit].name);
        }
        left %= unit_ms;
    }
}
