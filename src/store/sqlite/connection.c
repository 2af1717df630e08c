// SPDX-License-Identifier: Apache-2.0
/*
 * Connections and transactions of the SQLite back end.
 *
 * Trust is the theme here. A connection on which anything failed is closed and opened again before
 * its next use, so that no page cache or half-done transaction survives an error. After a failed
 * fsync the kernel may have dropped the data and marked the pages clean, so that a second fsync
 * would succeed without having written anything; therefore the whole store refuses to write from
 * then on. For the same reason frames of the write-ahead log that an earlier process left
 * are not trusted either: before the first write they are copied into the database, which writes
 * them anew.
 *
 * Threads: see sqlite_store.h.
 *
 * all opens: the store, which no sandbox shows and no tool writes.
 */
#include "base/clock.h"
#include "base/error.h"
#include "store/sqlite/internal.h"

#include <assert.h>

/** Frames (pages) after which the log is copied into the database: about 6 MiB. */
#define WAL_CHECKPOINT_FRAMES 1500
/** Pause between two tries to copy the log while another process copies it. */
#define COPY_PAUSE_NS (2 * NS_PER_MS)

/* The log file is kept at its size rather than truncated: writing over allocated blocks makes an
 * fsync cheaper than growing a file. Only what is larger than this (64 MiB) is given back. */
static const char setup_sql[] = "PRAGMA synchronous = FULL;"
                                "PRAGMA journal_size_limit = 67108864;"
                                "PRAGMA temp_store = MEMORY;"
                                "PRAGMA cell_size_check = ON;"
                                "PRAGMA cache_size = -4096";

/** Longest value of a column: a state, or what an event has at most, and what belongs to it. */
#define MAX_VALUE_BYTES ((int)(LIMIT_STATE_BYTES + LIMIT_EVENT_BYTES + LIMIT_MIB))

/** A file can bring code of its own, triggers and views: none of ours has any, so none runs. */
static void distrust(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
}

static const char reader_sql[] = "PRAGMA query_only = ON";

static int note_wal_size(void *context, sqlite3 *db, const char *name, int frames)
{
    (void)db;
    (void)name;
    struct sqlite_connection *connection = context;
    connection->wal_frames = frames;
    return SQLITE_OK;
}

/**
 * Copy the log into the database.
 * @param is_complete wait for readers, so that all of it is copied
 * @return SQLite's code
 */
static int copy_log(struct sqlite_connection *connection, bool is_complete)
{
    int mode = is_complete ? SQLITE_CHECKPOINT_FULL : SQLITE_CHECKPOINT_PASSIVE;
    return sqlite3_wal_checkpoint_v2(connection->db, NULL, mode, NULL, NULL);
}

/** Copy the log when nothing depends on it: only a failed fsync is of interest. */
static void try_copy_log(struct sqlite_connection *connection)
{
    int r = copy_log(connection, false);
    connection->wal_frames = 0;
    if (r != SQLITE_OK && r != SQLITE_BUSY) {
        sqlite_fail_code(connection, r, "copy the log", NULL);
    }
}

int sqlite_connection_open(struct sqlite_connection *connection, struct rondo_error *err)
{
    if (connection->db != NULL && !connection->is_suspect) {
        return 0;
    }
    sqlite_connection_close(connection);
    struct sqlite_store *store = connection->store;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int r = sqlite3_open_v2(store->path, &connection->db, flags, NULL);
    if (r == SQLITE_OK) {
        distrust(connection->db);
        sqlite3_busy_timeout(connection->db, store->busy_timeout_ms);
        r = sqlite3_exec(connection->db, setup_sql, NULL, NULL, NULL);
    }
    int keeps_log = store->keeps_log;
    if (r == SQLITE_OK && keeps_log) {
        r = sqlite3_file_control(connection->db, NULL, SQLITE_FCNTL_PERSIST_WAL, &keeps_log);
    }
    if (r == SQLITE_OK && connection->is_reader) {
        r = sqlite3_exec(connection->db, reader_sql, NULL, NULL, NULL);
    }
    atomic_fetch_add(&store->open_count, connection->db != NULL);
    if (r != SQLITE_OK) {
        int failure = sqlite_fail_code(connection, r, "open the store", err);
        sqlite_connection_close(connection);
        return failure;
    }
    sqlite3_wal_hook(connection->db, note_wal_size, connection);
    return 0;
}

