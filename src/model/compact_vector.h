// SPDX-License-Identifier: Apache-2.0
/*
 * Vectors as they are kept: one signed byte for each dimension. The cosine of two of them differs
 * from that of the originals in the third digit, and what a search costs is their size. Pure.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/**
 * Append floats as bytes. A vector of zeros, or of what is no number, gives nothing.
 * @param floats as model_embed gives them
 */
void compact_vector_write(const struct buf *floats, struct buf *ret_bytes);

/** The square of a vector's length. */
double compact_vector_norm(const void *vector, size_t len);

/**
 * How near a vector is to a question of the same length.
 * @param question_norm its compact_vector_norm
 * @return the square of their cosine; 0 = they have nothing in common
 */
double compact_vector_nearness(const void *vector, const void *question, size_t len,
                               double question_norm);
