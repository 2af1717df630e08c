// SPDX-License-Identifier: Apache-2.0
/* Token buckets in a table with eight places for each hash value. */
#include "server/auth/rate.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/** Places where a name may lie. */
#define WAYS 8

struct rate_bucket {
    unsigned char key[16]; /* of the name's digest: callers cannot choose an entry to evict */
    bool is_used;
    int64_t left; /* nanotokens */
    int64_t updated_ns;
};

struct rate {
    pthread_mutex_t lock;
    int64_t per_second;
    struct rate_bucket buckets[RATE_BUCKETS];
};

struct rate *rate_new(unsigned per_second)
{
    struct rate *rate = memory_new_zero(1, sizeof(*rate));
    pthread_mutex_init(&rate->lock, NULL);
    rate->per_second = per_second;
    return rate;
}

void rate_free(struct rate *rate)
{
    if (rate != NULL) {
        pthread_mutex_destroy(&rate->lock);
        free(rate);
    }
}

static struct rate_bucket *find(struct rate *rate, const unsigned char *digest)
{
    size_t set = ((size_t)digest[16] << 8 | digest[17]) % (RATE_BUCKETS / WAYS);
    struct rate_bucket *first = &rate->buckets[set * WAYS];
    struct rate_bucket *oldest = first;
    for (size_t i = 0; i < WAYS; i++) {
        struct rate_bucket *bucket = &first[i];
        if (bucket->is_used && memcmp(bucket->key, digest, sizeof(bucket->key)) == 0) {
            return bucket;
        }
        if (!bucket->is_used || (oldest->is_used && bucket->updated_ns < oldest->updated_ns)) {
            oldest = bucket;
        }
    }
    oldest->is_used = false;
    return oldest;
}

static void refill(const struct rate *rate, struct rate_bucket *bucket, int64_t now_ns)
{
    int64_t full = 2 * rate->per_second * NS_PER_S;
    int64_t passed = now_ns - bucket->updated_ns;
    int64_t gained = 0;
    if (passed > 2 * NS_PER_S || __builtin_mul_overflow(passed, rate->per_second, &gained)) {
        gained = full;
    }
    bucket->left = gained > full - bucket->left ? full : bucket->left + gained;
    bucket->updated_ns = now_ns;
}

bool rate_take(struct rate *rate, const char *name, int64_t now_ns, int64_t *ret_wait_s)
{
    unsigned char key[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, name, strlen(name));
    digest_finish(&digest, key);
    pthread_mutex_lock(&rate->lock);
    struct rate_bucket *bucket = find(rate, key);
    if (!bucket->is_used) {
        memcpy(bucket->key, key, sizeof(bucket->key));
        bucket->is_used = true;
        bucket->left = 2 * rate->per_second * NS_PER_S;
        bucket->updated_ns = now_ns;
    }
    refill(rate, bucket, now_ns);
    bool is_there = bucket->left >= NS_PER_S;
    bucket->left -= is_there ? NS_PER_S : 0;
    pthread_mutex_unlock(&rate->lock);
    *ret_wait_s = is_there ? 0 : 1;
    return is_there;
}
