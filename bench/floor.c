// SPDX-License-Identifier: Apache-2.0
/* The floor program's part inside the benchmark. One thread. */
#include "floor.h"

#include "measure.h"

#include <sqlite3.h>
#include <stdlib.h>

struct floor {
    sqlite3 *db;
    sqlite3_stmt *insert;
};

static void check(sqlite3 *db, int rc, const char *what)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW) {
        bench_die("%s: %s", what, sqlite3_errmsg(db));
    }
}

struct floor *floor_open(const char *path)
{
    struct floor *floor = calloc(1, sizeof(*floor));
    if (floor == NULL) {
        bench_die("out of memory");
    }
    check(floor->db, sqlite3_open(path, &floor->db), path);
    check(floor->db,
          sqlite3_exec(floor->db,
                       "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                       "CREATE TABLE rows (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
                       NULL, NULL, NULL),
          "create");
    check(floor->db,
          sqlite3_prepare_v2(floor->db, "INSERT INTO rows (data) VALUES (?1)", -1, &floor->insert,
                             NULL),
          "prepare");
    return floor;
}

void floor_close(struct floor *floor)
{
    sqlite3_finalize(floor->insert);
    sqlite3_close(floor->db);
    free(floor);
}

void floor_commit(struct floor *floor, const void *bytes, size_t len)
{
    sqlite3_bind_blob64(floor->insert, 1, bytes, len, SQLITE_STATIC);
    check(floor->db, sqlite3_step(floor->insert), "insert");
    sqlite3_reset(floor->insert);
}

double floor_query(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    check(db, sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), path);
    check(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL), sql);
    check(db, sqlite3_step(statement), sql);
    double number = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}
