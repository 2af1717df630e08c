// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of the PostgreSQL back end share: connections, queries, transactions, rows.
 *
 * Threads: each connection has a mutex. postgres_begin/postgres_end take and release one. The first
 * connections are those of commits, so that these never wait for readers. Connections are opened
 * when they are needed.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "store/postgres/address.h"
#include "store/postgres/pq_library.h"
#include "store/postgres/statements.h"
#include "store/row.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

struct postgres_store;

struct postgres_connection {
    struct postgres_store *store;
    pthread_mutex_t mutex;
    PGconn *db;          /**< NULL while closed; opened again on the next use */
    bool is_broken;      /**< close it before the next use */
    bool is_identified;  /**< the schema's version was looked at */
    int64_t version;     /**< and was this one */
    int64_t patience_ns; /**< how long to wait for an answer; that of postgres_begin() is short */
    uint64_t
        queued_bytes;   /**< of parameters, since postgres_begin(): they need time of their own */
    bool is_uncopied;   /**< a commit did not wait for the standby to the end */
    bool keeps_session; /**< no pooler gives it the sessions of others */
    unsigned char uses[PG_COUNT]; /**< of each statement, up to POSTGRES_PREPARED */
};

/** A statement was prepared, so the session knows it by its name. */
#define POSTGRES_PREPARED 255

/** What announces that this process has written; see announce.c. */
struct postgres_announcer {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread; /**< from the first write on */
    bool is_due;     /**< something was written that is not announced yet */
    bool is_ending;
};

/** Counts of connections. */
struct postgres_pool {
    atomic_uint open;
    atomic_uint used;
    atomic_ullong waits;
    atomic_llong waiting_ns;
};

struct postgres_store {
    struct store base;
    struct pq_library pq;
    struct postgres_address address;
    char *schema;              /**< quoted */
    unsigned char secret[16];  /**< random: what the numbers of claims are made of */
    bool is_silent;            /**< announces nothing */
    bool is_prepared;          /**< the schema is there */
    bool is_new;               /**< and was made by this object */
    int64_t found;             /**< version of the schema; 0 = none */
    int64_t present;           /**< what it was brought up to */
    const struct clock *clock; /**< NULL = the server's */
    char *sql[PG_COUNT];       /**< the statements with the schema's name */
    char names[PG_COUNT][24];  /**< made of them, so that a name never means another statement */
    atomic_bool is_forgetful;  /**< a session lost what was prepared: no more names */
    struct postgres_connection *connections;
    unsigned commit_count; /**< the first ones, which are for commits */
    atomic_uint next;      /**< connection to wait for, when all are busy */
    struct postgres_announcer announcer;
    struct postgres_pool pool;
    /** The oldest transaction that was open when the last position was read, and since when; see
        find_end() in read.c. */
    atomic_llong oldest_open;
    atomic_llong oldest_open_since_ns;
};

/** Parameters that a query may have. */
#define POSTGRES_PARAMETERS_MAX 48
/** Parameters of a query that are arrays. */
#define POSTGRES_ARRAYS_MAX 8

/** A statement and its parameters. The memory of texts and bytes stays the caller's. */
struct postgres_query {
    enum postgres_sql which;
    char *sql;     /**< in place of it, with the schema's name; owned. Or NULL */
    bool prepares; /**< set when it is sent: what prepares it has a result of its own */
    int count;
    Oid types[POSTGRES_PARAMETERS_MAX];
    const char *values[POSTGRES_PARAMETERS_MAX];
    int lengths[POSTGRES_PARAMETERS_MAX];
    bool is_number[POSTGRES_PARAMETERS_MAX];
    char numbers[POSTGRES_PARAMETERS_MAX][8];
    int array_of[POSTGRES_PARAMETERS_MAX]; /**< 0 = none, else 1 + its index */
    struct buf arrays[POSTGRES_ARRAYS_MAX];
    int array_count;
    const char *refused; /**< a text that the database cannot keep; NULL = none */
};

