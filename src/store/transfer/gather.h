// SPDX-License-Identifier: Apache-2.0
/*
 * A piece that grows from what reading gives, until it is as large as one transaction should be.
 * Everything is copied into it. One thread at a time.
 */
#pragma once

#include "base/arena.h"
#include "store/store.h"

struct gathered {
    struct arena arena; /**< of all texts and bytes */
    size_t bytes;
    size_t parts;
    struct store_run *runs;
    size_t run_count;
    struct store_event *events;
    size_t event_count;
    struct store_run_checkpoint *checkpoints;
    size_t checkpoint_count;
    struct store_letter *letters;
    size_t letter_count;
    struct store_document *documents;
    size_t document_count;
    struct store_policy_change *policies;
    size_t policy_count;
    struct store_memory_owner *owners;
    size_t owner_count;
    struct store_memory_change *memories;
    size_t memory_count;
};

void gathered_fini(struct gathered *gathered);
/** Forget the parts; memory is kept for the next ones. */
void gathered_clear(struct gathered *gathered);
/** Whether it is time to write (LIMIT_STORE_PIECE_...). */
bool gathered_is_full(const struct gathered *gathered);
/** The piece; valid until something is added. */
struct store_piece gathered_piece(const struct gathered *gathered);

void gather_run(struct gathered *gathered, const struct store_run *run);
void gather_event(struct gathered *gathered, const struct store_event *event);
void gather_checkpoint(struct gathered *gathered, const char *run_id, bool is_interim,
                       const struct store_checkpoint *checkpoint);
void gather_letter(struct gathered *gathered, const struct store_letter *letter);
void gather_document(struct gathered *gathered, const struct store_document *document);
void gather_policy(struct gathered *gathered, const struct store_policy_change *change);
void gather_owner(struct gathered *gathered, const struct store_memory_owner *owner);
/** Add a memory, or the vector of one. @param grams of a memory */
void gather_memory(struct gathered *gathered, enum store_memory_change_kind kind,
                   const struct store_memory *memory, const char *grams);
