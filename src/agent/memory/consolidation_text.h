// SPDX-License-Identifier: Apache-2.0
/* What a model is asked to derive facts from, and what is taken of its reply. Pure; any thread. */
#pragma once

#include "agent/memory/consolidation_record.h"

struct buf;

/** Bytes of a fact. */
#define CONSOLIDATION_FACT_BYTES ((size_t)2 * 1024)

/** What the model is told to do. */
extern const char consolidation_system[];

/** Append one episode to a prompt, as data. */
void text_write_episode(const struct store_memory *episode, struct buf *prompt);

/**
 * Read the facts of a reply: lines `CATEGORY: content`. Others are left out.
 * @param is_cut the last line may be incomplete, and is left out
 */
void text_read_facts(const char *reply, bool is_cut, struct consolidation_batch *batch);