/* Adding parameters, in their order. */
void postgres_add_number(struct postgres_query *query, int64_t number);
void postgres_add_unsigned(struct postgres_query *query, uint64_t number);
void postgres_add_flag(struct postgres_query *query, bool flag);
/** @param text NULL = null; must be UTF-8, else the query is refused when it is sent */
void postgres_add_text(struct postgres_query *query, const char *text);
/** @param bytes NULL = null */
void postgres_add_bytes(struct postgres_query *query, const void *bytes, size_t len);
/** A text of any bytes, as bytes. NULL = null */
void postgres_add_string(struct postgres_query *query, const char *text);
void postgres_add_null_number(struct postgres_query *query);
/** The store's time; null when it is the server's. */
void postgres_add_now(struct postgres_query *query, const struct postgres_store *store);
/** The same with the monotonic one: two parameters. */
void postgres_add_moment(struct postgres_query *query, const struct postgres_store *store);
/** Begin an array of so many elements, which have to follow. @return where to put them */
struct buf *postgres_add_array(struct postgres_query *query, enum postgres_array kind,
                               size_t count);
/** Add a text that is written now. @return where */
struct buf *postgres_add_written(struct postgres_query *query);
void postgres_put_number(struct buf *array, int64_t number);
void postgres_put_bytes(struct buf *array, const void *bytes, size_t len);
/** A text of an array, checked as postgres_add_text does. */
void postgres_put_text(struct postgres_query *query, struct buf *array, const char *text);
/** Release what the query holds. */
void postgres_query_fini(struct postgres_query *query);
#define auto_query __attribute__((cleanup(postgres_query_fini)))

/* connection.c */

/** Lock a connection and open it if need be. On failure nothing is locked. */
int postgres_begin(struct postgres_store *store, bool is_commit,
                   struct postgres_connection **ret_connection, struct rondo_error *err);
/** Lock a connection that is open and that nobody uses. @return NULL: there is none */
struct postgres_connection *postgres_begin_open(struct postgres_store *store);
/** Open a connection unless it is open. The mutex is held, or nobody else has it. */
int postgres_make_ready(struct postgres_connection *connection, struct rondo_error *err);
/** Unlock. */
void postgres_end(struct postgres_connection *connection);
/** Close, if it is open. The mutex is held, or nobody else is left. */
void postgres_close(struct postgres_connection *connection);

/**
 * Perform statements as one transaction, in one round trip; tried again when it collided with
 * others. Results are given only when it went through.
 * @param ret_results one for each query; the caller clears them. May be NULL
 */
int postgres_transact(struct postgres_connection *connection, struct postgres_query *queries,
                      size_t count, PGresult **ret_results, const char *doing,
                      struct rondo_error *err);

/** Parts of a transaction that takes several round trips. */
enum postgres_part {
    POSTGRES_WHOLE = 0,
    POSTGRES_FIRST, /**< it stays open */
    POSTGRES_NEXT,
    POSTGRES_LAST,
};

/**
 * One try, and one part. After a failure the transaction is rolled back.
 * @return RONDO_ERR_BUSY: it collided with others and can be tried again from its beginning
 */
int postgres_try(struct postgres_connection *connection, struct postgres_query *queries,
                 size_t count, enum postgres_part part, PGresult **ret_results, const char *doing,
                 struct rondo_error *err);

/** Forget the error of a try that another one made up for. @return `code` */
static inline int postgres_settle(int code, struct rondo_error *err)
{
    if (code >= 0 && err != NULL) {
        *err = (struct rondo_error){0};
    }
    return code;
}

/** Roll an open transaction back. */
void postgres_rollback(struct postgres_connection *connection);

/** Wait of postgres_connection.patience_ns, and that of what takes long. */
#define POSTGRES_PATIENCE_NS      (30 * NS_PER_S)
#define POSTGRES_LONG_PATIENCE_NS (600 * NS_PER_S)
/** Time beside that for each MiB of parameters, however slow the network and the server are. */
#define POSTGRES_MIB_NS (4 * NS_PER_S)

/** How long to wait for the next bytes of an answer, or until the next ones can be sent. */
static inline int64_t postgres_patience_ns(const struct postgres_connection *connection)
{
    return connection->patience_ns +
           (int64_t)(connection->queued_bytes / LIMIT_MIB) * POSTGRES_MIB_NS;
}

/** Times that a transaction which collided is tried. */
#define POSTGRES_TRIES 8
/** Wait before the next try: longer each time, and not as long as others do. */
void postgres_pause(int tries);

