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

/** One event as read, with its place. Borrowed until the next call on the reader. */
struct journal_entry {
    const char *run_id;
    uint64_t position;
    const char *data; /**< the stored JSON */
    const char *type_name;
    bool is_known; /**< `event` is decoded; false for types of a newer version */
    struct journal_event event;
};

/** journal_decode() for an event as stored: with its number and time. */
int journal_decode_stored(const struct store_event *stored, struct journal_event *ret_event,
                          struct json_object **ret_root, struct rondo_error *err);

/**
 * Decode an event as stored.
 * @param ret_entry set in any case; borrows from `stored` and `*ret_root`
 * @param ret_root  NULL before; json_object_put()
 * @return 0, also for a type of a newer version, or RONDO_ERR_CORRUPT
 */
int journal_entry_decode(const struct store_event *stored, struct journal_entry *ret_entry,
                         struct json_object **ret_root, struct rondo_error *err);

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
 * The next event; waits for one up to `timeout_ns` (0 = do not wait).
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
