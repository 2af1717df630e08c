// SPDX-License-Identifier: Apache-2.0
/* Memories: what is stored, how it is found, what is taken in. Over an SQLite store in a folder. */
#include "memory/memory.h"

#include "base/auto.h"
#include "base/clock.h"
#include "memory/words.h"
#include "os/file.h"
#include "store/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A day of 2026. */
#define NOW_NS INT64_C(1780000000000000000)
#define DAY_NS (24 * 3600 * NS_PER_S)

struct world {
    struct test_place *place;
    struct store *store;
};

static int setup(void **state)
{
    static struct world world;
    void *place = NULL;
    test_place_make(&place);
    world.place = place;
    world.store = test_place_open(world.place);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    void *place = world->place;
    store_close(world->store);
    return test_place_remove(&place);
}

#define MEMORY_TEST(name) TEST_WITH(name, setup, teardown)

static int try_add(struct store *store, const struct store_memory *memory, uint64_t keep)
{
    int64_t id = 0;
    struct rondo_error err = {0};
    return memories_add(store, NULL, memory, keep, &id, &err);
}

static void add_at(struct store *store, enum store_memory_kind kind, const char *content,
                   int64_t created_ns)
{
    const struct store_memory memory = {
        .owner = "a", .kind = kind, .content = content, .source = "test", .created_ns = created_ns};
    assert_int_equal(try_add(store, &memory, MEMORIES_KEPT), 0);
}

static void add(struct store *store, const char *content)
{
    add_at(store, STORE_SEMANTIC, content, NOW_NS);
}

struct found_memories {
    char contents[4096];
    char category[MEMORIES_CATEGORY_SIZE];
    double score;
    size_t count;
};

static bool note(const struct store_memory *memory, void *context)
{
    struct found_memories *seen = context;
    size_t len = strlen(seen->contents);
    snprintf(seen->contents + len, sizeof(seen->contents) - len, "%s%s", len > 0 ? "|" : "",
             memory->content);
    snprintf(seen->category, sizeof(seen->category), "%s", memory->category);
    seen->score = memory->score;
    seen->count++;
    return true;
}

static struct found_memories recall(struct store *store, const char *text)
{
    struct found_memories seen = {0};
    const struct memories_question question = {
        .owner = "a", .text = text, .top = MEMORIES_TOP, .now_ns = NOW_NS};
    assert_int_equal(memories_recall(store, &question, note, &seen, NULL), 0);
    return seen;
}

static struct found_memories list(struct store *store, const char *owner)
{
    struct found_memories seen = {0};
    const struct store_memory_query query = {.owner = owner, .is_oldest_first = true};
    assert_int_equal(store->ops->read_memories(store, &query, note, &seen, NULL), 0);
    return seen;
}

static void assert_category(const char *text, const char *expected)
{
    char category[MEMORIES_CATEGORY_SIZE];
    memories_category(text, category);
    assert_string_equal(category, expected);
}

TEST(a_category_is_lower_case_letters_digits_and_single_underscores)
{
    assert_category("Git Rules!", "git_rules");
    assert_category("--a  b--", "a_b");
    assert_category("", "general");
    assert_category("\xc3\xa9", "general");
    char text[LIMIT_MEMORY_CATEGORY_LEN + 2];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    char category[MEMORIES_CATEGORY_SIZE];
    memories_category(text, category);
    assert_int_equal(strlen(category), LIMIT_MEMORY_CATEGORY_LEN);
}

MEMORY_TEST(secrets_are_redacted_before_they_are_stored)
{
    struct world *world = *state;
    const struct store_memory memory = {
        .owner = "a",
        .kind = STORE_SEMANTIC,
        .content = "the token is ghp_0123456789abcdefghijklmnop",
        .metadata = "{\"t\":\"ghp_0123456789abcdefghijklmnop\"}",
        .source = "test",
        .created_ns = NOW_NS,
    };
    assert_int_equal(try_add(world->store, &memory, 10), 0);
    assert_string_equal(list(world->store, "a").contents, "the token is [redacted]");
    assert_int_equal(recall(world->store, "ghp 0123456789abcdefghijklmnop").count, 0);
}

MEMORY_TEST(an_empty_or_too_long_memory_is_refused)
{
    struct world *world = *state;
    struct store_memory memory = {.owner = "a", .content = " \n", .source = "test"};
    assert_int_equal(try_add(world->store, &memory, 10), RONDO_ERR_INVALID);
    char *text = calloc(1, LIMIT_MEMORY_BYTES + 2);
    memset(text, 'x', LIMIT_MEMORY_BYTES);
    memory.content = text;
    assert_int_equal(try_add(world->store, &memory, 10), 0);
    text[LIMIT_MEMORY_BYTES] = 'x';
    assert_int_equal(try_add(world->store, &memory, 10), RONDO_ERR_LIMIT);
    free(text);
}

