// SPDX-License-Identifier: Apache-2.0
/* Numbers, durations and money as people write them in options and configuration files. */
#pragma once

#include <stdint.h>

struct rondo_error;

/** Whole decimal number in [low, high]. @return 0 or RONDO_ERR_INVALID. */
int parse_int(const char *text, int64_t low, int64_t high, int64_t *ret_number,
              struct rondo_error *err);

/**
 * Duration: "90" (seconds), "250ms", "1.5s", "30s", "5m", "2h", "1d", or a sequence ("1h30m").
 * @param ret_ns nanoseconds, 0 to LIMIT_DURATION_NS
 */
int parse_duration(const char *text, int64_t *ret_ns, struct rondo_error *err);

/** Seconds that may be any number, as ns up to LIMIT_DURATION_NS; 0 for what is not above 0. */
int64_t duration_from_seconds(double seconds);

/** Money: "5", "0.25", up to six decimals. @param ret_micro millionths of the currency unit. */
int parse_money(const char *text, int64_t *ret_micro, struct rondo_error *err);

/** Bytes that format_duration writes at most, the NUL included. */
#define FORMAT_DURATION_SIZE 32

/** A duration for people: "340 ms", "4.2 s", "3m 05s", "2h 10m". */
void format_duration(int64_t ns, char *ret_text);
