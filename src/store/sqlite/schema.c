// SPDX-License-Identifier: Apache-2.0
/*
 * The schema as a list of migrations: entry i brings a file from version i to i + 1. An entry never
 * changes once it is released; each has a test that starts from the version before it. A new store
 * gets the newest schema at once, which another test compares.
 *
 * The layout keeps the commit of an iteration small: it appends to `events` and rewrites one short
 * row in `runs`, whose indexes cover only columns that such a commit leaves alone. There is no
 * index of events by run: with a hundred loops in one transaction it would dirty a hundred pages,
 * more than everything else together. Instead each event knows the position of the run's event
 * before it, the run's row that of the last one, and `marks` that of about every 64th, so that
 * reading can begin anywhere: from the next mark backwards.
 */
#include "store/sqlite/schema.h"

#include "base/error.h"

#include <sqlite3.h>
#include <stdio.h>

/* Run keys are integers, because every row has one. */
#define RUNS_COLUMNS_1                     \
    "  key INTEGER PRIMARY KEY,"           \
    "  id TEXT NOT NULL UNIQUE,"           \
    "  agent_id TEXT NOT NULL,"            \
    "  is_exclusive INTEGER NOT NULL,"     \
    "  owner TEXT NOT NULL,"               \
    "  epoch INTEGER NOT NULL,"            \
    "  lease_until_ns INTEGER NOT NULL,"   \
    "  alive_ns INTEGER NOT NULL,"         \
    "  created_ns INTEGER NOT NULL,"       \
    "  updated_ns INTEGER NOT NULL,"       \
    "  ended_ns INTEGER NOT NULL,"         \
    "  status INTEGER NOT NULL,"           \
    "  iteration INTEGER NOT NULL,"        \
    "  iteration_limit INTEGER NOT NULL,"  \
    "  conditions_met INTEGER NOT NULL,"   \
    "  conditions_total INTEGER NOT NULL," \
    "  tokens INTEGER NOT NULL,"           \
    "  cost_micro INTEGER NOT NULL,"       \
    "  last_seq INTEGER NOT NULL,"         \
    "  last_position INTEGER NOT NULL,"    \
    "  last_checkpoint INTEGER NOT NULL,"  \
    "  last_checkpoint_key INTEGER NOT NULL"

/* Positions are never used again although there is no AUTOINCREMENT: gc keeps a row of run 0 at the
 * highest one. Letters need AUTOINCREMENT, because a batch that is handed in again deletes by id.
 */
#define TABLES_1                                                            \
    "CREATE INDEX runs_by_agent ON runs(agent_id);"                         \
    "CREATE INDEX runs_owned_by_agent ON runs(agent_id) WHERE owner <> '';" \
    "CREATE INDEX runs_owned_by_owner ON runs(owner) WHERE owner <> '';"    \
    "CREATE TABLE events ("                                                 \
    "  position INTEGER PRIMARY KEY,"                                       \
    "  run INTEGER NOT NULL,"                                               \
    "  previous INTEGER NOT NULL,"                                          \
    "  seq INTEGER NOT NULL,"                                               \
    "  time_ns INTEGER NOT NULL,"                                           \
    "  type TEXT NOT NULL,"                                                 \
    "  data TEXT NOT NULL"                                                  \
    ") STRICT;"                                                             \
    "CREATE TABLE marks ("                                                  \
    "  run INTEGER NOT NULL,"                                               \
    "  seq INTEGER NOT NULL,"                                               \
    "  position INTEGER NOT NULL,"                                          \
    "  PRIMARY KEY (run, seq)"                                              \
    ") STRICT, WITHOUT ROWID;"                                              \
    "CREATE TABLE checkpoints ("                                            \
    "  key INTEGER PRIMARY KEY,"                                            \
    "  run INTEGER NOT NULL,"                                               \
    "  number INTEGER NOT NULL,"                                            \
    "  previous INTEGER NOT NULL,"                                          \
    "  seq INTEGER NOT NULL,"                                               \
    "  iteration INTEGER NOT NULL,"                                         \
    "  time_ns INTEGER NOT NULL,"                                           \
    "  format INTEGER NOT NULL,"                                            \
    "  state_size INTEGER NOT NULL,"                                        \
    "  is_packed INTEGER NOT NULL,"                                         \
    "  sha256 BLOB NOT NULL,"                                               \
    "  conditions TEXT,"                                                    \
    "  custom_data TEXT,"                                                   \
    "  fold TEXT,"                                                          \
    "  state BLOB"                                                          \
    ") STRICT;"                                                             \
    "CREATE TABLE letters ("                                                \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"                               \
    "  run INTEGER NOT NULL,"                                               \
    "  time_ns INTEGER NOT NULL,"                                           \
    "  kind TEXT NOT NULL,"                                                 \
    "  data TEXT NOT NULL"                                                  \
    ") STRICT;"                                                             \
    "CREATE INDEX letters_by_run ON letters(run);"

