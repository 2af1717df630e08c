// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for a model of embeddings: deterministic and local. A text becomes the sum of the
 * directions of its parts of three letters, so that texts with like words are near each other, in
 * any language that has letters. It knows no meaning.
 */
#pragma once

#include "base/ascii.h"
#include "memory/vectors.h"

#include <stdio.h>
#include <string.h>

#define STAND_IN_DIMENSIONS 256

struct stand_in {
    unsigned requests;
    unsigned texts;
    bool is_dead;
};

static inline uint32_t stand_in_hash(const unsigned char *bytes)
{
    uint32_t hash = 2166136261U;
    for (int i = 0; i < 3; i++) {
        hash = (hash ^ (unsigned char)ascii_lower((char)bytes[i])) * 16777619U;
    }
    return hash;
}

static inline void stand_in_vector(const char *text, struct buf *ret_vector)
{
    float vector[STAND_IN_DIMENSIONS] = {0};
    size_t len = strlen(text);
    for (size_t i = 0; i + 3 <= len; i++) {
        uint32_t hash = stand_in_hash((const unsigned char *)text + i);
        vector[hash % STAND_IN_DIMENSIONS] += (hash & 0x10000) != 0 ? 1 : -1;
    }
    buf_append(ret_vector, vector, sizeof(vector));
}

static inline int stand_in_embed(void *context, const char *const *texts, size_t count,
                                 int64_t timeout_ns, struct cancel *cancel, struct buf *ret_vectors,
                                 struct rondo_error *err)
{
    struct stand_in *stand_in = context;
    (void)timeout_ns;
    (void)cancel;
    stand_in->requests++;
    stand_in->texts += (unsigned)count;
    if (stand_in->is_dead) {
        snprintf(err->message, sizeof(err->message), "nobody answers");
        return RONDO_ERR_IO;
    }
    for (size_t i = 0; i < count; i++) {
        stand_in_vector(texts[i], &ret_vectors[i]);
    }
    return 0;
}