void sqlite_connection_close(struct sqlite_connection *connection)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(connection->statements[i]);
        connection->statements[i] = NULL;
    }
    if (connection->db != NULL && atomic_load(&connection->store->is_poisoned)) {
        /* The last one to close would copy the log and delete it, as if the disk could be trusted.
         */
        sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    if (connection->db != NULL && atomic_fetch_sub(&connection->store->open_count, 1) == 1) {
        atomic_store(&connection->store->log_inode, 0);
    }
    int r = sqlite3_close(connection->db);
    assert(r == SQLITE_OK);
    connection->db = NULL;
    connection->is_suspect = false;
    connection->is_settled = false;
    connection->wal_frames = 0;
}

int sqlite_statement(struct sqlite_connection *connection, enum sqlite_sql which,
                     sqlite3_stmt **ret_statement, struct rondo_error *err)
{
    if (connection->statements[which] == NULL) {
        int r = sqlite3_prepare_v3(connection->db, sqlite_statements[which], -1,
                                   SQLITE_PREPARE_PERSISTENT, &connection->statements[which], NULL);
        if (r != SQLITE_OK) {
            return sqlite_fail(connection, "prepare a statement", err);
        }
    }
    *ret_statement = connection->statements[which];
    return 0;
}

void sqlite_bind_number(sqlite3_stmt *statement, int index, int64_t number)
{
    int r = sqlite3_bind_int64(statement, index, number);
    assert(r == SQLITE_OK);
}

