// SPDX-License-Identifier: Apache-2.0
/*
 * What a model is asked about old messages, and what its summary becomes. The messages quote what
 * an agent has read: the model is told that they are data, and each line of them is marked. Pure.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct journal_event;

/** The system prompt of the request. */
extern const char compaction_system[];

/** A text of messages, which is bounded as a whole and in each of its parts. */
struct compaction_text {
    struct buf text;
    size_t part_bytes; /**< of each part; set by compaction_text_begin() */
};

/** @param messages that are about to come: a few long ones may be longer than many */
void compaction_text_begin(struct compaction_text *text, size_t messages);
void compaction_text_fini(struct compaction_text *text);

/** Add a part. @param who "USER" @param len of `words`, any bytes */
void compaction_text_add(struct compaction_text *text, const char *who, const char *words,
                         size_t len);
/** Add what an event says in the conversation; others add nothing. */
void compaction_text_event(struct compaction_text *text, const struct journal_event *event);

/**
 * Write the message that takes the place of others.
 * @param prefix   the role's heading; NULL = Rondo's own
 * @param replaced messages
 * @param summary  of a model; it is cut to LIMIT_COMPACTION_SUMMARY_BYTES, and secrets are taken
 * out
 */
void compaction_text_summary(const char *prefix, int64_t replaced, const char *summary,
                             struct buf *ret_text);
