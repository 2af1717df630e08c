// SPDX-License-Identifier: Apache-2.0
/*
 * Giving space back to the file system. Pages that become free are used again by what is written
 * next, so a file that is in use need not shrink. VACUUM writes the whole content anew and blocks
 * other writers meanwhile; therefore it is done only while nobody holds a run, and up to a size for
 * which it takes less time than others wait for the store.
 *
 * Threads: the writer's mutex is held.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "store/sqlite/internal.h"

/** Unused space that is worth the work: so many bytes, and one part in so many of the file. */
#define COMPACT_FROM_BYTES (INT64_C(1024) * 1024)
#define COMPACT_FROM_PART  4

/* The copy goes to a file without a name rather than to memory. */
static const char compact_sql[] = "PRAGMA temp_store = FILE;"
                                  "VACUUM;"
                                  "PRAGMA temp_store = MEMORY;";

static int read_pragma(sqlite3 *db, const char *sql, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        *ret_number = sqlite3_column_int64(statement, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return rc;
}

/** Size of the content and of the unused pages, in bytes. @return SQLite's code */
static int measure(sqlite3 *db, int64_t *ret_content, int64_t *ret_unused)
{
    int64_t page_size = 0;
    int64_t pages = 0;
    int64_t unused = 0;
    int rc = read_pragma(db, "PRAGMA page_size", &page_size);
    if (rc == SQLITE_OK) {
        rc = read_pragma(db, "PRAGMA page_count", &pages);
    }
    if (rc == SQLITE_OK) {
        rc = read_pragma(db, "PRAGMA freelist_count", &unused);
    }
    *ret_content = (pages - unused) * page_size;
    *ret_unused = unused * page_size;
    return rc;
}

static int count_owned(struct sqlite_connection *writer, int64_t *ret_count,
                       struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int rc = sqlite_statement(writer, SQL_GC_OWNED, &statement, err);
    if (rc < 0) {
        return rc;
    }
    sqlite_bind_number(statement, 1, clock_now(writer->store->clock));
    rc = sqlite_step_row(writer, statement, "look for runs that are held", err);
    *ret_count = rc == 1 ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return rc < 0 ? rc : 0;
}

static bool is_worth_it(int64_t content, int64_t unused)
{
    return unused >= COMPACT_FROM_BYTES && unused >= (content + unused) / COMPACT_FROM_PART &&
           content <= LIMIT_COMPACT_BYTES;
}

/** Write the content anew and cut the file. Somebody who came in between makes it wait or fail. */
static int vacuum(struct sqlite_connection *writer, struct rondo_error *err)
{
    int rc = sqlite3_exec(writer->db, compact_sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        writer->wal_frames = 0;
    }
    bool is_in_use = rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
    return rc == SQLITE_OK
               ? 0
               : sqlite_fail_code(writer, rc, "compact the store", is_in_use ? NULL : err);
}

static int compact(struct sqlite_connection *writer, struct store_gc_result *result,
                   struct rondo_error *err)
{
    int64_t content = 0;
    int64_t unused = 0;
    int64_t owned = 0;
    int rc = measure(writer->db, &content, &unused);
    if (rc != SQLITE_OK) {
        return sqlite_fail_code(writer, rc, "measure the store", err);
    }
    int64_t before = content + unused;
    rc = count_owned(writer, &owned, err);
    if (rc == 0 && owned == 0 && is_worth_it(content, unused)) {
        rc = vacuum(writer, err);
        if (rc == 0 && measure(writer->db, &content, &unused) == SQLITE_OK) {
            result->freed_bytes =
                before > content + unused ? (uint64_t)(before - content - unused) : 0;
        }
        rc = rc == RONDO_ERR_BUSY ? 0 : rc;
    }
    result->unused_bytes = (uint64_t)unused;
    return rc;
}

int sqlite_compact(struct sqlite_store *store, struct store_gc_result *result,
                   struct rondo_error *err)
{
    int rc = sqlite_writer_lock(store, err);
    if (rc == 0) {
        rc = compact(&store->writer, result, err);
        sqlite_writer_unlock(store);
    }
    return rc;
}
