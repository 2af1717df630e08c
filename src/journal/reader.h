// SPDX-License-Identifier: Apache-2.0
/*
 * Reading journals: decoded events of one run or of all, from any point, with backfill and then
 * live. A reader only ever sees committed events, each exactly once and in order.
 */
#pragma once

#include "journal/event.h"
#include "store/writer.h"

struct cancel;
struct journal_reader;

/**
 * Begin to read.
 * @param writer must outlive the reader
 * @param run_id a run, or NULL for all
 * @param after  seq (one run) or position (all) of the last event already seen; 0 = from the start
 * @return never NULL; journal_reader_free(). One thread a reader.
 */
struct journal_reader *journal_reader_new(struct writer *writer, const char *run_id,
                                          uint64_t after);
void journal_reader_free(struct journal_reader *reader);

/**
 * The next event, borrowed until the next call; waits for one up to `timeout_ns` (0 = do not wait).
 * @param cancel may be NULL
 * @return 1 with `*ret_entry`, 0 when there is none in time, or a negative code
 */
int journal_reader_next(struct journal_reader *reader, int64_t timeout_ns, struct cancel *cancel,
                        const struct journal_entry **ret_entry, struct rondo_error *err);

/** Called for each decoded event; return false to end the reading early. */
typedef bool journal_visit_fn(const struct journal_entry *entry, void *context);

/** Read the committed events of a run after `after`, without waiting. */
int journal_visit(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                  journal_visit_fn *fn, void *context, struct rondo_error *err);