void sqlite_bind_unsigned(sqlite3_stmt *statement, int index, uint64_t number)
{
    /* Larger ones are never stored; as a lower bound they mean "after everything". */
    sqlite_bind_number(statement, index, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

void sqlite_bind_string(sqlite3_stmt *statement, int index, const char *text)
{
    int r = sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
    assert(r == SQLITE_OK);
}

void sqlite_bind_string_len(sqlite3_stmt *statement, int index, const char *text, size_t len)
{
    int r = sqlite3_bind_text64(statement, index, text, len, SQLITE_STATIC, SQLITE_UTF8);
    assert(r == SQLITE_OK);
}

void sqlite_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t len)
{
    int r = sqlite3_bind_blob64(statement, index, bytes, len, SQLITE_STATIC);
    assert(r == SQLITE_OK);
}

int sqlite_step_row(struct sqlite_connection *connection, sqlite3_stmt *statement,
                    const char *doing, struct rondo_error *err)
{
    int r = sqlite3_step(statement);
    if (r == SQLITE_ROW) {
        return 1;
    }
    return r == SQLITE_DONE ? 0 : sqlite_fail_code(connection, r, doing, err);
}

int sqlite_run(struct sqlite_connection *connection, sqlite3_stmt *statement, const char *doing,
               struct rondo_error *err)
{
    int r = sqlite_step_row(connection, statement, doing, err);
    sqlite3_reset(statement);
    return r < 0 ? r : 0;
}

const char *sqlite_column_string(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

static int run_simple(struct sqlite_connection *connection, enum sqlite_sql which,
                      const char *doing, struct rondo_error *err)
{
    sqlite3_stmt *statement = NULL;
    int r = sqlite_statement(connection, which, &statement, err);
    return r < 0 ? r : sqlite_run(connection, statement, doing, err);
}

/** Open the writer and see to what other processes have left in the log. */
static int prepare_writer(struct sqlite_connection *writer, struct rondo_error *err)
{
    int r = sqlite_connection_open(writer, err);
    if (r == 0 && !writer->is_settled) {
        try_copy_log(writer);
        writer->is_settled = true;
    }
    return r;
}

int sqlite_writer_lock(struct sqlite_store *store, struct rondo_error *err)
{
    struct sqlite_connection *writer = &store->writer;
    pthread_mutex_lock(&writer->mutex);
    int r = sqlite_check_files(store, err);
    if (r == 0 && !atomic_load(&store->is_poisoned)) {
        r = prepare_writer(writer, err);
    }
    if (r == 0 && atomic_load(&store->is_poisoned)) {
        r = sqlite_refuse_poisoned(store, err);
    }
    if (r < 0) {
        pthread_mutex_unlock(&writer->mutex);
    }
    return r;
}

void sqlite_writer_unlock(struct sqlite_store *store)
{
    struct sqlite_connection *writer = &store->writer;
    if (writer->is_suspect) {
        sqlite_connection_close(writer);
    }
    pthread_mutex_unlock(&writer->mutex);
}

int sqlite_write_begin(struct sqlite_store *store, struct rondo_error *err)
{
    int r = sqlite_writer_lock(store, err);
    if (r < 0) {
        return r;
    }
    r = run_simple(&store->writer, SQL_BEGIN, "begin a transaction", err);
    if (r < 0) {
        pthread_mutex_unlock(&store->writer.mutex);
    }
    return r;
}

/** Copy all of the log. SQLite does not wait by itself while another process does the same. */
static int copy_log_with_patience(struct sqlite_connection *writer)
{
    const struct clock *clock = clock_system();
    int64_t deadline = clock_monotonic(clock) + writer->store->busy_timeout_ms * NS_PER_MS;
    int r = copy_log(writer, true);
    while (r == SQLITE_BUSY && clock_monotonic(clock) < deadline) {
        clock_sleep(clock, COPY_PAUSE_NS, NULL);
        r = copy_log(writer, true);
    }
    return r;
}

/**
 * What this process reads may have been written by one that died, or failed, before its fsync.
 * Copying the log writes and syncs it once more.
 */
static int make_durable(struct sqlite_connection *writer, struct rondo_error *err)
{
    int r = copy_log_with_patience(writer);
    return r == SQLITE_OK ? 0 : sqlite_fail_code(writer, r, "make sure of a commit", err);
}

/** End the transaction with a statement when `rc` is 0, else roll back; unlock. */
static int end_transaction(struct sqlite_store *store, int rc, enum sqlite_sql how,
                           bool must_be_durable, struct rondo_error *err)
{
    struct sqlite_connection *writer = &store->writer;
    if (rc == 0) {
        rc = run_simple(writer, how, how == SQL_COMMIT ? "commit" : "roll back", err);
    }
    if (rc < 0 && sqlite3_get_autocommit(writer->db) == 0) {
        run_simple(writer, SQL_ROLLBACK, "roll back", NULL);
    }
    if (rc == 0 && must_be_durable) {
        rc = make_durable(writer, err);
    }
    if (rc == 0 && writer->wal_frames >= WAL_CHECKPOINT_FRAMES) {
        try_copy_log(writer);
    }
    sqlite_writer_unlock(store);
    return rc;
}

int sqlite_write_end(struct sqlite_store *store, int rc, bool must_be_durable,
                     struct rondo_error *err)
{
    return end_transaction(store, rc, SQL_COMMIT, must_be_durable, err);
}

int sqlite_write_cancel(struct sqlite_store *store, struct rondo_error *err)
{
    return end_transaction(store, 0, SQL_ROLLBACK, true, err);
}

/** A reader that nobody uses; when all are busy, wait for one in turn. */
static struct sqlite_connection *lock_reader(struct sqlite_store *store)
{
    for (size_t i = 0; i < SQLITE_READERS; i++) {
        if (pthread_mutex_trylock(&store->readers[i].mutex) == 0) {
            return &store->readers[i];
        }
    }
    unsigned turn = atomic_fetch_add(&store->next_reader, 1);
    struct sqlite_connection *reader = &store->readers[turn % SQLITE_READERS];
    pthread_mutex_lock(&reader->mutex);
    return reader;
}

int sqlite_read_begin(struct sqlite_store *store, enum sqlite_sql which,
                      struct sqlite_connection **ret_reader, sqlite3_stmt **ret_statement,
                      struct rondo_error *err)
{
    struct sqlite_connection *first = &store->readers[0];
    struct sqlite_connection *reader = lock_reader(store);
    int r = sqlite_check_files(store, err);
    bool is_there = r == 0;
    if (is_there) {
        r = sqlite_connection_open(reader, err);
    }
    if (r < 0 && is_there && reader != first) { /* no descriptor may be left for one more */
        pthread_mutex_unlock(&reader->mutex);
        reader = first;
        pthread_mutex_lock(&reader->mutex);
        r = sqlite_connection_open(reader, err);
    }
    if (r == 0) {
        r = sqlite_statement(reader, which, ret_statement, err);
    }
    if (r < 0) {
        pthread_mutex_unlock(&reader->mutex);
        return r;
    }
    *ret_reader = reader;
    return r;
}

void sqlite_read_end(struct sqlite_connection *reader, sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    pthread_mutex_unlock(&reader->mutex);
}
