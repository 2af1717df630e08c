// SPDX-License-Identifier: Apache-2.0
/* The end of a child's output, in bounded memory. One owner, one thread. */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct output_tail {
    size_t keep;    /**< bytes to keep; never more than twice as many are held */
    struct buf buf; /**< the latest bytes */
    uint64_t total; /**< bytes seen over all */
};

/** Take more output. */
void output_tail_add(struct output_tail *tail, const char *bytes, size_t len);

/**
 * Release the kept bytes and leave an empty tail. Where the beginning was dropped, the text starts
 * with a whole UTF-8 sequence.
 * @return owned, NUL-terminated
 */
char *output_tail_steal(struct output_tail *tail, size_t *ret_len);