/** Take a connection, perform one statement as a transaction, and give the connection back. */
int postgres_perform(struct postgres_store *store, struct postgres_query *query,
                     PGresult **ret_result, const char *doing, struct rondo_error *err);

/** The same for what may be done twice: tried again when the connection was lost. */
int postgres_perform_again(struct postgres_store *store, struct postgres_query *query,
                           PGresult **ret_result, const char *doing, struct rondo_error *err);

/** Bind so many rows as a limit; 0 = all. */
void postgres_add_limit(struct postgres_query *query, uint32_t limit);

/** Send a script of many statements without parameters. */
int postgres_script(struct postgres_connection *connection, const char *sql, PGresult **ret_last,
                    const char *doing, struct rondo_error *err);

/** The rows of a statement that only reads, as they come. */
struct postgres_reading {
    struct postgres_connection *connection;
    PGresult *row; /**< the present one, or the end */
    const char *doing;
    bool is_begun; /**< the first row was given */
};

/** Begin to read; tried again once when the connection had been lost. On failure nothing is open.
 */
int postgres_read_begin(struct postgres_store *store, struct postgres_query *query,
                        const char *doing, struct postgres_reading *ret_reading,
                        struct rondo_error *err);
/** @return 1 a row, 0 the end, or a negative code */
int postgres_read_row(struct postgres_reading *reading, struct rondo_error *err);
/** End, be there more rows or not. */
void postgres_read_end(struct postgres_reading *reading);

/* error.c */

/**
 * Turn a failure into an error that names the database, and see whether the connection can be used
 * further.
 * @param result NULL = the connection itself failed
 */
int postgres_fail(struct postgres_connection *connection, const PGresult *result, const char *doing,
                  struct rondo_error *err);
/** The error of a wait that took too long; the connection cannot be used further. */
int postgres_fail_late(struct postgres_connection *connection, const char *doing,
                       struct rondo_error *err);
/** The error of a server that cannot be connected to. @param message libpq's */
int postgres_fail_connect(const struct postgres_store *store, const char *message,
                          struct rondo_error *err);
/** The code by which postgres_fail() tells that a version differs; it never leaves the back end. */
#define POSTGRES_MISMATCH (-1000)

/* rows.c */

/** A row of a result, for the functions of row.h and those here. */
struct checked_row postgres_row(const struct postgres_store *store, const PGresult *result,
                                int row);

/**
 * Check the answer of a statement that gives one row.
 * @param types of the first columns: n = a number that is not negative, f = a flag, t = a text
 * @param doing "commit" @return 0 or RONDO_ERR_CORRUPT
 */
int postgres_check_answer(const struct checked_row *row, const char *types, const char *doing,
                          struct rondo_error *err);

/** A number that was checked; 0 for null. */
int64_t postgres_number(const struct checked_row *row, int column);
bool postgres_flag(const struct checked_row *row, int column);
/** row_run() with the lease by this machine's clock. Columns RUN_COLUMNS, from `first` on. */
int postgres_row_run(const struct checked_row *row, int first, struct store_run *ret_run,
                     int64_t *ret_key, struct rondo_error *err);

/** Add the columns from `status` to `pause` of a summary. */
void postgres_add_summary(struct postgres_query *query, const struct store_summary *summary);
/** Add three arrays: the times, types and data of events. */
void postgres_add_events(struct postgres_query *query, const struct store_event *events,
                         size_t count);
/** Add the columns from `seq` to `state`, which checkpoints and interims have. NULL = nulls */
void postgres_add_content(struct postgres_query *query, const struct store_checkpoint *checkpoint);
/** Make the query of one change of a memory. */
void postgres_add_memory_change(struct postgres_query *query,
                                const struct store_memory_change *change);
/** Clear results. */
void postgres_clear(const struct postgres_store *store, PGresult **results, size_t count);

/* announce.c */
/** Something was written: have other processes told soon. Any thread; does not wait. */
void postgres_announce(struct postgres_store *store);
void postgres_announcer_init(struct postgres_announcer *announcer);
/** End the thread, and announce what is left. Connections are still open. */
void postgres_announcer_fini(struct postgres_store *store);

