// SPDX-License-Identifier: Apache-2.0
/* The table of extension functions, and how each is computed. */
#include "policy/cedar/function.h"

#include <string.h>

enum function {
    /* constructors */
    FUNCTION_IP,
    FUNCTION_DECIMAL,
    FUNCTION_DATETIME,
    FUNCTION_DURATION,
    /* methods */
    LESS_THAN,
    LESS_THAN_OR_EQUAL,
    GREATER_THAN,
    GREATER_THAN_OR_EQUAL,
    IS_IPV4,
    IS_IPV6,
    IS_LOOPBACK,
    IS_MULTICAST,
    IS_IN_RANGE,
    OFFSET,
    DURATION_SINCE,
    TO_DATE,
    TO_TIME,
    TO_MILLISECONDS,
    TO_SECONDS,
    TO_MINUTES,
    TO_HOURS,
    TO_DAYS,
    FUNCTION_COUNT,
};

#define MAX_ARGUMENTS 2

static const struct {
    const char *name;
    size_t count;
    enum cedar_kind kinds[MAX_ARGUMENTS];
} functions[FUNCTION_COUNT] = {
    [FUNCTION_IP] = {"ip", 1, {CEDAR_STRING}},
    [FUNCTION_DECIMAL] = {"decimal", 1, {CEDAR_STRING}},
    [FUNCTION_DATETIME] = {"datetime", 1, {CEDAR_STRING}},
    [FUNCTION_DURATION] = {"duration", 1, {CEDAR_STRING}},
    [LESS_THAN] = {"lessThan", 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}},
    [LESS_THAN_OR_EQUAL] = {"lessThanOrEqual", 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}},
    [GREATER_THAN] = {"greaterThan", 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}},
    [GREATER_THAN_OR_EQUAL] = {"greaterThanOrEqual", 2, {CEDAR_DECIMAL, CEDAR_DECIMAL}},
    [IS_IPV4] = {"isIpv4", 1, {CEDAR_IP}},
    [IS_IPV6] = {"isIpv6", 1, {CEDAR_IP}},
    [IS_LOOPBACK] = {"isLoopback", 1, {CEDAR_IP}},
    [IS_MULTICAST] = {"isMulticast", 1, {CEDAR_IP}},
    [IS_IN_RANGE] = {"isInRange", 2, {CEDAR_IP, CEDAR_IP}},
    [OFFSET] = {"offset", 2, {CEDAR_DATETIME, CEDAR_DURATION}},
    [DURATION_SINCE] = {"durationSince", 2, {CEDAR_DATETIME, CEDAR_DATETIME}},
    [TO_DATE] = {"toDate", 1, {CEDAR_DATETIME}},
    [TO_TIME] = {"toTime", 1, {CEDAR_DATETIME}},
    [TO_MILLISECONDS] = {"toMilliseconds", 1, {CEDAR_DURATION}},
    [TO_SECONDS] = {"toSeconds", 1, {CEDAR_DURATION}},
    [TO_MINUTES] = {"toMinutes", 1, {CEDAR_DURATION}},
    [TO_HOURS] = {"toHours", 1, {CEDAR_DURATION}},
    [TO_DAYS] = {"toDays", 1, {CEDAR_DURATION}},
};

