// SPDX-License-Identifier: Apache-2.0
/*
 * Embeddings: vectors of texts, by the API of OpenAI (`POST .../embeddings`), which Ollama and
 * others have too. A model for embeddings is opened like any other (model_open).
 */
#pragma once

#include "model/model.h"

/** Texts of one request. */
#define MODEL_EMBED_TEXTS 64
/** Numbers of a vector. */
#define MODEL_EMBED_DIMENSIONS 8192

/**
 * The usual model for embeddings of a provider, or NULL when it has none that is known. Static.
 * @param provider "anthropic" has no embeddings: those of "openai" serve its users
 */
const char *model_embed_default(const char *provider);

/** What a request used. */
struct model_embed_usage {
    int64_t tokens; /**< as the reply reports; 0 = it does not */
    bool has_cost;  /**< the price is known, and the tokens are */
    int64_t cost_micro;
    int64_t duration_ns;
};

/**
 * Make vectors of texts, in one request without repetition. Blocks; any thread.
 * @param texts      at most MODEL_EMBED_TEXTS
 * @param timeout_ns for the request
 * @param cancel     ends it; or NULL
 * @param ret_vectors for each text a vector of floats is appended; all have one length
 * @param ret_usage   filled in whenever there was a reply that can be read
 * @return 0, or a negative code with what went wrong; no key is in it
 */
int model_embed(struct model *model, const char *const *texts, size_t count, int64_t timeout_ns,
                struct cancel *cancel, struct buf *ret_vectors, struct model_embed_usage *ret_usage,
                struct rondo_error *err);
