// SPDX-License-Identifier: Apache-2.0
/*
 * How many requests somebody may send: a token bucket for each name, in a table of fixed size. When
 * it is full, the bucket that was used longest ago makes room; it was full by then, or its owner
 * gains one bucket's worth of requests. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate;

/** Buckets that are kept at once. */
#define RATE_BUCKETS 4096

/** @param per_second tokens that come back each second; a bucket holds twice as many. Never NULL */
struct rate *rate_new(unsigned per_second);
/** NULL is allowed. */
void rate_free(struct rate *rate);

/**
 * Take one.
 * @param now_ns a monotonic clock
 * @param ret_wait_s seconds until there is one again, when there is none
 */
bool rate_take(struct rate *rate, const char *name, int64_t now_ns, int64_t *ret_wait_s);