int cedar_function_find(const char *name, size_t len)
{
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        if (strlen(functions[i].name) == len && memcmp(functions[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

bool cedar_function_is_constructor(int function)
{
    return function <= FUNCTION_DURATION;
}

const char *cedar_function_name(int function)
{
    return functions[function].name;
}

bool cedar_function_is_decimal_order(int function)
{
    return function >= LESS_THAN && function <= GREATER_THAN_OR_EQUAL;
}

static enum cedar_failure_code construct(enum function function, const struct cedar_text *text,
                                         struct arena *arena, struct cedar_value *ret_value)
{
    int64_t number = 0;
    struct cedar_ip ip;
    bool is_good = false;
    enum cedar_kind kind = CEDAR_DECIMAL;
    if (function == FUNCTION_IP) {
        if (!cedar_ip_parse(text->bytes, text->len, &ip)) {
            return CEDAR_FAIL_EXTENSION;
        }
        struct cedar_ip *copy = arena_new(arena, sizeof(*copy));
        *copy = ip;
        *ret_value = cedar_object(CEDAR_IP, copy);
        return 0;
    }
    if (function == FUNCTION_DECIMAL) {
        is_good = cedar_decimal_parse(text->bytes, text->len, &number);
    } else if (function == FUNCTION_DATETIME) {
        kind = CEDAR_DATETIME;
        is_good = cedar_datetime_parse(text->bytes, text->len, &number);
    } else {
        kind = CEDAR_DURATION;
        is_good = cedar_duration_parse(text->bytes, text->len, &number);
    }
    *ret_value = cedar_number(kind, number);
    return is_good ? 0 : CEDAR_FAIL_EXTENSION;
}

static bool is_order_true(enum function function, int64_t a, int64_t b)
{
    return function == LESS_THAN            ? a < b
           : function == LESS_THAN_OR_EQUAL ? a <= b
           : function == GREATER_THAN       ? a > b
                                            : a >= b;
}

static bool is_ip_true(enum function function, const struct cedar_value *arguments)
{
    const struct cedar_ip *ip = cedar_as_ip(arguments[0]);
    return function == IS_IPV4        ? !ip->is_v6
           : function == IS_IPV6      ? ip->is_v6
           : function == IS_LOOPBACK  ? cedar_ip_is_loopback(ip)
           : function == IS_MULTICAST ? cedar_ip_is_multicast(ip)
                                      : cedar_ip_is_in_range(ip, cedar_as_ip(arguments[1]));
}

static enum cedar_failure_code datetime(enum function function, const struct cedar_value *arguments,
                                        struct cedar_value *ret_value)
{
    int64_t ms = arguments[0].as.number;
    int64_t result = 0;
    bool is_over = false;
    enum cedar_kind kind = CEDAR_DATETIME;
    if (function == OFFSET) {
        is_over = __builtin_add_overflow(ms, arguments[1].as.number, &result);
    } else if (function == TO_DATE) {
        is_over = !cedar_datetime_to_date(ms, &result);
    } else if (function == TO_TIME) {
        kind = CEDAR_DURATION;
        result = cedar_datetime_to_time(ms);
    } else {
        kind = CEDAR_DURATION;
        is_over = __builtin_sub_overflow(ms, arguments[1].as.number, &result);
    }
    *ret_value = cedar_number(kind, result);
    return is_over ? CEDAR_FAIL_OVERFLOW : 0;
}

static int64_t duration_in(enum function function, int64_t ms)
{
    static const int64_t divisors[] = {1, 1000, 60 * 1000, 3600 * 1000, INT64_C(24) * 3600 * 1000};
    return ms / divisors[function - TO_MILLISECONDS];
}

static enum cedar_failure_code check(enum function function, const struct cedar_value *arguments,
                                     size_t count, struct cedar_value *ret_wrong)
{
    if (count != functions[function].count) {
        return CEDAR_FAIL_ARGUMENTS;
    }
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind != functions[function].kinds[i]) {
            *ret_wrong = arguments[i];
            return CEDAR_FAIL_TYPE;
        }
    }
    return 0;
}

enum cedar_failure_code cedar_function_call(int number, const struct cedar_value *arguments,
                                            size_t count, struct arena *arena,
                                            struct cedar_value *ret_value)
{
    enum function function = (enum function)number;
    enum cedar_failure_code failure = check(function, arguments, count, ret_value);
    if (failure != 0) {
        return failure;
    }
    if (function <= FUNCTION_DURATION) {
        return construct(function, cedar_as_text(arguments[0]), arena, ret_value);
    }
    if (function <= GREATER_THAN_OR_EQUAL) {
        *ret_value =
            cedar_bool(is_order_true(function, arguments[0].as.number, arguments[1].as.number));
        return 0;
    }
    if (function <= IS_IN_RANGE) {
        *ret_value = cedar_bool(is_ip_true(function, arguments));
        return 0;
    }
    if (function <= TO_TIME) {
        return datetime(function, arguments, ret_value);
    }
    *ret_value = cedar_long(duration_in(function, arguments[0].as.number));
    return 0;
}
