// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of the SQLite back end share: connections, transactions, reading rows.
 *
 * Threads: a store has one connection for writing and some for reading, each with its own mutex.
 * sqlite_write_begin/sqlite_write_end and sqlite_read_begin/sqlite_read_end take and release them.
 * The first reader is always open; the others are opened when they are needed, that is when several
 * threads read at the same time, as in a server.
 */
#pragma once

#include "store/row.h"
#include "store/sqlite/statements.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

struct sqlite_store;

/** Threads that can read at the same time. */
#define SQLITE_READERS 4

struct sqlite_connection {
    struct sqlite_store *store;
    pthread_mutex_t mutex;
    sqlite3 *db;     /**< NULL while closed; opened again on the next use */
    bool is_reader;  /**< only SELECT is allowed */
    bool is_suspect; /**< an operation failed: close before the next use */
    bool is_settled; /**< what was in the log at opening was copied into the database */
    int wal_frames;  /**< length of the write-ahead log after the last commit */
    sqlite3_stmt *statements[SQL_COUNT];
};

struct sqlite_store {
    struct store base;
    char *path; /**< absolute, because connections are opened again later */
    char *log_path;
    const struct clock *clock;
    int busy_timeout_ms;
    struct store_schema schema;
    atomic_bool is_poisoned;  /**< an fsync failed: no more writing in this process */
    atomic_bool is_gone;      /**< the file or its log was deleted or replaced: nothing counts */
    atomic_ullong file_inode; /**< of the store; 0 while it is being opened */
    atomic_ullong log_inode;  /**< of its log; 0 = not known, nobody has it open */
    atomic_int open_count;    /**< connections that are open */
    struct sqlite_connection writer;
    struct sqlite_connection readers[SQLITE_READERS];
    atomic_uint next_reader; /**< to wait for, when all are busy */
    bool keeps_log;          /**< see struct store_sqlite_options */
    bool is_private;         /**< see struct store_sqlite_options */
    int private_lock;
};

/** Open the connection if it is closed. The connection's mutex is held. */
int sqlite_connection_open(struct sqlite_connection *connection, struct rondo_error *err);

/** Close the connection and its statements. The mutex is held, or nobody else is left. */
void sqlite_connection_close(struct sqlite_connection *connection);

/**
 * Turn the connection's last failure into an error that names the file, and mark the connection
 * as suspect (an fsync: the store as poisoned).
 * @param doing what was tried ("commit", "read events")
 * @return the negative code
 */
int sqlite_fail(struct sqlite_connection *connection, const char *doing, struct rondo_error *err);

/** As sqlite_fail, for a SQLite code that is not the connection's last one. */
int sqlite_fail_code(struct sqlite_connection *connection, int sqlite_code, const char *doing,
                     struct rondo_error *err);

/** Remember which file the store is; it is there. */
void sqlite_note_file(struct sqlite_store *store);

/**
 * See that the store is still where it was. What is written to a file without a name is lost when
 * the process ends, and nobody else sees it.
 * @return 0, or RONDO_ERR_CORRUPT from then on
 */
int sqlite_check_files(struct sqlite_store *store, struct rondo_error *err);

/** The error that every write meets after an fsync has failed. */
int sqlite_refuse_poisoned(const struct sqlite_store *store, struct rondo_error *err);

/** The cached statement, reset, without bindings. */
int sqlite_statement(struct sqlite_connection *connection, enum sqlite_sql which,
                     sqlite3_stmt **ret_statement, struct rondo_error *err);

/* Binding. Texts and blobs must stay valid until the statement is reset. NULL binds NULL. */
void sqlite_bind_number(sqlite3_stmt *statement, int index, int64_t number);
void sqlite_bind_unsigned(sqlite3_stmt *statement, int index, uint64_t number);
void sqlite_bind_string(sqlite3_stmt *statement, int index, const char *text);
void sqlite_bind_string_len(sqlite3_stmt *statement, int index, const char *text, size_t len);
void sqlite_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t len);

