// SPDX-License-Identifier: Apache-2.0
/*
 * What tokens cost. A table of widely used models, which a file and the options of a model
 * override. Prices are millionths of a dollar for a million tokens. Static and pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

struct model_usage;

struct prices {
    int64_t input;
    int64_t output;
    int64_t cached;        /**< input that was read from the cache */
    int64_t cache_written; /**< input that was written to the cache */
    bool is_known;
};

/** Prices of the table for a model; `is_known` is false when it is not in it. */
struct prices prices_find(const char *provider, const char *name);

/**
 * Lay the prices of a file over others: {"provider:model": {"input": 2.5, "output": 10,
 * "cached": 1.25, "cache_write": 0}} in dollars for a million tokens.
 * @return 0, also when the file does not name the model; a negative code when it cannot be read
 */
int prices_read_file(const char *path, const char *provider, const char *name,
                     struct prices *prices, struct rondo_error *err);

/** The same from a text. @param path for messages */
int prices_read(const char *path, const char *text, size_t len, const char *provider,
                const char *name, struct prices *prices, struct rondo_error *err);

/** Cost in millionths of a dollar, rounded up; INT64_MAX at most. */
int64_t prices_cost(const struct prices *prices, const struct model_usage *usage);

/** Append the table, in Markdown. */
void model_describe_prices(struct buf *ret_text);

/** A file of prices, bytes. */
#define PRICES_FILE_MAX_BYTES ((size_t)1024 * 1024)