/* The history of policies. A text is stored apart from its changes, because the same one is
 * used often and may be large. The index finds the newest change of a source at once, however long
 * the history of others is. */
#define TABLES_2                                  \
    "CREATE TABLE policy_texts ("                 \
    "  digest TEXT PRIMARY KEY NOT NULL,"         \
    "  text TEXT NOT NULL"                        \
    ") STRICT;"                                   \
    "CREATE TABLE policy_changes ("               \
    "  number INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  time_ns INTEGER NOT NULL,"                 \
    "  source TEXT NOT NULL,"                     \
    "  digest TEXT NOT NULL,"                     \
    "  how TEXT NOT NULL,"                        \
    "  \"by\" TEXT NOT NULL"                      \
    ") STRICT;"                                   \
    "CREATE INDEX policy_changes_by_source ON policy_changes(source);"

/* Layers above keep documents beside the runs. Their data come last, so that versions are read
 * without walking over them. */
#define TABLES_3                      \
    "CREATE TABLE documents ("        \
    "  collection TEXT NOT NULL,"     \
    "  key TEXT NOT NULL,"            \
    "  version INTEGER NOT NULL,"     \
    "  updated_ns INTEGER NOT NULL,"  \
    "  data TEXT NOT NULL,"           \
    "  PRIMARY KEY (collection, key)" \
    ") STRICT, WITHOUT ROWID;"

/* What a checkpoint would hold, for iterations that are finished and have none yet. A row is
 * replaced often, so it is not one of the numbered list. */
#define TABLES_4                     \
    "CREATE TABLE interims ("        \
    "  run INTEGER PRIMARY KEY,"     \
    "  seq INTEGER NOT NULL,"        \
    "  iteration INTEGER NOT NULL,"  \
    "  time_ns INTEGER NOT NULL,"    \
    "  format INTEGER NOT NULL,"     \
    "  state_size INTEGER NOT NULL," \
    "  is_packed INTEGER NOT NULL,"  \
    "  sha256 BLOB NOT NULL,"        \
    "  conditions TEXT,"             \
    "  custom_data TEXT,"            \
    "  fold TEXT,"                   \
    "  state BLOB"                   \
    ") STRICT;"

/* What agents remember. An id is the key of its owner and a number: the memories of an owner are
 * one range of ids, in the index of words too, so that a search for one agent does not walk over
 * the memories of others. The index knows no content, which it reads from the table. */
#define TABLES_6                                                            \
    "CREATE TABLE memory_owners ("                                          \
    "  key INTEGER PRIMARY KEY,"                                            \
    "  name TEXT NOT NULL UNIQUE,"                                          \
    "  last INTEGER NOT NULL"                                               \
    ") STRICT;"                                                             \
    "CREATE TABLE memories ("                                               \
    "  id INTEGER PRIMARY KEY,"                                             \
    "  owner INTEGER NOT NULL,"                                             \
    "  kind INTEGER NOT NULL,"                                              \
    "  created_ns INTEGER NOT NULL,"                                        \
    "  consolidated_ns INTEGER NOT NULL,"                                   \
    "  category TEXT NOT NULL,"                                             \
    "  run TEXT NOT NULL,"                                                  \
    "  iteration INTEGER NOT NULL,"                                         \
    "  source TEXT NOT NULL,"                                               \
    "  metadata TEXT NOT NULL,"                                             \
    "  content TEXT NOT NULL,"                                              \
    "  grams TEXT NOT NULL"                                                 \
    ") STRICT;"                                                             \
    "CREATE INDEX memories_by_age ON memories(owner, kind, created_ns);"    \
    "CREATE VIRTUAL TABLE memory_words USING fts5(content, category, grams" \
    ", content = 'memories', content_rowid = 'id', prefix = '5'"            \
    ", tokenize = 'porter unicode61 remove_diacritics 2');"

/* The vectors of memories. What selects them is here again, so that comparing all of an owner's
 * reads no memory. */
#define TABLES_7                     \
    "CREATE TABLE memory_vectors ("  \
    "  id INTEGER PRIMARY KEY,"      \
    "  kind INTEGER NOT NULL,"       \
    "  created_ns INTEGER NOT NULL," \
    "  category TEXT NOT NULL,"      \
    "  model TEXT NOT NULL,"         \
    "  vector BLOB NOT NULL"         \
    ") STRICT;"

/* What lists show of a run. */
#define RUNS_WARNINGS_3 "warnings INTEGER NOT NULL DEFAULT 0"
#define RUNS_PAUSED_3   "is_paused INTEGER NOT NULL DEFAULT 0"

/* A lease ends by the monotonic clock for processes of the boot in which it was renewed. */
#define RUNS_BOOT_5      "boot TEXT NOT NULL DEFAULT ''"
#define RUNS_MONOTONIC_5 "alive_monotonic_ns INTEGER NOT NULL DEFAULT 0"

/* The run for which a run works on a part, such as a task of a PRD. */
#define RUNS_PARENT_9 "parent TEXT NOT NULL DEFAULT ''"

