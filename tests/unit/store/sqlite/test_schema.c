// SPDX-License-Identifier: Apache-2.0
/*
 * Migrations of the SQLite schema, each from a file that a program of the version before it wrote.
 * These files are kept as dumps (schema_<version>.sql) and not made by today's table of migrations,
 * so that a change of an entry that was released is noticed.
 */
#include "../support.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include "base/auto.h"
#include "base/memory.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"
#define RUN_B "01900000-0000-7000-8000-00000000000b"

/** A store of an older version, and a copy that stays as it is. */
struct old_store {
    char *folder;
    char *path;
    char *untouched;
};

static char *read_dump(const char *name)
{
    auto_free char *path = test_path(SOURCE_ROOT "/tests/unit/store", name);
    auto_close int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    char *sql = memory_new_zero(1, (size_t)status.st_size + 1);
    assert_int_equal(read(fd, sql, (size_t)status.st_size), (ssize_t)status.st_size);
    return sql;
}

static void restore_dump(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int make_version(void **state, const char *dump)
{
    struct old_store *old = memory_new_zero(1, sizeof(*old));
    old->folder = test_folder_new();
    old->path = test_path(old->folder, "store.db");
    old->untouched = test_path(old->folder, "untouched.db");
    auto_free char *sql = read_dump(dump);
    restore_dump(old->path, sql);
    restore_dump(old->untouched, sql);
    *state = old;
    return 0;
}

static int make_version_1(void **state)
{
    return make_version(state, "schema_1.sql");
}

static int make_version_2(void **state)
{
    return make_version(state, "schema_2.sql");
}

static int make_version_8(void **state)
{
    return make_version(state, "schema_8.sql");
}

static int make_version_3(void **state)
{
    return make_version(state, "schema_3.sql");
}

static int remove_old_store(void **state)
{
    struct old_store *old = *state;
    test_folder_free(old->folder);
    free(old->path);
    free(old->untouched);
    free(old);
    return 0;
}

static struct store *open_store(const char *path, const struct clock *clock)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    struct store_sqlite_options options = {.path = path, .clock = clock};
    int rc = store_sqlite_open(&options, &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(rc, 0);
    return store;
}

static void attach_untouched(sqlite3 *db, const struct old_store *old)
{
    char *sql = sqlite3_mprintf("ATTACH %Q AS old", old->untouched);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
}

static int64_t query_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/** Rows of one of the tables that the other one does not have, in the columns of the old one. */
static int64_t count_missing(sqlite3 *db, const char *table, const char *from, const char *in)
{
    char *columns_sql = sqlite3_mprintf(
        "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info(%Q, 'old')", table);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, columns_sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const char *columns = (const char *)sqlite3_column_text(statement, 0);
    char *sql =
        sqlite3_mprintf("SELECT count(*) FROM (SELECT %s FROM %s.%s EXCEPT SELECT %s FROM %s.%s)",
                        columns, from, table, columns, in, table);
    sqlite3_finalize(statement);
    int64_t count = query_number(db, sql);
    sqlite3_free(sql);
    sqlite3_free(columns_sql);
    return count;
}

/** Open the old store and see that each of its rows is in the new one. */
static void assert_kept(const struct old_store *old, int64_t version, const char *const *tables,
                        size_t table_count)
{
    store_close(open_store(old->path, NULL));
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(old->path, &db), SQLITE_OK);
    attach_untouched(db, old);
    assert_int_equal(query_number(db, "PRAGMA old.user_version"), version);
    assert_int_equal(query_number(db, "PRAGMA main.user_version"), sqlite_schema_newest());
    for (size_t i = 0; i < table_count; i++) {
        char sql[64];
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM old.%s", tables[i]);
        assert_true(query_number(db, sql) > 0);
        assert_int_equal(count_missing(db, tables[i], "old", "main"), 0);
        assert_int_equal(count_missing(db, tables[i], "main", "old"), 0);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define OLD_TEST(name) TEST_WITH(name, make_version_1, remove_old_store)

OLD_TEST(migrating_version_1_keeps_every_row)
{
    static const char *const tables[] = {"runs", "events", "marks", "checkpoints", "letters"};
    assert_kept(*state, 1, tables, COUNT(tables));
}

#define OLD_TEST_2(name) TEST_WITH(name, make_version_2, remove_old_store)

OLD_TEST_2(migrating_version_2_keeps_every_row)
{
    static const char *const tables[] = {"runs",    "events",       "marks",         "checkpoints",
                                         "letters", "policy_texts", "policy_changes"};
    assert_kept(*state, 2, tables, COUNT(tables));
}

#define OLD_TEST_3(name) TEST_WITH(name, make_version_3, remove_old_store)

OLD_TEST_3(migrating_version_3_keeps_every_row)
{
    static const char *const tables[] = {"runs",    "events",       "marks",          "checkpoints",
                                         "letters", "policy_texts", "policy_changes", "documents"};
    assert_kept(*state, 3, tables, COUNT(tables));
}

#define OLD_TEST_8(name) TEST_WITH(name, make_version_8, remove_old_store)

OLD_TEST_8(migrating_version_8_keeps_every_row)
{
    static const char *const tables[] = {"runs",    "events",       "marks",          "checkpoints",
                                         "letters", "policy_texts", "policy_changes", "documents"};
    assert_kept(*state, 8, tables, COUNT(tables));
}

OLD_TEST_8(runs_of_version_8_work_for_no_other_run)
{
    const struct old_store *old = *state;
    struct store *store = open_store(old->path, NULL);
    assert_string_equal(test_get(store, RUN_A).parent, "");
    store_close(store);
}

static bool take_seq(const struct store_checkpoint *checkpoint, void *context)
{
    *(uint64_t *)context = checkpoint->seq;
    return true;
}

OLD_TEST_3(a_store_of_version_3_takes_an_interim)
{
    const struct old_store *old = *state;
    struct store *store = open_store(old->path, NULL);
    struct store_checkpoint interim = {.seq = 71, .fold = "{}", .conditions = "{}"};
    struct store_batch batch = test_batch(RUN_A, 1, 72, NULL, 0);
    batch.interim = &interim;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    uint64_t seq = 0;
    assert_int_equal(store->ops->get_checkpoint(store, RUN_A, STORE_INTERIM, take_seq, &seq, NULL),
                     0);
    assert_int_equal(seq, 71);
    store_close(store);
}

static bool has_no_document(const struct store_document *document, void *context)
{
    (void)document;
    (void)context;
    fail();
    return false;
}

OLD_TEST_2(a_store_of_version_2_takes_warnings_pauses_and_documents)
{
    const struct old_store *old = *state;
    struct store *store = open_store(old->path, NULL);
    struct store_run run = test_get(store, RUN_A);
    assert_int_equal(run.summary.warnings, 0);
    assert_false(run.summary.is_paused);
    struct store_document_query query = {.collection = "notes"};
    assert_int_equal(store->ops->read_documents(store, &query, has_no_document, NULL, NULL), 0);
    struct store_batch batch = test_batch(RUN_A, 1, 72, NULL, 0);
    batch.summary.warnings = 3;
    batch.summary.is_paused = true;
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    assert_int_equal(test_get(store, RUN_A).summary.warnings, 3);
    assert_true(test_get(store, RUN_A).summary.is_paused);
    const struct store_change change = {
        .collection = "notes", .key = "k", .data = "{}", .data_len = 2};
    bool is_applied = false;
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_applied, NULL), 0);
    assert_true(is_applied);
    store_close(store);
}

