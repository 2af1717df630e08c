// SPDX-License-Identifier: Apache-2.0
/* "Did you mean": swaps and single letters. Pure. */
#include "base/text/suggest.h"

#include "base/ascii.h"
#include "base/buf.h"

#include <string.h>

/** Longer words are not compared. */
#define MAX_WORD 40
/** A part that a word and a candidate share is worth proposing from this length on. */
#define MIN_SHARED 4
/** Its distance: farther than any slip, so that slips come first. */
#define SHARED_PART MAX_WORD

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/**
 * Letters inserted, removed, replaced or swapped with their neighbour (optimal string alignment),
 * without regard to case.
 */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][MAX_WORD + 1];
    for (size_t j = 0; j <= b_len; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned change = ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]) ? 0 : 1;
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
            bool is_swap = i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
                           ascii_lower(a[i - 2]) == ascii_lower(b[j - 1]);
            if (is_swap && rows[(i - 2) % 3][j - 2] + 1 < row[j]) {
                row[j] = rows[(i - 2) % 3][j - 2] + 1;
            }
        }
    }
    return rows[a_len % 3][b_len];
}

/** Changes that still look like a slip: a third of the longer word. */
static unsigned most_changes(size_t a_len, size_t b_len)
{
    size_t longer = a_len > b_len ? a_len : b_len;
    return longer < 3 ? 0 : (unsigned)(longer / 3);
}

/** Whether one word holds the other: `cost` for `cost_usd`, `agent.iterate` for `iterate`. */
static bool has_shared_part(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len < b_len) {
        return a_len >= MIN_SHARED && memmem(b, b_len, a, a_len) != NULL;
    }
    return b_len >= MIN_SHARED && memmem(a, a_len, b, b_len) != NULL;
}

void suggest_offer(struct suggest *suggest, const char *candidate)
{
    size_t len = strlen(candidate);
    bool is_known = suggest->best != NULL && strcmp(suggest->best, candidate) == 0;
    if (is_known || suggest->len > MAX_WORD || len > MAX_WORD) {
        return;
    }
    unsigned changes = distance(suggest->word, suggest->len, candidate, len);
    bool is_part = false;
    if (changes > most_changes(suggest->len, len)) {
        if (!has_shared_part(suggest->word, suggest->len, candidate, len)) {
            return;
        }
        is_part = true;
        changes = SHARED_PART;
    }
    if (suggest->best != NULL && changes >= suggest->distance) {
        suggest->is_tied = suggest->is_tied || (is_part && changes == suggest->distance);
        return;
    }
    suggest->best = candidate;
    suggest->distance = changes;
    suggest->is_tied = false;
}

bool suggest_is_slip(const struct suggest *suggest)
{
    return suggest->best != NULL && suggest->distance < SHARED_PART;
}

void suggest_write(const struct suggest *suggest, const char *prefix, const char *suffix,
                   struct buf *ret_text)
{
    if (suggest->best != NULL && !suggest->is_tied) {
        buf_printf(ret_text, "; did you mean `%s%s%s`?", prefix, suggest->best, suffix);
    }
}
