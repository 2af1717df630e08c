// SPDX-License-Identifier: Apache-2.0
/*
 * Rows as the layers above get them. A store may be damaged, or made by an attacker, and its tables
 * need not even be declared as ours are. So each column is checked here, once, for its type, its
 * range and its length, before anybody computes with it or copies it: above the store an id is an
 * id, a status is one of the enum, a time is not negative, and a text has no NUL in it.
 *
 * Each function returns 0, or RONDO_ERR_CORRUPT for a value that this program never writes. Texts
 * are as long valid as the row is. Threads: those of the back end.
 */
#pragma once

#include "store/store.h"

struct checked_row;

/** How a back end reads the columns of a row. */
struct checked_row_ops {
    bool (*is_null)(const struct checked_row *row, int column);
    /** @return false: it is none */
    bool (*number)(const struct checked_row *row, int column, int64_t *ret_number);
    bool (*flag)(const struct checked_row *row, int column, bool *ret_flag);
    bool (*real)(const struct checked_row *row, int column, double *ret_real);
    /** Bytes, and a NUL after those of a text. @param ret_bytes not NULL unless there are none */
    bool (*bytes)(const struct checked_row *row, int column, bool is_text, const char **ret_bytes,
                  size_t *ret_len);
    /** For messages; NULL = it has none. */
    const char *(*name)(const struct checked_row *row, int column);
};

struct checked_row {
    const struct checked_row_ops *ops;
    const char *place; /**< the store, for messages */
    const void *store; /**< the back end's */
    void *answer;      /**< and its statement or result */
    int index;         /**< of the row in it */
    int bad_column;    /**< the first that cannot be; -1 = none */
};

/** `runs.pause`: 0, 1, or this when the pause is that of calls that wait for people. */
#define ROW_PAUSE_WAITING 2

static inline int row_pause(const struct store_summary *summary)
{
    return summary->is_waiting ? ROW_PAUSE_WAITING : summary->is_paused;
}

/** Columns of RUN_COLUMNS, from `first` on. */
int row_run(struct checked_row row, int first, struct store_run *ret_run, int64_t *ret_key,
            struct rondo_error *err);
/**
 * Give a run of a list to who asked, or tell that it is damaged.
 * @param code, why what row_run() said
 * @return 1: continue with the next one, 0: enough, or a negative code
 */
int row_give_run(int code, const struct rondo_error *why, const struct store_run *run, int64_t key,
                 const struct store_run_query *query, store_run_fn *fn, void *context,
                 struct rondo_error *err);
/** Columns position, id of the run, seq, time_ns, type, data. */
int row_event(struct checked_row row, struct store_event *ret_event, struct rondo_error *err);
/** Columns number and CHECKPOINT_COLUMNS. @param is_whole fold and state follow */
int row_checkpoint(struct checked_row row, bool is_whole, struct store_checkpoint *ret_checkpoint,
                   struct rondo_error *err);
/** Columns LETTER_COLUMNS. */
int row_letter(struct checked_row row, struct store_letter *ret_letter, struct rondo_error *err);
/** Columns of the history of policies; the text must be there. */
int row_policy(struct checked_row row, struct store_policy_change *ret_change,
               struct rondo_error *err);
/** Columns DOCUMENT_COLUMNS. */
int row_document(struct checked_row row, struct store_document *ret_document,
                 struct rondo_error *err);
/** Columns MEMORY_COLUMNS and the score. */
int row_memory(struct checked_row row, struct store_memory *ret_memory, struct rondo_error *err);
/** A row of id, kind, time, vector and model. */
int row_vector(struct checked_row row, struct store_memory *ret_memory, struct rondo_error *err);
/** A row of key, name and last number. */
int row_memory_owner(struct checked_row row, struct store_memory_owner *ret_owner,
                     struct rondo_error *err);
/** A row of so many numbers that are not negative, or NULL. @param what the row, for the error */
int row_numbers(struct checked_row row, int count, const char *what, struct rondo_error *err);