/** Run a statement that gives no rows, and reset it. */
int sqlite_run(struct sqlite_connection *connection, sqlite3_stmt *statement, const char *doing,
               struct rondo_error *err);

/**
 * Step a statement. The caller resets it.
 * @return 1 a row, 0 the end, or a negative code
 */
int sqlite_step_row(struct sqlite_connection *connection, sqlite3_stmt *statement,
                    const char *doing, struct rondo_error *err);

/** Column as text; never NULL. Valid until the next step. */
const char *sqlite_column_string(sqlite3_stmt *statement, int column);

/** Lock the writer and begin a transaction. On failure nothing is locked. */
int sqlite_write_begin(struct sqlite_store *store, struct rondo_error *err);

/**
 * Commit when `rc` is 0, else roll back; unlock.
 * @param must_be_durable also make sure of what was committed before and only read now
 * @return `rc`, or the error of the commit
 */
int sqlite_write_end(struct sqlite_store *store, int rc, bool must_be_durable,
                     struct rondo_error *err);

/** Lock the writer without a transaction. On failure nothing is locked. */
int sqlite_writer_lock(struct sqlite_store *store, struct rondo_error *err);
/** The counterpart of sqlite_writer_lock. */
void sqlite_writer_unlock(struct sqlite_store *store);

/** End a transaction without its changes, make sure of what was read in it, and unlock. */
int sqlite_write_cancel(struct sqlite_store *store, struct rondo_error *err);

/** Lock a reader and give its statement. On failure nothing is locked. */
int sqlite_read_begin(struct sqlite_store *store, enum sqlite_sql which,
                      struct sqlite_connection **ret_reader, sqlite3_stmt **ret_statement,
                      struct rondo_error *err);

/** Reset the statement and unlock. */
void sqlite_read_end(struct sqlite_connection *reader, sqlite3_stmt *statement);

/** The row of a statement, for the functions of row.h. */
struct checked_row sqlite_row(const struct sqlite_connection *connection, sqlite3_stmt *statement);

/**
 * Append events to a run.
 * @param seq           of the run's last event, 0 when it has none
 * @param last_position of that event; set to that of the last new one
 */
int sqlite_insert_events(struct sqlite_connection *connection, int64_t run_key, uint64_t seq,
                         const struct store_event *events, size_t count, uint64_t *last_position,
                         struct rondo_error *err);

/** Make the mark of an event, if it is one of those that have one. */
int sqlite_mark_event(struct sqlite_connection *writer, int64_t run_key, uint64_t seq,
                      uint64_t position, struct rondo_error *err);

/** Store a checkpoint. @param previous_key of the run's checkpoint before it, 0 = there is none */
int sqlite_insert_checkpoint(struct sqlite_connection *writer, int64_t run_key,
                             int64_t previous_key, const struct store_checkpoint *checkpoint,
                             struct rondo_error *err);

int sqlite_replace_interim(struct sqlite_connection *writer, int64_t run_key,
                           const struct store_checkpoint *interim, struct rondo_error *err);

/** Version of a document in the writer's transaction; 0 = there is none. */
int sqlite_document_version(struct sqlite_connection *writer, const char *collection,
                            const char *key, uint64_t *ret_version, struct rondo_error *err);

/**
 * Change documents in the writer's transaction.
 * @return 1 applied, 0 when a version does not fit, or a negative code
 */
int sqlite_apply_changes(struct sqlite_store *store, const struct store_change *changes,
                         size_t count, struct rondo_error *err);

/** In a transaction that writes memories: make their tables if this is the first one. */
int sqlite_make_memory_tables(struct sqlite_connection *writer, struct rondo_error *err);

/**
 * Apply changes of memories in the writer's transaction.
 * @param changed how many memories were added, changed or deleted; counted on
 */
int sqlite_apply_memories(struct sqlite_connection *writer,
                          const struct store_memory_change *changes, size_t count,
                          uint64_t *changed, struct rondo_error *err);

/* The operations, by file; see struct store_ops. */
/* sqlite_commit.c */
int sqlite_commit(struct store *store, const struct store_batch *const *batches, size_t count,
                  struct store_commit_result *ret_results, struct rondo_error *err);