static bool check_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    assert_int_equal(checkpoint->number, 2);
    assert_int_equal(checkpoint->seq, 71);
    assert_int_equal(checkpoint->state_len, 4);
    assert_memory_equal(checkpoint->state, "\0\1\2\xff", 4);
    assert_string_equal(checkpoint->fold, "{\"fold\":1}");
    *(bool *)context = true;
    return true;
}

static bool count_letter(const struct store_letter *letter, void *context)
{
    assert_string_equal(letter->kind, "stop");
    (*(int *)context)++;
    return true;
}

OLD_TEST(runs_of_version_1_are_read_after_the_migration)
{
    const struct old_store *old = *state;
    struct store *store = open_store(old->path, NULL);
    struct store_run run = test_get(store, RUN_A);
    assert_string_equal(run.agent_id, "alpha");
    assert_true(run.is_exclusive);
    assert_int_equal(run.last_seq, 71);
    assert_int_equal(run.summary.cost_micro, 5678);
    assert_int_equal(test_get(store, RUN_B).summary.status, RONDO_COMPLETED);
    assert_int_equal(test_count_events(store, RUN_A), 71);
    assert_int_equal(test_count_events(store, RUN_B), 3);
    assert_int_equal(test_last_position(store), 74);
    bool has_checkpoint = false;
    assert_int_equal(
        store->ops->get_checkpoint(store, RUN_A, 0, check_checkpoint, &has_checkpoint, NULL), 0);
    assert_true(has_checkpoint);
    int letters = 0;
    assert_int_equal(store->ops->read_mail(store, RUN_A, NULL, count_letter, &letters, NULL), 0);
    assert_int_equal(letters, 2);
    store_close(store);
}