MEMORY_TEST(only_the_newest_of_a_kind_are_kept)
{
    struct world *world = *state;
    const char *const contents[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        const struct store_memory memory = {.owner = "a",
                                            .kind = STORE_PROCEDURAL,
                                            .content = contents[i],
                                            .source = "test",
                                            .created_ns = NOW_NS + i};
        assert_int_equal(try_add(world->store, &memory, 2), 0);
    }
    assert_string_equal(list(world->store, "a").contents, "two|three");
}

MEMORY_TEST(words_of_several_languages_are_found)
{
    struct store *store = ((struct world *)*state)->store;
    add(store, "The deployments run at noon");
    add(store, "Die Rechnungen werden am Freitag verschickt");
    add(store, "Les factures sont envoyées le vendredi");
    add(store, "Las reuniones empiezan a las nueve");
    add(store, "東京の会議室は三階です");
    add(store, "Сервер базы данных находится в Берлине");
    assert_string_equal(recall(store, "when do we deploy?").contents,
                        "The deployments run at noon");
    assert_string_equal(recall(store, "Wann kommt die Rechnung?").contents,
                        "Die Rechnungen werden am Freitag verschickt");
    assert_string_equal(recall(store, "envoyer la facture").contents,
                        "Les factures sont envoyées le vendredi");
    assert_string_equal(recall(store, "¿Cuándo es la reunión?").contents,
                        "Las reuniones empiezan a las nueve");
    assert_string_equal(recall(store, "会議室はどこですか").contents, "東京の会議室は三階です");
    assert_string_equal(recall(store, "где сервера").contents,
                        "Сервер базы данных находится в Берлине");
}

MEMORY_TEST(of_what_matches_alike_the_newer_and_the_fact_come_first)
{
    struct store *store = ((struct world *)*state)->store;
    add_at(store, STORE_SEMANTIC, "the port is 8080", NOW_NS - 300 * DAY_NS);
    add_at(store, STORE_SEMANTIC, "the port is 9090", NOW_NS);
    add_at(store, STORE_EPISODIC, "the port is 7070", NOW_NS);
    assert_string_equal(recall(store, "port").contents,
                        "the port is 9090|the port is 7070|the port is 8080");
}

MEMORY_TEST(the_best_result_has_a_score_of_at_most_one)
{
    struct store *store = ((struct world *)*state)->store;
    add_at(store, STORE_EPISODIC, "the port is 8080", NOW_NS);
    double score = recall(store, "port").score;
    assert_true(score > 0.8 && score < 1);
}

MEMORY_TEST(a_question_without_a_word_finds_nothing)
{
    struct store *store = ((struct world *)*state)->store;
    add(store, "the port is 8080");
    assert_int_equal(recall(store, "").count, 0);
    assert_int_equal(recall(store, "\" OR * NEAR( ^ : -").count, 0);
    assert_int_equal(recall(store, "\xff\xfe").count, 0);
}

TEST(a_question_has_at_most_its_limit_of_words)
{
    struct question_words words;
    words_of_question("b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12 b13 b14 b15 b16 b17 b1", &words);
    assert_int_equal(words.count, LIMIT_MEMORY_WORDS);
    words_of_question("the and of", &words);
    assert_int_equal(words.count, 3);
    words_of_question("the port and the Port", &words);
    assert_int_equal(words.count, 1);
    assert_string_equal(words.items[0].text, "port");
    assert_null(words.items[0].beginning);
    words_of_question("R\xc3\xa9sum\xc3\xa9s", &words);
    assert_string_equal(words.items[0].beginning, "r\xc3\xa9sum");
}

TEST(stop_words_are_sorted)
{
    assert_true(words_is_stop_word("a"));
    assert_true(words_is_stop_word("the"));
    assert_true(words_is_stop_word("\xc3\xbc"
                                   "ber"));
    assert_true(words_is_stop_word("zur"));
    assert_false(words_is_stop_word("port"));
}

/** Write a file in the test's folder and import it. @return the code */
static int import_text(struct world *world, const char *text, const char *owner,
                       struct memories_imported *ret_imported)
{
    struct rondo_error err = {0};
    char *path = test_path(world->place->folder, "in.jsonl");
    assert_int_equal(file_replace_durably(path, text, strlen(text), NULL), 0);
    int r = memories_import(world->store, NULL, path, owner, ret_imported, &err);
    free(path);
    return r;
}

