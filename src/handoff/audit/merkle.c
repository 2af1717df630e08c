// SPDX-License-Identifier: Apache-2.0
/* Roots of full subtrees, carried like the digits of a binary counter. */
#include "handoff/audit/merkle.h"

#include <stdbool.h>
#include <string.h>

static void join(const unsigned char *left, const unsigned char *right, unsigned char *ret_node)
{
    struct digest digest = digest_begin();
    digest_add(&digest, "\x01", 1);
    digest_add(&digest, left, DIGEST_SIZE);
    digest_add(&digest, right, DIGEST_SIZE);
    digest_finish(&digest, ret_node);
}

void merkle_add(struct merkle *merkle, const void *entry, size_t len)
{
    unsigned char node[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, "\x00", 1);
    digest_add(&digest, entry, len);
    digest_finish(&digest, node);
    unsigned level = 0;
    for (; (merkle->size >> level & 1) != 0; level++) {
        join(merkle->peaks[level], node, node);
    }
    memcpy(merkle->peaks[level], node, DIGEST_SIZE);
    merkle->size++;
}

void merkle_root(const struct merkle *merkle, unsigned char *ret_root)
{
    bool is_empty = true;
    for (unsigned level = 0; level < 64; level++) {
        if ((merkle->size >> level & 1) == 0) {
            continue;
        }
        if (is_empty) {
            memcpy(ret_root, merkle->peaks[level], DIGEST_SIZE);
        } else {
            join(merkle->peaks[level], ret_root, ret_root);
        }
        is_empty = false;
    }
    if (is_empty) {
        struct digest digest = digest_begin();
        digest_finish(&digest, ret_root);
    }
}