TEST_ROW(the_same_from_version_3, "runs_of_version_3_are_read_after_the_migration",
         runs_of_version_1_are_read_after_the_migration, make_version_3, remove_old_store, NULL);

TEST_ROW(the_same_from_version_2, "runs_of_version_2_are_read_after_the_migration",
         runs_of_version_1_are_read_after_the_migration, make_version_2, remove_old_store, NULL);

OLD_TEST(a_run_of_version_1_continues_after_the_migration)
{
    const struct old_store *old = *state;
    struct test_clock clock;
    test_clock_init(&clock);
    struct store *store = open_store(old->path, &clock.clock);
    test_append(store, RUN_A, 72, "{}");
    assert_int_equal(test_count_events(store, RUN_A), 72);
    test_clock_advance(&clock, TEST_LEASE_NS);
    struct store_claim_result claim = test_claim(store, RUN_A, "owner-b");
    assert_int_equal(claim.outcome, STORE_CLAIMED);
    assert_int_equal(claim.epoch, 2);
    store_close(store);
}

OLD_TEST(a_store_of_version_1_takes_policies_after_the_migration)
{
    const struct old_store *old = *state;
    struct store *store = open_store(old->path, NULL);
    const struct store_policy_change change = {
        .source = "built-in",
        .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .how = "found",
        .by = "test",
        .text = "",
    };
    uint64_t number = 0;
    bool is_new = false;
    assert_int_equal(store->ops->record_policy(store, &change, &number, &is_new, NULL), 0);
    assert_int_equal(number, 1);
    assert_true(is_new);
    store_close(store);
}

/**
 * The migrations up to a version make the tables that its program made.
 * @param step versions to migrate by at a time: a store that gets all at once is made otherwise
 */
