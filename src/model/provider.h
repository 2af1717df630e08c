// SPDX-License-Identifier: Apache-2.0
/*
 * Providers: one row each. All that is particular to a provider is in its row; its protocol
 * is a `struct model_ops`. Static; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct model_ops;

/** The dialects that rows name. */
extern const struct model_ops openai_ops;
extern const struct model_ops anthropic_ops;
extern const struct model_ops scripted_ops;

/** Ways in which a provider differs from the dialect it speaks. */
enum provider_trait {
    PROVIDER_IS_OPENAI = 1, /**< max_completion_tokens; the rule for reasoning models */
    PROVIDER_NO_STREAM_OPTIONS =
        2, /**< refuses `stream_options`, sends usage without being asked */
    PROVIDER_REPEATS_REASONING = 4,  /**< requires its `reasoning_content` back */
    PROVIDER_TAKES_IDEMPOTENCY = 8,  /**< header Idempotency-Key */
    PROVIDER_IS_LOCAL = 16,          /**< costs nothing */
    PROVIDER_LIMITS_COMPLETION = 32, /**< `max_completion_tokens` instead of `max_tokens` */
};

struct provider {
    const char *name;
    const struct model_ops *ops; /**< NULL = not supported yet */
    const char *base_url;        /**< NULL = none needed */
    const char *key_env;         /**< variable of the key; NULL = no key needed */
    const char *fixed_key;       /**< sent where a key is expected but none is needed; or NULL */
    unsigned traits;             /**< enum provider_trait */
    const char *note;            /**< for the documentation */
};

/** The row of a provider, or NULL. */
const struct provider *provider_find(const char *name);
/** Row number `i`, or NULL past the last. */
const struct provider *provider_at(size_t i);
/** The row for a name that is not in the table but has a base_url. */
const struct provider *provider_compatible(void);
/** Append "; did you mean `x`?" for a name that is not in the table, or nothing. */
void provider_suggest(const char *name, struct buf *ret_text);

/** Append the table of providers, in Markdown. */
void model_describe_providers(struct buf *ret_text);
