// SPDX-License-Identifier: Apache-2.0
/*
 * Regular expressions of role files, in the syntax of Python's `re`, searched for regardless of
 * case by PCRE2. The author of a text may know the expression, so the work of one search is
 * limited, and a search that comes to a limit is undecided, which a filter must treat as a match.
 *
 * The limit counts steps and not time, so that the same text has the same outcome on every machine.
 * A pattern never changes; any thread.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

struct rondo_error;
struct pattern;

enum pattern_outcome {
    PATTERN_ABSENT,
    PATTERN_FOUND,
    PATTERN_UNDECIDED, /**< too much work, or the text is not UTF-8 */
};

/**
 * @param text        of `len` bytes, up to LIMIT_PATTERN_BYTES
 * @param ret_pattern pattern_free()
 * @return RONDO_ERR_INVALID with what is wrong, and where
 */
int pattern_compile(const char *text, size_t len, struct pattern **ret_pattern,
                    struct rondo_error *err);
/** NULL is allowed. */
void pattern_free(struct pattern *pattern);

/** Whether it occurs anywhere in a text. */
enum pattern_outcome pattern_search(const struct pattern *pattern, const char *text, size_t len);

/**
 * Write a text with `replacement` for each occurrence, as Python's `re.sub` does.
 * @param ret_text appended; of no use when the outcome is PATTERN_UNDECIDED
 */
enum pattern_outcome pattern_replace(const struct pattern *pattern, const char *text, size_t len,
                                     const char *replacement, struct buf *ret_text);
