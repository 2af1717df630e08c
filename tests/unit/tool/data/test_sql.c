// SPDX-License-Identifier: Apache-2.0
/* Questions to databases: answers, what is not allowed, bounds. */
#include "../tool_world.h"

#include <sqlite3.h>

static void make_database(struct tool_world *world, const char *name, const char *sql)
{
    char path[PATH_MAX + 64];
    sqlite3 *db = NULL;
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s", sqlite3_errmsg(db));
    }
    sqlite3_close(db);
}

static void open_people(struct tool_world *world, const char *config)
{
    make_database(world, "people.db",
                  "PRAGMA journal_mode = WAL; CREATE TABLE people(name TEXT, age INT, photo BLOB);"
                  "INSERT INTO people VALUES('Ann', 29, NULL), ('Bob', NULL, x'0102'),"
                  "('Eve', 35, NULL); CREATE VIEW old AS SELECT name FROM people WHERE age > 30");
    world_open(world, config);
}

static void expect(struct tool_world *world, const char *sql, const char *expected)
{
    struct buf call = {0};
    buf_printf(&call, "{\"sql\":\"%s\"}", sql);
    world_expect(world, "query_database", buf_string(&call), expected);
    buf_fini(&call);
}

static void expect_error(struct tool_world *world, const char *sql, const char *expected)
{
    struct buf call = {0};
    buf_printf(&call, "{\"sql\":\"%s\"}", sql);
    world_expect_error(world, "query_database", buf_string(&call), expected);
    buf_fini(&call);
}

WORLD_TEST(answers_are_tables)
{
    open_people(*state, "{\"type\":\"sql\",\"database\":\"./people.db\",\"max_rows\":2}");
    expect(*state, "SELECT name, age, photo FROM people WHERE name < 'C'",
           "name | age | photo\nAnn | 29 | NULL\nBob | NULL | (2 bytes)\n");
    expect(*state, "SELECT name FROM people ORDER BY name",
           "name\nAnn\nBob\n(only the first 2 rows)");
    expect(*state, "SELECT * FROM old;", "name\nEve\n");
    expect(*state, "SELECT name FROM people WHERE age = 7", "No results");
    expect(*state, "SELECT count(*) AS n FROM pragma_table_info('people')", "n\n3\n");
    expect(*state, "PRAGMA index_list(people)", "No results");
}

WORLD_TEST(what_is_not_allowed_changes_and_reaches_nothing)
{
    open_people(*state, "{\"type\":\"sql\",\"database\":\"people.db\",\"read_only\":false}");
    static const char *const refused[] = {
        "DELETE FROM people",
        "DROP TABLE people",
        "CREATE TABLE x(a)",
        "ATTACH 'other.db' AS o",
        "UPDATE sqlite_master SET name = 'x'",
        "UPDATE people SET age = 1",
        "PRAGMA query_only = 0",
        "PRAGMA journal_mode = DELETE",
        "VACUUM INTO 'copy.db'",
        "SELECT load_extension('x')",
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        expect_error(*state, refused[i], "SQL error: ");
    }
    expect_error(*state, "SELECT 1; SELECT 2", "SQL error: one statement at a time");
    expect_error(*state, "", "SQL error: one statement at a time");
    expect_error(*state, "SELEC 1", "SQL error: near \"SELEC\": syntax error");
    expect(*state, "SELECT count(*) AS n FROM people", "n\n3\n");
}

WORLD_TEST(a_database_in_memory_lasts_as_long_as_the_agent)
{
    world_open(*state, "{\"type\":\"sql\",\"database\":\":memory:\",\"read_only\":false}");
    expect(*state, "CREATE TABLE n(a)", "OK (0 rows affected)");
    expect(*state, "INSERT INTO n VALUES(1), (2)", "OK (2 rows affected)");
    expect(*state, "SELECT sum(a) AS s FROM n", "s\n3\n");
    expect_error(*state, "ATTACH 'x.db' AS x", "SQL error: not authorized");
    expect_error(*state, "CREATE TRIGGER t AFTER INSERT ON n BEGIN DELETE FROM n; END",
                 "SQL error: not authorized");
}

