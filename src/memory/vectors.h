// SPDX-License-Identifier: Apache-2.0
/*
 * The index of vectors of one owner's memories: which are missing, and which are nearest to a
 * question. Vectors are stored with the name of their model; those of another one do not count, and
 * are replaced, so a new model means a new index. An endpoint that fails is left alone for a
 * minute: searches go by words meanwhile.
 *
 * Threads: an index belongs to one thread at a time.
 */
#pragma once

#include "memory/memory.h"

struct cancel;
struct clock;

/** Texts of one request. */
#define VECTORS_BATCH 64

/**
 * Makes vectors of texts.
 * @param ret_vectors for each text its floats are appended
 */
typedef int vectors_embed_fn(void *context, const char *const *texts, size_t count,
                             int64_t timeout_ns, struct cancel *cancel, struct buf *ret_vectors,
                             struct rondo_error *err);

struct vectors_options {
    const char *model; /**< names the vectors; copied */
    vectors_embed_fn *embed;
    void *context;
    const struct clock *clock;
};

struct vectors;

struct vectors *vectors_new(const struct vectors_options *options);
/** NULL is allowed. */
void vectors_free(struct vectors *vectors);
/** What ends requests from now on; or NULL. */
void vectors_set_cancel(struct vectors *vectors, struct cancel *cancel);

/**
 * Make the vectors that are missing, for some seconds at most; the rest next time.
 * @return 0, also when the endpoint fails; a negative code of the store
 */
int vectors_fill(struct vectors *vectors, struct store *store, const char *owner,
                 struct rondo_error *err);

/** Memory and its nearness to a question. */
struct vectors_near {
    int64_t id;
    double nearness; /**< square of the weighed cosine: at most 1 */
};

/**
 * Find the nearest memories, best first.
 * @param weigh      what a memory's kind and age do to its nearness
 * @param ret_near   room for `top`
 * @param ret_count  0 also when the endpoint fails: see vectors_problem
 */
int vectors_search(struct vectors *vectors, struct store *store,
                   const struct memories_question *question,
                   double (*weigh)(const struct store_memory *memory, int64_t now_ns), size_t top,
                   struct vectors_near *ret_near, size_t *ret_count, struct rondo_error *err);

/** Why searches go by words only, or "". Borrowed until the next call. */
const char *vectors_problem(const struct vectors *vectors);
