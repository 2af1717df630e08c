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
    int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (r == SQLITE_OK) {
        r = sqlite3_step(statement);
    }
    if (r == SQLITE_ROW) {
        *ret_number = sqlite3_column_int64(statement, 0);
        r = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return r;
}

/** Size of the content and of the unused pages, in bytes. @return SQLite's code */
static int measure(sqlite3 *db, int64_t *ret_content, int64_t *ret_unused)
{
    int64_t page_size = 0;
    int64_t pages = 0;
    int64_t unused = 0;
    int r = read_pragma(db, "PRAGMA page_size", &page_size);
    if (r == SQLITE_OK) {
        r = read_pragma(db, "PRAGMA page_count", &pages);
    }
    if (r == SQLITE_OK) {
        r = read_pragma(db, "PRAGMA freelist_count", &unused);
    }
    *ret_content = (pages - unused) * page_size;
    *ret_unused = unused * page_size;
    return r;
}

static int count_owned(struct sqlite_connection *writer, int64_t *ret_count,
                       struct rondo_error *err)
{
    sqlite3_stmt *statement;
    int r = sqlite_statement(writer, SQL_GC_OWNED, &statement, err);
    if (r < 0) {
        return r;
    }
    sqlite_bind_number(statement, 1, clock_now(writer->store->clock));
    r = sqlite_step_row(writer, statement, "look for runs that are held", err);
    *ret_count = r == 1 ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return r < 0 ? r : 0;
}

static bool is_worth_it(int64_t content, int64_t unused)
{
    return unused >= COMPACT_FROM_BYTES && unused >= (content + unused) / COMPACT_FROM_PART &&
           content <= LIMIT_COMPACT_BYTES;
}

/** Rewrite the content and truncate the file. Another connection makes it wait or fail. */
static int vacuum(struct sqlite_connection *writer, struct rondo_error *err)
{
    int r = sqlite3_exec(writer->db, compact_sql, NULL, NULL, NULL);
    if (r == SQLITE_OK) {
        r = sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        writer->wal_frames = 0;
    }
    bool is_in_use = r == SQLITE_BUSY || r == SQLITE_LOCKED;
    return r == SQLITE_OK
               ? 0
               : sqlite_fail_code(writer, r, "compact the store", is_in_use ? NULL : err);
}

static int compact(struct sqlite_connection *writer, struct store_gc_result *result,
                   struct rondo_error *err)
{
    int64_t content = 0;
    int64_t unused = 0;
    int64_t owned = 0;
    int r = measure(writer->db, &content, &unused);
    if (r != SQLITE_OK) {
        return sqlite_fail_code(writer, r, "measure the store", err);
    }
    int64_t before = content + unused;
    r = count_owned(writer, &owned, err);
    if (r == 0 && owned == 0 && is_worth_it(content, unused)) {
        r = vacuum(writer, err);
        if (r == 0 && measure(writer->db, &content, &unused) == SQLITE_OK) {
            result->freed_bytes =
                before > content + unused ? (uint64_t)(before - content - unused) : 0;
        }
        r = r == RONDO_ERR_BUSY ? 0 : r;
    }
    result->unused_bytes = (uint64_t)unused;
    return r;
}

int sqlite_compact(struct sqlite_store *store, struct store_gc_result *result,
                   struct rondo_error *err)
{
    int r = sqlite_writer_lock(store, err);
    if (r == 0) {
        r = compact(&store->writer, result, err);
        sqlite_writer_unlock(store);
    }
    return r;
}