WORLD_TEST(files_elsewhere_links_and_other_files_are_refused)
{
    struct tool_world *world = *state;
    char link[PATH_MAX + 64];
    make_database(world, "real.db", "CREATE TABLE t(a)");
    snprintf(link, sizeof(link), "%s/link.db", world->workspace);
    assert_int_equal(symlink("real.db", link), 0);
    static const char *const names[] = {"link.db", "missing.db", "../x.db", "."};
    for (size_t i = 0; i < COUNT(names); i++) {
        char config[128];
        snprintf(config, sizeof(config), "{\"type\":\"sql\",\"database\":\"%s\"}", names[i]);
        world_open(world, config);
        struct tool_result result = world_call(world, "query_database", "{\"sql\":\"SELECT 1\"}");
        assert_true(result.is_error);
        tool_result_fini(&result);
        toolbox_free(world->toolbox);
        world->toolbox = NULL;
    }
}

WORLD_TEST(a_question_cannot_fill_the_memory)
{
    open_people(*state, "{\"type\":\"sql\",\"database\":\"people.db\",\"timeout_seconds\":300}");
    expect_error(*state,
                 "WITH RECURSIVE n(a, b) AS (SELECT 1, zeroblob(1000000) UNION ALL "
                 "SELECT a + 1, zeroblob(1000000) FROM n LIMIT 4000) SELECT a FROM n ORDER BY b, a",
                 "more than 256 MiB of memory");
    expect(*state, "SELECT count(*) AS n FROM people", "n\n3\n");
}

/* Each part names the one before as often as the text of a link says. */
static void write_chain(unsigned count, const char *link, struct buf *out)
{
    buf_append_string(out, "WITH c0 AS (SELECT 1 AS x)");
    for (unsigned i = 1; i <= count; i++) {
        buf_printf(out, link, i, i - 1, i - 1);
    }
    buf_printf(out, " SELECT count(*) AS n FROM c%u", count);
}

WORLD_TEST(a_short_question_that_grows_while_it_is_read_is_cut_off)
{
    auto_buf struct buf sql = {0};
    sqlite3_hard_heap_limit64(INT64_C(64) * 1024 * 1024);
    world_open(*state, "{\"type\":\"sql\",\"database\":\":memory:\"}");
    write_chain(30, ", c%u AS (SELECT DISTINCT a.x FROM c%u a, c%u b)", &sql);
    expect_error(*state, buf_string(&sql), "SQL error: it took too long, or more than");
    expect(*state, "SELECT 1 AS n", "n\n1\n");
    assert_int_equal(sqlite3_hard_heap_limit64(0), INT64_C(64) * 1024 * 1024);
}

WORLD_TEST(the_deepest_question_does_not_exhaust_the_stack)
{
    auto_buf struct buf sql = {0};
    world_open(*state, "{\"type\":\"sql\",\"database\":\":memory:\"}");
    write_chain(540, ",c%u AS(SELECT DISTINCT x FROM c%u)", &sql);
    assert_in_range(sql.len, 19000, 20000);
    expect(*state, buf_string(&sql), "n\n1\n");
    write_chain(540, ",c%u AS(SELECT DISTINCT x FROM c%u)", &sql);
    expect_error(*state, buf_string(&sql), "SQL error: the statement is longer than 20000 bytes");
}

WORLD_TEST(views_work_while_their_texts_together_are_short)
{
    auto_buf struct buf sql = {0};
    buf_append_string(&sql, "BEGIN; CREATE VIEW v0 AS SELECT 1 AS x;");
    for (unsigned i = 1; i < 1000; i++) {
        buf_printf(&sql, "CREATE VIEW v%u AS SELECT DISTINCT x FROM v%u;", i, i - 1);
    }
    buf_append_string(&sql, "COMMIT");
    make_database(*state, "deep.db", buf_string(&sql));
    world_open(*state, "{\"type\":\"sql\",\"database\":\"deep.db\"}");
    expect_error(*state, "SELECT x FROM v999", "SQL error: access to view");
    expect_error(*state, "SELECT x FROM v0", "SQL error: access to view");
}

WORLD_TEST(a_question_without_end_is_cut_off)
{
    world_open(*state, "{\"type\":\"sql\",\"database\":\":memory:\",\"timeout_seconds\":1}");
    expect_error(*state,
                 "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                 "SELECT count(*) FROM c",
                 "SQL error: it took too long");
}
