// SPDX-License-Identifier: Apache-2.0
/*
 * Random numbers of tests that play a world from a seed: a struct with the members `seed` and
 * `random`, both uint64_t and at first the same.
 */
#pragma once

#include "support/test.h"

#include <stdint.h>

/* A failure names the seed with which it happens again. */
#define CHECK(world, condition)                                                       \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fail_msg("seed %llu: %s", (unsigned long long)(world)->seed, #condition); \
        }                                                                             \
    } while (0)

/** The next number of SplitMix64, from 0 to sides - 1. */
static inline uint64_t seed_roll(uint64_t *random, uint64_t sides)
{
    uint64_t z = (*random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % sides;
}

#define roll(world, sides) seed_roll(&(world)->random, (uint64_t)(sides))
/** Once in so many times. */
#define once_in(world, times) (roll(world, times) == 0)
