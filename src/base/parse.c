// SPDX-License-Identifier: Apache-2.0
/* Reading and showing numbers with units. Pure; every overflow is checked. */
#include "base/parse.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int parse_int(const char *text, int64_t low, int64_t high, int64_t *ret_number,
              struct rondo_error *err)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || ascii_is_space(text[0])) {
        return error_set(err, RONDO_ERR_INVALID, "'%s' is not a whole number", text);
    }
    if (errno == ERANGE || number < low || number > high) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not between %" PRId64 " and %" PRId64, text,
                         low, high);
    }
    *ret_number = number;
    return 0;
}

/**
 * One unsigned decimal with up to `decimals` digits after the point, scaled by 10^decimals.
 * @return characters read, 0 when there is no number or it does not fit
 */
static size_t read_scaled(const char *text, unsigned decimals, int64_t *ret_scaled)
{
    int64_t value = 0;
    size_t at = 0;
    bool has_digit = false;
    unsigned behind_point = 0;
    bool is_behind_point = false;
    for (;; at++) {
        if (text[at] == '.' && !is_behind_point) {
            is_behind_point = true;
            continue;
        }
        if (!ascii_is_digit(text[at])) {
            break;
        }
        has_digit = true;
        if (is_behind_point && ++behind_point > decimals) {
            return 0;
        }
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[at] - '0', &value)) {
            return 0;
        }
    }
    for (; behind_point < decimals; behind_point++) {
        if (__builtin_mul_overflow(value, 10, &value)) {
            return 0;
        }
    }
    *ret_scaled = value;
    return has_digit ? at : 0;
}

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"ms", NS_PER_MS},           {"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S},
    {"d", 24 * 3600 * NS_PER_S},
};

static size_t read_unit(const char *text, int64_t *ret_ns)
{
    size_t len = 0;
    while (ascii_is_letter(text[len])) {
        len++;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == len && strncmp(units[i].name, text, len) == 0) {
            *ret_ns = units[i].ns;
            return len;
        }
    }
    return 0;
}

int parse_duration(const char *text, int64_t *ret_ns, struct rondo_error *err)
{
    int64_t total = 0;
    const char *at = text;
    do {
        int64_t thousandths = 0;
        int64_t part = 0;
        size_t len = read_scaled(at, 3, &thousandths);
        if (len == 0) {
            goto invalid;
        }
        at += len;
        int64_t unit_ns = NS_PER_S;
        len = read_unit(at, &unit_ns);
        if (len == 0 && (*at != '\0' || total != 0)) {
            goto invalid;
        }
        at += len;
        if (__builtin_mul_overflow(thousandths, unit_ns / 1000, &part) ||
            __builtin_add_overflow(total, part, &total) || total > LIMIT_DURATION_NS) {
            return error_set(err, RONDO_ERR_LIMIT, "'%s' is longer than 366 days", text);
        }
    } while (*at != '\0');
    *ret_ns = total;
    return 0;
invalid:
    return error_set(err, RONDO_ERR_INVALID,
                     "'%s' is not a duration; write for instance 250ms, 30s, 5m or 1h30m", text);
}

int64_t duration_from_seconds(double seconds)
{
    const int64_t most = LIMIT_DURATION_NS / NS_PER_S;
    if (!(seconds > 0)) {
        return 0;
    }
    return seconds >= (double)most ? LIMIT_DURATION_NS : (int64_t)(seconds * (double)NS_PER_S);
}

int parse_money(const char *text, int64_t *ret_micro, struct rondo_error *err)
{
    int64_t micro = 0;
    size_t len = read_scaled(text, 6, &micro);
    if (len == 0 || text[len] != '\0') {
        return error_set(err, RONDO_ERR_INVALID,
                         "'%s' is not an amount; write for instance 5 or 0.25", text);
    }
    *ret_micro = micro;
    return 0;
}

void format_duration(int64_t ns, char *ret_text)
{
    int64_t seconds = ns / NS_PER_S;
    int tenths = (int)(ns % NS_PER_S / (NS_PER_S / 10));
    if (ns < NS_PER_S) {
        snprintf(ret_text, FORMAT_DURATION_SIZE, "%" PRId64 " ms", ns / NS_PER_MS);
    } else if (seconds < 60) {
        snprintf(ret_text, FORMAT_DURATION_SIZE, "%" PRId64 ".%d s", seconds, tenths);
    } else if (seconds < 3600) {
        snprintf(ret_text, FORMAT_DURATION_SIZE, "%" PRId64 "m %02" PRId64 "s", seconds / 60,
                 seconds % 60);
    } else {
        snprintf(ret_text, FORMAT_DURATION_SIZE, "%" PRId64 "h %02" PRId64 "m", seconds / 3600,
                 seconds / 60 % 60);
    }
}