/* sqlite_run.c */
int sqlite_create_run(struct store *store, const struct store_run *run,
                      const struct store_event *first, size_t first_count,
                      const struct store_claim *claim, struct store_claim_result *ret_result,
                      struct rondo_error *err);
int sqlite_claim_run(struct store *store, const char *run_id, const struct store_claim *claim,
                     struct store_claim_result *ret_result, struct rondo_error *err);
int sqlite_expire_lease(struct store *store, const char *run_id, uint64_t epoch,
                        struct rondo_error *err);
int sqlite_renew_leases(struct store *store, const char *owner, int64_t lease_ns,
                        struct rondo_error *err);
/* sqlite_read.c */
int sqlite_get_run(struct store *store, const char *run_id, struct store_run *ret_run,
                   struct rondo_error *err);
int sqlite_read_events(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                       store_event_fn *fn, void *context, struct rondo_error *err);
int sqlite_list_checkpoints(struct store *store, const char *run_id, store_checkpoint_fn *fn,
                            void *context, struct rondo_error *err);
int sqlite_get_checkpoint(struct store *store, const char *run_id, uint64_t number,
                          store_checkpoint_fn *fn, void *context, struct rondo_error *err);
int sqlite_read_mail(struct store *store, const char *run_id, const char *owner,
                     store_letter_fn *fn, void *context, struct rondo_error *err);
int sqlite_last_position(struct store *store, uint64_t *ret_position, struct rondo_error *err);
/* sqlite_list.c */
int sqlite_list_runs(struct store *store, const struct store_run_query *query, store_run_fn *fn,
                     void *context, struct rondo_error *err);
int sqlite_count_runs(struct store *store, const struct store_run_query *query,
                      struct store_run_counts *ret_counts, struct rondo_error *err);
/* sqlite_policy.c */
int sqlite_record_policy(struct store *store, const struct store_policy_change *change,
                         uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err);
int sqlite_read_policies(struct store *store, const char *source, uint64_t before,
                         store_policy_fn *fn, void *context, struct rondo_error *err);
/* sqlite_document.c */
int sqlite_change_documents(struct store *store, const struct store_change *changes, size_t count,
                            bool *ret_is_applied, struct rondo_error *err);
/** Make a batch's update, inside of its transaction. */
int sqlite_update_document(struct sqlite_store *store, const struct store_update *update,
                           struct rondo_error *err);
int sqlite_next_collection(struct store *store, const char *after,
                           char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err);
int sqlite_read_documents(struct store *store, const struct store_document_query *query,
                          store_document_fn *fn, void *context, struct rondo_error *err);
/* memory.c */
int sqlite_reserve_memories(struct store *store, const char *owner, uint32_t count,
                            int64_t *ret_first, struct rondo_error *err);
int sqlite_change_memories(struct store *store, const struct store_memory_change *changes,
                           size_t count, uint64_t *ret_changed, struct rondo_error *err);
int sqlite_read_memories(struct store *store, const struct store_memory_query *query,
                         store_memory_fn *fn, void *context, struct rondo_error *err);
int sqlite_read_memory_owners(struct store *store, int64_t after_key, store_memory_owner_fn *fn,
                              void *context, struct rondo_error *err);
/* import.c */
int sqlite_import(struct store *store, const struct store_piece *piece, bool *ret_is_applied,
                  struct rondo_error *err);
/* sqlite_admin.c */
int sqlite_post(struct store *store, const char *run_id, const char *kind, const char *data,
                struct rondo_error *err);
int sqlite_health(struct store *store, struct store_health *ret_health, struct rondo_error *err);
/* sqlite_gc.c */
int sqlite_gc(struct store *store, const struct store_gc_request *request,
              struct store_gc_result *ret_result, struct rondo_error *err);
/* watch.c */
struct store_watch *sqlite_watch(struct store *store);
/* sqlite_compact.c */
/** Give unused space in the file back where that is safe; reports how much in the result. */
int sqlite_compact(struct sqlite_store *store, struct store_gc_result *result,
                   struct rondo_error *err);
