// SPDX-License-Identifier: Apache-2.0
/*
 * The Merkle tree of RFC 6962, section 2.1, over a list that only grows: its root names all entries
 * and their order. What is kept are the roots of the full subtrees, at most 64.
 */
#pragma once

#include "base/digest.h"

#include <stddef.h>
#include <stdint.h>

/** Zeroed, it is the tree of nothing. */
struct merkle {
    uint64_t size; /**< entries */
    unsigned char
        peaks[64][DIGEST_SIZE]; /**< of the subtree of 2^i entries, where bit i of size is set */
};

/** Append an entry. */
void merkle_add(struct merkle *merkle, const void *entry, size_t len);

/** The root: of an empty list the digest of nothing. @param ret_root DIGEST_SIZE bytes */
void merkle_root(const struct merkle *merkle, unsigned char *ret_root);
