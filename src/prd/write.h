// SPDX-License-Identifier: Apache-2.0
/*
 * A new prd.json from the normal form: what `rondo prd convert` writes. A file that exists is
 * merged: tasks that are still there keep their state and whatever a person or tool has put into
 * them. Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "prd/findings.h"
#include "prd/prd.h"

/** Whether convert can write a dialect: arete, ralph or ralph-tui. */
bool prd_can_write(enum prd_dialect dialect);

/** What a merge has done. Texts are lines "US-001: title". */
struct prd_merge {
    size_t added;
    size_t removed;
    size_t changed; /**< text or criteria; their state is kept */
    size_t kept;
    struct buf report; /**< a line for each of the first three */
};
void prd_merge_fini(struct prd_merge *merge);

/**
 * Write a PRD as JSON of a dialect, with a line end.
 * @param existing text of the prd.json that this replaces, or NULL. Its dialect counts, not
 * `dialect`.
 * @param ret_merge filled when there is an existing text; may be NULL
 * @return 0; RONDO_ERR_INVALID when the existing text cannot be read; RONDO_ERR_UNSUPPORTED for
 * another dialect
 */
int prd_write(const struct prd *prd, enum prd_dialect dialect, const struct buf *existing,
              int64_t time_ns, struct buf *ret_text, struct prd_merge *ret_merge,
              struct rondo_error *err);
