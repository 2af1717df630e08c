// SPDX-License-Identifier: Apache-2.0
/* Models for vectors of texts, as `embeddings` of `spec.memory` and `spec.ingest` name them. */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>

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
    bool is_dry_run; /**< no model is opened */
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