static const char *const migrations[] = {
    "CREATE TABLE runs (" RUNS_COLUMNS_1 ") STRICT;" TABLES_1,
    TABLES_2,
    ("ALTER TABLE runs ADD COLUMN " RUNS_WARNINGS_3 ";"
     "ALTER TABLE runs ADD COLUMN " RUNS_PAUSED_3 ";" TABLES_3),
    TABLES_4,
    ("ALTER TABLE runs ADD COLUMN " RUNS_BOOT_5 ";"
     "ALTER TABLE runs ADD COLUMN " RUNS_MONOTONIC_5 ";"),
    TABLES_6,
    TABLES_7,
    "", /* From 8 on, tables of memories may be missing: sqlite_schema_add_memories. */
    "ALTER TABLE runs ADD COLUMN " RUNS_PARENT_9 ";",
};

/* All of them for a new store, but for those of memories: the index of words alone is a fifth of
 * what a first run computes, and most stores have no memories. SQLite reads the whole schema again
 * for each column that is added. */
static const char newest_schema[] =
    "CREATE TABLE runs (" RUNS_COLUMNS_1 ", " RUNS_WARNINGS_3 ", " RUNS_PAUSED_3 ", " RUNS_BOOT_5
    ", " RUNS_MONOTONIC_5 ", " RUNS_PARENT_9 ") STRICT;" TABLES_1 TABLES_2 TABLES_3 TABLES_4;

uint32_t sqlite_schema_newest(void)
{
    return sizeof(migrations) / sizeof(migrations[0]);
}

/** What shows whose file it is. */
struct identity {
    int64_t application;
    int64_t version;
    int64_t objects;
};

/* One statement, thus one snapshot: another process may be creating the store just now. */
static const char identity_sql[] =
    "SELECT (SELECT application_id FROM pragma_application_id),"
    " (SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_schema";

static int read_identity(sqlite3 *db, struct identity *ret_identity)
{
    sqlite3_stmt *statement = NULL;
    int r = sqlite3_prepare_v2(db, identity_sql, -1, &statement, NULL);
    if (r == SQLITE_OK) {
        r = sqlite3_step(statement);
    }
    if (r == SQLITE_ROW) {
        ret_identity->application = sqlite3_column_int64(statement, 0);
        ret_identity->version = sqlite3_column_int64(statement, 1);
        ret_identity->objects = sqlite3_column_int64(statement, 2);
        r = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return r;
}

int sqlite_schema_identify(sqlite3 *db, const char *path, uint32_t *ret_version,
                           struct rondo_error *err)
{
    struct identity found = {0};
    int r = read_identity(db, &found);
    if (r != SQLITE_OK) {
        return r;
    }
    bool is_empty = found.application == 0 && found.version == 0 && found.objects == 0;
    if (!is_empty && found.application != SQLITE_SCHEMA_APPLICATION_ID) {
        return error_set(err, RONDO_ERR_INVALID,
                         "%s is a database of another program, not a Rondo store; it was left as "
                         "it is",
                         path);
    }
    if (found.version < 0 || found.version > sqlite_schema_newest()) {
        return error_set(err, RONDO_ERR_VERSION,
                         "%s has schema version %lld, but this program knows versions up to %u; "
                         "use a newer Rondo",
                         path, (long long)found.version, sqlite_schema_newest());
    }
    *ret_version = (uint32_t)found.version;
    return 0;
}

static int apply_migrations(sqlite3 *db, uint32_t from, uint32_t target)
{
    bool is_new = from == 0 && target == sqlite_schema_newest();
    int r = is_new ? sqlite3_exec(db, newest_schema, NULL, NULL, NULL) : SQLITE_OK;
    for (uint32_t version = is_new ? target : from; r == SQLITE_OK && version < target; version++) {
        r = sqlite3_exec(db, migrations[version], NULL, NULL, NULL);
    }
    /* A PRAGMA takes no bound parameters; both numbers are this program's own. */
    char sql[96];
    snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %u",
             SQLITE_SCHEMA_APPLICATION_ID, target);
    return r == SQLITE_OK ? sqlite3_exec(db, sql, NULL, NULL, NULL) : r;
}

int sqlite_schema_migrate(sqlite3 *db, const char *path, uint32_t target, struct rondo_error *err)
{
    int r = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (r != SQLITE_OK) {
        return r;
    }
    /* Another process may have migrated the file since the caller looked at it. */
    uint32_t version = 0;
    r = sqlite_schema_identify(db, path, &version, err);
    if (r == 0 && version < target) {
        r = apply_migrations(db, version, target);
    }
    if (r == 0) {
        r = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    if (r != 0) {
        int failure = r > 0 ? sqlite3_extended_errcode(db) : r;
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return failure;
    }
    return 0;
}

int sqlite_schema_add_memories(sqlite3 *db)
{
    return sqlite3_exec(db, TABLES_6 TABLES_7, NULL, NULL, NULL);
}