MEMORY_TEST(what_was_exported_can_be_imported_again)
{
    struct world *world = *state;
    struct memories_imported imported = {0};
    auto_buf struct buf text = {0};
    const struct store_memory memory = {
        .id = 1,
        .owner = "a",
        .kind = STORE_PROCEDURAL,
        .created_ns = NOW_NS,
        .category = "rules",
        .run_id = "",
        .iteration = 3,
        .source = "remember",
        .metadata = "{\"a\":1}",
        .content = "run \"make\"",
    };
    memories_write_json(&memory, -1, &text);
    buf_append_string(&text, "\n{\"kind\":\"semantic\"}\nnonsense\n");
    assert_int_equal(import_text(world, buf_string(&text), NULL, &imported), 0);
    assert_int_equal(imported.added, 1);
    assert_int_equal(imported.refused, 2);
    assert_string_equal(list(world->store, "a").contents, "run \"make\"");
    assert_int_equal(import_text(world, buf_string(&text), NULL, &imported), 0);
    assert_int_equal(imported.known, 1);
    assert_int_equal(list(world->store, "a").count, 1);
    assert_int_equal(import_text(world, buf_string(&text), "b", &imported), 0);
    assert_string_equal(list(world->store, "b").category, "rules");
}

MEMORY_TEST(a_file_of_another_kind_is_refused)
{
    struct world *world = *state;
    struct memories_imported imported = {0};
    assert_int_equal(import_text(world, "hello", "a", &imported), RONDO_ERR_INVALID);
    assert_int_equal(import_text(world, "", "a", &imported), RONDO_ERR_INVALID);
}

/** Make an SQLite file by statements and import it. @return the code */
static int import_sqlite(struct world *world, const char *sql, const char *owner,
                         struct memories_imported *ret_imported)
{
    struct rondo_error err = {0};
    sqlite3 *db = NULL;
    char *path = test_path(world->place->folder, "memory.db");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    int r = memories_import(world->store, NULL, path, owner, ret_imported, &err);
    unlink(path);
    free(path);
    return r;
}

#define INITRUNNER_TABLE                                                           \
    "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, category TEXT, " \
    "created_at TEXT, memory_type TEXT, metadata_json TEXT, consolidated_at TEXT);"

MEMORY_TEST(a_store_of_initrunner_is_imported)
{
    struct world *world = *state;
    struct memories_imported imported = {0};
    static const char sql[] =
        "PRAGMA journal_mode = WAL;" INITRUNNER_TABLE
        "INSERT INTO memories VALUES (1, 'uses OAuth', 'api', '2026-02-18T10:00:00+00:00', "
        "'semantic', '{\"a\":1}', NULL), (2, 'ran it', 'autonomous_run', '2026-02-18T10:00:00', "
        "'episodic', NULL, '2026-02-19T10:00:00'), (3, x'00', 'x', 'y', 'semantic', 7, 8), "
        "(4, 'x', NULL, NULL, 'other', NULL, NULL)";
    assert_int_equal(import_sqlite(world, sql, NULL, &imported), RONDO_ERR_INVALID);
    assert_int_equal(import_sqlite(world, sql, "a", &imported), 0);
    assert_int_equal(imported.added, 2);
    assert_int_equal(imported.refused, 2);
    assert_string_equal(list(world->store, "a").contents, "uses OAuth|ran it");
    struct found_memories seen = {0};
    const struct store_memory_query query = {.owner = "a", .only_unconsolidated = true};
    assert_int_equal(world->store->ops->read_memories(world->store, &query, note, &seen, NULL), 0);
    assert_int_equal(seen.count, 1);
}

MEMORY_TEST(views_and_endless_queries_of_a_foreign_store_do_not_run)
{
    struct world *world = *state;
    struct memories_imported imported = {0};
    assert_int_equal(import_sqlite(world,
                                   "CREATE VIEW memories AS WITH RECURSIVE n(x) AS (SELECT 1 UNION "
                                   "ALL SELECT x + 1 FROM n) SELECT x AS id, 'a' AS content, 'b' "
                                   "AS category, '' AS created_at, 'semantic' AS memory_type, "
                                   "NULL AS metadata_json, NULL AS consolidated_at FROM n",
                                   "a", &imported),
                     RONDO_ERR_INVALID);
    assert_int_equal(import_sqlite(world, "CREATE TABLE other (a)", "a", &imported),
                     RONDO_ERR_INVALID);
    assert_int_equal(list(world->store, "a").count, 0);
}

MEMORY_TEST(a_damaged_store_is_refused)
{
    struct world *world = *state;
    struct memories_imported imported = {0};
    struct rondo_error err = {0};
    char bytes[5000] = "SQLite format 3";
    memset(bytes + 16, 0x5a, sizeof(bytes) - 16);
    char *path = test_path(world->place->folder, "broken.db");
    assert_int_equal(file_replace_durably(path, bytes, sizeof(bytes), NULL), 0);
    assert_int_equal(memories_import(world->store, NULL, path, "a", &imported, &err),
                     RONDO_ERR_INVALID);
    free(path);
}