/* The operations, by file; see struct store_ops. */
/* watch.c */
struct store_watch *postgres_watch(struct store *store);
/* run.c */
/** The number by which this object proves that a claim of the run is its own. Not negative. */
int64_t postgres_claim_number(const struct postgres_store *store, const char *run_id);
int postgres_create_run(struct store *store, const struct store_run *run,
                        const struct store_event *first, size_t first_count,
                        const struct store_claim *claim, struct store_claim_result *ret_result,
                        struct rondo_error *err);
int postgres_claim_run(struct store *store, const char *run_id, const struct store_claim *claim,
                       struct store_claim_result *ret_result, struct rondo_error *err);
int postgres_expire_lease(struct store *store, const char *run_id, uint64_t epoch,
                          struct rondo_error *err);
int postgres_renew_leases(struct store *store, const char *owner, int64_t lease_ns,
                          struct rondo_error *err);
/* commit.c */
unsigned postgres_commits_at_once(struct store *store);
int postgres_commit(struct store *store, const struct store_batch *const *batches, size_t count,
                    struct store_commit_result *ret_results, struct rondo_error *err);
/* read.c */
int postgres_get_run(struct store *store, const char *run_id, struct store_run *ret_run,
                     struct rondo_error *err);
int postgres_read_events(struct store *store, const char *run_id, uint64_t after, uint32_t limit,
                         store_event_fn *fn, void *context, struct rondo_error *err);
int postgres_list_checkpoints(struct store *store, const char *run_id, store_checkpoint_fn *fn,
                              void *context, struct rondo_error *err);
int postgres_get_checkpoint(struct store *store, const char *run_id, uint64_t number,
                            store_checkpoint_fn *fn, void *context, struct rondo_error *err);
int postgres_last_position(struct store *store, uint64_t *ret_position, struct rondo_error *err);
int postgres_now(struct store *store, int64_t *ret_now_ns, struct rondo_error *err);
int postgres_post(struct store *store, const char *run_id, const char *kind, const char *data,
                  struct rondo_error *err);
int postgres_read_mail(struct store *store, const char *run_id, const char *owner,
                       store_letter_fn *fn, void *context, struct rondo_error *err);
/* list.c */
int postgres_list_runs(struct store *store, const struct store_run_query *query, store_run_fn *fn,
                       void *context, struct rondo_error *err);
int postgres_count_runs(struct store *store, const struct store_run_query *query,
                        struct store_run_counts *ret_counts, struct rondo_error *err);
/* policy.c */
int postgres_record_policy(struct store *store, const struct store_policy_change *change,
                           uint64_t *ret_number, bool *ret_is_new, struct rondo_error *err);
int postgres_read_policies(struct store *store, const char *source, uint64_t before,
                           store_policy_fn *fn, void *context, struct rondo_error *err);
/* document.c */
int postgres_change_documents(struct store *store, const struct store_change *changes, size_t count,
                              bool *ret_is_applied, struct rondo_error *err);
int postgres_next_collection(struct store *store, const char *after,
                             char ret_name[STORE_COLLECTION_LEN + 1], struct rondo_error *err);
int postgres_read_documents(struct store *store, const struct store_document_query *query,
                            store_document_fn *fn, void *context, struct rondo_error *err);
/** Make the query that changes documents. */
void postgres_add_changes(struct postgres_query *query, const struct postgres_store *store,
                          const struct store_change *changes, size_t count);
/* memory.c */
int postgres_reserve_memories(struct store *store, const char *owner, uint32_t count,
                              int64_t *ret_first, struct rondo_error *err);
int postgres_change_memories(struct store *store, const struct store_memory_change *changes,
                             size_t count, uint64_t *ret_changed, struct rondo_error *err);
int postgres_read_memories(struct store *store, const struct store_memory_query *query,
                           store_memory_fn *fn, void *context, struct rondo_error *err);
int postgres_read_memory_owners(struct store *store, int64_t after_key, store_memory_owner_fn *fn,
                                void *context, struct rondo_error *err);
/* import.c */
int postgres_import(struct store *store, const struct store_piece *piece, bool *ret_is_applied,
                    struct rondo_error *err);
/* upkeep.c */
int postgres_gc(struct store *store, const struct store_gc_request *request,
                struct store_gc_result *ret_result, struct rondo_error *err);
int postgres_health(struct store *store, struct store_health *ret_health, struct rondo_error *err);
