// SPDX-License-Identifier: Apache-2.0
/*
 * Exported audit chains: one entry a line, and on the last line {"signed_head":HEAD}. A file is
 * verified by itself, without the store that it comes from. One thread at a time.
 *
 * The hash of an entry in which something was hidden is not that of what is left. So the last line
 * has a signature of all such lines, too: {"signed_head":HEAD,"hidden":{"signature":BASE64}}.
 */
#pragma once

#include "base/digest.h"
#include "handoff/storage/chain.h"

#include <stdio.h>

/** A file while it is verified. Zeroed but for `keys` at the start. */
struct audit_file {
    const struct audit_keys *keys; /**< that are trusted */
    struct audit_verifier verifier;
    struct buf line; /**< what is read of the next one */
    uint64_t lines;
    unsigned char hidden[DIGEST_SIZE]; /**< of the lines in which something was hidden */
    bool has_end;                      /**< its last line was read */
    uint64_t heads;
};

/** Verify the next bytes. @return RONDO_ERR_CORRUPT; do not continue then */
int audit_file_add(struct audit_file *file, const char *bytes, size_t len, struct rondo_error *err);

/**
 * The file ends here. RONDO_ERR_CORRUPT when it has no head at its end, unless a head was expected.
 */
int audit_file_finish(struct audit_file *file, struct audit_report *ret_report,
                      struct rondo_error *err);

/** Release what it holds. */
void audit_file_fini(struct audit_file *file);

/** What a reader may see of an entry. @param ret_line the entry, or what is left of it */
typedef void audit_hide_fn(void *context, const char *entry, size_t len, struct buf *ret_line);

/**
 * Write a whole chain with a new signed head.
 * @param hide NULL = the reader may see all
 * @param fn   called for each line, without its line end
 */
int audit_file_export(struct store *store, int64_t now_ns, audit_hide_fn *hide, audit_text_fn *fn,
                      void *context, struct rondo_error *err);
