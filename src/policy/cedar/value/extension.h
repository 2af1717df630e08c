// SPDX-License-Identifier: Apache-2.0
/*
 * Cedar's extension types as plain numbers: reading their text forms, writing them, and arithmetic
 * that says when it overflows. Formats and ranges follow the Cedar 4.5 language reference
 * (decimal, ipaddr, datetime, duration). Pure functions without allocation; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An address or a range of addresses; network byte order, IPv4 in the first four bytes. */
struct cedar_ip {
    bool is_v6;
    uint8_t prefix; /**< bits, at most 32 or 128 */
    uint8_t bytes[16];
};

/** Bytes that the *_format functions write at most, the NUL included. */
#define CEDAR_EXTENSION_TEXT_SIZE 64

/** `-?D+.D{1,4}`. @param ret_units ten-thousandths; set only when true is returned */
bool cedar_decimal_parse(const char *text, size_t len, int64_t *ret_units);
/** Shortest text that reads back the same, with at least one digit after the point. */
void cedar_decimal_format(int64_t units, char *ret_text);

/** Dotted quad or IPv6, with an optional `/prefix`; at most 43 bytes. */
bool cedar_ip_parse(const char *text, size_t len, struct cedar_ip *ret_ip);
/** The prefix is left out when it covers the whole address. */
void cedar_ip_format(const struct cedar_ip *ip, char *ret_text);
/** Address and prefix both equal. */
bool cedar_ip_equals(const struct cedar_ip *a, const struct cedar_ip *b);
bool cedar_ip_is_loopback(const struct cedar_ip *ip);
bool cedar_ip_is_multicast(const struct cedar_ip *ip);
/** Whether all addresses of `inner` are in `outer`; false across families. */
bool cedar_ip_is_in_range(const struct cedar_ip *inner, const struct cedar_ip *outer);

/** `YYYY-MM-DD`, or with `Thh:mm:ss[.SSS](Z|(+|-)hhmm)`. @param ret_ms since the Unix epoch */
bool cedar_datetime_parse(const char *text, size_t len, int64_t *ret_ms);
/**
 * UTC with milliseconds when they are not zero, as `datetime()` takes it. Times outside the years
 * 0000 to 9999 have no such form: those are written as `<n>ms since 1970`.
 */
void cedar_datetime_format(int64_t ms, char *ret_text);
/** Beginning of the day. @return false on overflow */
bool cedar_datetime_to_date(int64_t ms, int64_t *ret_ms);
/** Time of the day, 0 to 86399999 ms. */
int64_t cedar_datetime_to_time(int64_t ms);

/** `-?(Nd)?(Nh)?(Nm)?(Ns)?(Nms)?`, at least one part. */
bool cedar_duration_parse(const char *text, size_t len, int64_t *ret_ms);
/** As `duration()` takes it ("1d2h3m4s5ms", "0ms"). */
void cedar_duration_format(int64_t ms, char *ret_text);
