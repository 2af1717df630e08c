// SPDX-License-Identifier: Apache-2.0
/*
 * "Did you mean": of the words that would have been right, the one nearest to what was written. A
 * word is near when a third of it at most was changed, by swaps and single letters, or when one
 * holds the other ("cost" for "cost_usd").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

/** The best of the candidates offered so far. Begin with {.word, .len}. */
struct suggest {
    const char *word;
    size_t len;
    const char *best;
    unsigned distance;
    bool is_tied; /**< two that only share a part with the word: neither is proposed */
};

/** Offer a candidate, which is borrowed. */
void suggest_offer(struct suggest *suggest, const char *candidate);

/** Whether the best candidate is a slip away, not just a word with a part in common. */
bool suggest_is_slip(const struct suggest *suggest);

/** Append "; did you mean `x`?", or nothing. @param prefix, suffix around x */
void suggest_write(const struct suggest *suggest, const char *prefix, const char *suffix,
                   struct buf *ret_text);