static void assert_same_schema_by(const struct old_store *old, uint32_t version, uint32_t step)
{
    auto_free char *path = test_path(old->folder, "made.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (uint32_t target = step; target <= version; target += step) {
        assert_int_equal(sqlite_schema_migrate(db, path, target, NULL), 0);
    }
    attach_untouched(db, old);
    static const char differences[] =
        "SELECT count(*) FROM (SELECT * FROM (SELECT type, name, sql FROM main.sqlite_schema EXCEPT"
        " SELECT type, name, sql FROM old.sqlite_schema) UNION ALL"
        " SELECT * FROM (SELECT type, name, sql FROM old.sqlite_schema EXCEPT"
        " SELECT type, name, sql FROM main.sqlite_schema))";
    assert_int_equal(query_number(db, differences), 0);
    assert_int_equal(query_number(db, "PRAGMA main.application_id"), SQLITE_SCHEMA_APPLICATION_ID);
    assert_int_equal(query_number(db, "PRAGMA old.application_id"), SQLITE_SCHEMA_APPLICATION_ID);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_same_schema(const struct old_store *old, uint32_t version)
{
    assert_same_schema_by(old, version, version);
}

OLD_TEST(the_first_migration_still_makes_what_version_1_had)
{
    assert_same_schema(*state, 1);
}

OLD_TEST_2(the_second_migration_still_makes_what_version_2_had)
{
    assert_same_schema(*state, 2);
}

OLD_TEST_3(the_third_migration_still_makes_what_version_3_had)
{
    assert_same_schema(*state, 3);
}

OLD_TEST(a_new_store_has_the_schema_that_all_migrations_make)
{
    const struct old_store *old = *state;
    assert_int_equal(unlink(old->untouched), 0);
    struct store_sqlite_options options = {.path = old->untouched, .may_create = true};
    struct store *store = NULL;
    int64_t id = 0;
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    assert_int_equal(store->ops->reserve_memories(store, "keeper", 1, &id, NULL), 0);
    store_close(store);
    assert_same_schema_by(old, sqlite_schema_newest(), 1);
}

static bool count_memory(const struct store_memory *memory, void *context)
{
    assert_string_equal(memory->content, "stage-2 is slow");
    ++*(int *)context;
    return true;
}

static int count_memories(struct store *store)
{
    int count = 0;
    const struct store_memory_word word = {.text = "slow"};
    const struct store_memory_query all = {.owner = "keeper"};
    const struct store_memory_query found = {.owner = "keeper", .words = &word, .word_count = 1};
    assert_int_equal(store->ops->read_memories(store, &all, count_memory, &count, NULL), 0);
    int listed = count;
    assert_int_equal(store->ops->read_memories(store, &found, count_memory, &count, NULL), 0);
    assert_int_equal(count, 2 * listed);
    return listed;
}

static void add_memory(struct store *store)
{
    uint64_t changed = 0;
    struct store_memory_change change = {.kind = STORE_MEMORY_ADD,
                                         .memory = {.owner = "keeper",
                                                    .kind = STORE_SEMANTIC,
                                                    .created_ns = 1,
                                                    .category = "general",
                                                    .run_id = "",
                                                    .source = "test",
                                                    .metadata = "{}",
                                                    .content = "stage-2 is slow",
                                                    .grams = ""}};
    assert_int_equal(store->ops->reserve_memories(store, "keeper", 1, &change.memory.id, NULL), 0);
    assert_int_equal(store->ops->change_memories(store, &change, 1, &changed, NULL), 0);
    assert_int_equal(changed, 1);
}

OLD_TEST(the_tables_of_memories_come_with_the_first_one)
{
    const struct old_store *old = *state;
    assert_int_equal(unlink(old->untouched), 0);
    struct store_sqlite_options options = {.path = old->untouched, .may_create = true};
    struct store *store = NULL;
    assert_int_equal(store_sqlite_open(&options, &store, NULL), 0);
    struct store *other = open_store(old->untouched, NULL);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(old->untouched, &db), SQLITE_OK);
    static const char tables[] = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'memor%'";
    assert_int_equal(query_number(db, tables), 0);
    assert_int_equal(count_memories(store), 0);
    assert_int_equal(count_memories(other), 0);
    add_memory(store);
    assert_true(query_number(db, tables) > 0);
    assert_int_equal(count_memories(store), 1);
    assert_int_equal(count_memories(other), 1);
    add_memory(other);
    assert_int_equal(count_memories(store), 2);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    store_close(other);
    store_close(store);
}

/* Until version 7 every store had them. */
OLD_TEST(a_store_of_version_7_keeps_its_memories)
{
    static const char rows[] =
        "INSERT INTO memory_owners VALUES (1, 'keeper', 1);"
        "INSERT INTO memories VALUES (100000001, 1, 1, 1, 0, 'general', '', 0, 'test', '{}',"
        " 'stage-2 is slow', '');"
        "INSERT INTO memory_words(rowid, content, category, grams)"
        " VALUES (100000001, 'stage-2 is slow', 'general', '');";
    const struct old_store *old = *state;
    auto_free char *path = test_path(old->folder, "made.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite_schema_migrate(db, path, 7, NULL), 0);
    assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    struct store *store = open_store(path, NULL);
    assert_int_equal(count_memories(store), 1);
    add_memory(store);
    assert_int_equal(count_memories(store), 2);
    store_close(store);
}
