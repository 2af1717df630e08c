// SPDX-License-Identifier: Apache-2.0
/*
 * Vectors of pieces of documents, in the index of the pieces. The store keeps them by what they are
 * made of, so that a piece is sent to the endpoint once and not in each run. An endpoint that fails
 * is left alone for a minute; what has no vector yet is found by its words.
 *
 * Threads: belongs to the thread that uses the index.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cancel;
struct clock;
struct sqlite3;
struct store;

/** Pieces of one agent that get a vector; others are found by their words. */
#define DOCUMENT_VECTORS_MAX 20000
/** Collection of the store in which vectors are kept. */
#define DOCUMENT_VECTORS_COLLECTION "document-vector"
/** Bytes of the beginning of an agent's keys, with the NUL. */
#define DOCUMENT_KEY_PREFIX_SIZE 34

/** The beginning of the keys of an agent's documents in the store: "DIGEST/". */
void document_key_prefix(const char *owner, char ret_prefix[DOCUMENT_KEY_PREFIX_SIZE]);

/**
 * Makes vectors of texts.
 * @param ret_vectors for each text its floats are appended
 */
typedef int document_embed_fn(void *context, const char *const *texts, size_t count,
                              int64_t timeout_ns, struct cancel *cancel, struct buf *ret_vectors,
                              struct rondo_error *err);

/** Everything is borrowed. */
struct document_vectors_options {
    document_embed_fn *embed;
    void *context;
    const char *model; /**< names the vectors */
    const char *owner; /**< the agent */
    struct store *store;
    const struct clock *clock;
};

struct document_vectors;

/** Texts are copied. */
struct document_vectors *document_vectors_new(const struct document_vectors_options *options);
/** NULL is allowed. */
void document_vectors_free(struct document_vectors *vectors);

/**
 * Take over an index with all its pieces (the table `piece` with `content` and `source`): vectors
 * that are kept are read, and those of pieces that are gone are forgotten.
 * @return whether the index is fit for them
 */
bool document_vectors_begin(struct document_vectors *vectors, struct sqlite3 *index);

/** Pieces with these row ids are new. */
void document_vectors_add(struct document_vectors *vectors, int64_t from, int64_t to);

/** What ends requests from now on. @param deadline_ns monotonic; 0 = none */
void document_vectors_bound(struct document_vectors *vectors, struct cancel *cancel,
                            int64_t deadline_ns);

/** Make vectors that are missing, for some seconds at most; the rest next time. */
void document_vectors_fill(struct document_vectors *vectors);

/**
 * The pieces that are nearest to a question, best first.
 * @param source  only sources with this in them; "" = all
 * @param ret_ids room for `top`
 * @return how many; 0 also when the endpoint fails
 */
size_t document_vectors_find(struct document_vectors *vectors, const char *question,
                             const char *source, size_t top, int64_t *ret_ids);

/** Why a search goes by words, or how many pieces have no vector yet; "" = all have one. */
void document_vectors_describe(const struct document_vectors *vectors, struct buf *ret_text);
