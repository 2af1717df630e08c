// SPDX-License-Identifier: Apache-2.0
/* Models for vectors of texts, as `embeddings` of `spec.memory` and `spec.ingest` name them. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct cancel;
struct http_client;
struct json_object;
struct model;
struct role;
struct runtime;

/** The model for vectors; texts may be "". Owned. */
struct embedding_settings {
    bool is_given; /**< without it, texts are found by their words only */
    char *provider;
    char *model;
    char *base_url;
    char *api_key_env;
};

/**
 * Read an `embeddings` section. The provider is that of the section, else of the role's model, and
 * OpenAI's where that has none.
 * @param section normal form, or NULL
 * @param ret_settings embedding_settings_fini()
 */
void embedding_settings_read(const struct role *role, struct json_object *section,
                             struct embedding_settings *ret_settings);
void embedding_settings_fini(struct embedding_settings *settings);

/** What a model for vectors needs. Borrowed; the runtime and the client outlive it. */
struct embedding_parts {
    struct runtime *runtime;
    struct http_client *http;
    const struct role *role;
    bool is_dry_run;         /**< no model is opened */
    const char *prices_file; /**< see struct model_options; or NULL */
    bool needs_price; /**< a budget limits cost: no model is opened whose price is not known */
};

/**
 * Open the model that settings name.
 * @param section     "memory" or "ingest", for the reason
 * @param ret_name    names its vectors: the model and, where it is not the provider's own, its
 *                    address
 * @param ret_problem why there is none though the role requests it; "" = it requests none
 * @return model_free(), or NULL
 */
struct model *embedding_open(const struct embedding_parts *parts,
                             const struct embedding_settings *given, const char *section,
                             struct buf *ret_name, char ret_problem[RONDO_ERROR_MESSAGE_SIZE]);

/** What requests have used since it was taken last. */
struct embedding_usage {
    int64_t requests; /**< that had a reply */
    int64_t texts;
    int64_t tokens;
    int64_t cost_micro;
    bool is_cost_unknown; /**< of one of them */
    int64_t duration_ns;
};

/** model_embed(), which counts what it uses. @param usage is added to */
int embedding_make(struct model *model, const char *const *texts, size_t count, int64_t timeout_ns,
                   struct cancel *cancel, struct buf *ret_vectors, struct embedding_usage *usage,
                   struct rondo_error *err);
