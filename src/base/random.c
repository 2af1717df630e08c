// SPDX-License-Identifier: Apache-2.0
/* Random numbers: the kernel's, and splitmix64 (Steele, Lea, Flood 2014) for tests. */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void system_fill(struct random *random, void *bytes, size_t len)
{
    (void)random;
    unsigned char *at = bytes;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            abort(); /* A kernel without getrandom cannot make safe ids. */
        }
        at += got;
        len -= (size_t)got;
    }
}

struct random *random_system(void)
{
    static struct random system = {.fill = system_fill};
    return &system;
}

static uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static void seeded_fill(struct random *random, void *bytes, size_t len)
{
    unsigned char *at = bytes;
    while (len > 0) {
        uint64_t word = splitmix_next(&random->state);
        size_t part = len < sizeof(word) ? len : sizeof(word);
        memcpy(at, &word, part);
        at += part;
        len -= part;
    }
}

struct random random_seeded(uint64_t seed)
{
    return (struct random){.fill = seeded_fill, .state = seed};
}

uint64_t random_u64(struct random *random)
{
    uint64_t word;
    random->fill(random, &word, sizeof(word));
    return word;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    assert(bound > 0);
    return random_u64(random) % bound;
}
