// SPDX-License-Identifier: Apache-2.0
/* Randomness that tests can replace: ids and jitter take a `struct random`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct random {
    /** Fill `bytes` with random bytes. Any thread unless the implementation says otherwise. */
    void (*fill)(struct random *random, void *bytes, size_t len);
    uint64_t state; /**< of the seeded generator */
};

/** The kernel's generator. Static; any thread. */
struct random *random_system(void);

/** A generator that gives the same sequence for the same seed (splitmix64). One thread. */
struct random random_seeded(uint64_t seed);

/** 64 random bits. */
uint64_t random_u64(struct random *random);

/** A number in [0, bound); bound > 0. The bias is below 2^-32 for bounds below 2^32. */
uint64_t random_below(struct random *random, uint64_t bound);
