// SPDX-License-Identifier: Apache-2.0
/* Stores whose rows were changed by others: every reader says so, none ends otherwise. */
#include "../support.h"

#include "base/auto.h"
#include "store/sqlite/sqlite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define RUN_A  "01900000-0000-7000-8000-00000000000a"
#define RUN_B  "01900000-0000-7000-8000-00000000000b"
#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/** Any type and any NULL may be in any column from here on. */
#define LOOSE                                                                   \
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="               \
    " replace(replace(replace(sql, ' STRICT, WITHOUT', ' WITHOUT'), ' STRICT'," \
    " ''), ' NOT NULL', ''); PRAGMA writable_schema = RESET;"

static struct store *open_store(const struct test_place *place, bool may_create)
{
    const struct store_sqlite_options options = {.path = place->path, .may_create = may_create};
    struct store *store = NULL;
    struct rondo_error err = {0};
    assert_int_equal(store_sqlite_open(&options, &store, &err), 0);
    return store;
}

/** A store with one of everything that is read. */
static struct test_place make_store(void)
{
    struct test_place place = {.folder = test_folder_new()};
    place.path = test_path(place.folder, "store.db");
    struct store *store = open_store(&place, true);
    test_create(store, RUN_A, "agent", false);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        test_append(store, RUN_A, seq, "{\"a\":1}");
    }
    struct store_checkpoint checkpoint = {
        .number = 1, .seq = 5, .state = "s", .state_len = 1, .state_size = 1, .fold = "{}"};
    struct store_batch batch = test_batch(RUN_A, 1, 6, NULL, 0);
    batch.checkpoint = &checkpoint;
    test_commit(store, &batch);
    assert_int_equal(store->ops->post(store, RUN_A, "stop", "{}", NULL), 0);
    const struct store_policy_change policy = {
        .time_ns = 1, .source = "/p", .digest = DIGEST, .how = "set", .by = "a", .text = ""};
    uint64_t number = 0;
    bool is_new = false;
    assert_int_equal(store->ops->record_policy(store, &policy, &number, &is_new, NULL), 0);
    const struct store_change change = {.collection = "notes",
                                        .key = "k",
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    assert_int_equal(store->ops->change_documents(store, &change, 1, &is_new, NULL), 0);
    store_close(store);
    return place;
}

static void damage(const struct test_place *place, const char *sql)
{
    sqlite3 *db = NULL;
    char *problem = NULL;
    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &problem) != SQLITE_OK) {
        fail_msg("%s: %s", sql, problem);
    }
    sqlite3_close(db);
}

static void lose(struct test_place *place)
{
    free(place->path);
    test_folder_free(place->folder);
}

static bool any_run(const struct store_run *run, void *context)
{
    (void)context;
    return run->id[0] != '\0';
}

static bool any_event(const struct store_event *event, void *context)
{
    (void)context;
    return event->seq > 0;
}

static bool any_checkpoint(const struct store_checkpoint *checkpoint, void *context)
{
    (void)context;
    return checkpoint->number > 0;
}

static bool any_letter(const struct store_letter *letter, void *context)
{
    (void)context;
    return letter->id > 0;
}

static bool any_policy(const struct store_policy_change *change, void *context)
{
    (void)context;
    return change->number > 0;
}

static bool any_document(const struct store_document *document, void *context)
{
    (void)context;
    return document->version > 0;
}

/** Read all there is. @return the first failure */
static int read_all(struct store *store)
{
    const struct store_run_query runs = {0};
    const struct store_document_query notes = {.collection = "notes"};
    struct store_run run;
    struct rondo_error err = {0};
    uint64_t position = 0;
    const int results[] = {
        store->ops->list_runs(store, &runs, any_run, NULL, &err),
        store->ops->get_run(store, RUN_A, &run, &err),
        store->ops->read_events(store, RUN_A, 0, 0, any_event, NULL, &err),
        store->ops->read_events(store, NULL, 0, 0, any_event, NULL, &err),
        store->ops->list_checkpoints(store, RUN_A, any_checkpoint, NULL, &err),
        store->ops->get_checkpoint(store, RUN_A, 0, any_checkpoint, NULL, &err),
        store->ops->read_mail(store, RUN_A, NULL, any_letter, NULL, &err),
        store->ops->last_position(store, &position, &err),
        store->ops->read_policies(store, NULL, 0, any_policy, NULL, &err),
        store->ops->read_documents(store, &notes, any_document, NULL, &err),
    };
    for (size_t i = 0; i < COUNT(results); i++) {
        if (results[i] < 0) {
            return results[i];
        }
    }
    return 0;
}

static void assert_found_out(const char *sql)
{
    struct test_place place = make_store();
    damage(&place, sql);
    struct store *store = open_store(&place, false);
    int r = read_all(store);
    if (r != RONDO_ERR_CORRUPT) {
        fail_msg("%d for: %s", r, sql);
    }
    store_close(store);
    lose(&place);
}

TEST(an_undamaged_store_is_read)
{
    struct test_place place = make_store();
    damage(&place, LOOSE);
    struct store *store = open_store(&place, false);
    assert_int_equal(read_all(store), 0);
    store_close(store);
    lose(&place);
}

TEST(values_out_of_range_are_found_out)
{
    static const char *const sql[] = {
        "UPDATE runs SET status = 99",
        "UPDATE runs SET status = -1",
        "UPDATE runs SET epoch = -1",
        "UPDATE runs SET epoch = 9223372036854775807",
        "UPDATE runs SET last_seq = -5",
        "UPDATE runs SET created_ns = -9223372036854775808",
        "UPDATE runs SET tokens = -9223372036854775808",
        "UPDATE runs SET is_paused = 3",
        "UPDATE runs SET conditions_met = 4294967296",
        "UPDATE runs SET id = 'x'",
        "UPDATE runs SET id = id || 'x'",
        "UPDATE runs SET id = upper(id)",
        "UPDATE runs SET agent_id = ''",
        "UPDATE runs SET agent_id = printf('%.*c', 129, 'a')",
        "UPDATE runs SET agent_id = 'a' || char(0) || 'b'",
        "UPDATE runs SET owner = printf('%.*c', 256, 'o')",
        "UPDATE events SET time_ns = -1 WHERE seq = 2",
        "UPDATE events SET seq = -2 WHERE seq = 2",
        "UPDATE events SET seq = 9 WHERE seq = 2",
        "UPDATE events SET type = '' WHERE seq = 2",
        "UPDATE events SET type = printf('%.*c', 64, 't') WHERE seq = 2",
        "UPDATE events SET data = '' WHERE seq = 2",
        "UPDATE events SET data = '[]' WHERE seq = 2",
        "UPDATE events SET data = '{}' || char(10) || '{}' WHERE seq = 2",
        "UPDATE events SET data = '{}' || char(0) || '{}' WHERE seq = 2",
        "UPDATE events SET data = printf('{%.*c}', 16777216, ' ') WHERE seq = 2",
        "UPDATE checkpoints SET number = -1",
        "UPDATE checkpoints SET state_size = 67108865",
        "UPDATE checkpoints SET state_size = -1",
        "UPDATE checkpoints SET sha256 = x'00'",
        "UPDATE checkpoints SET format = -1",
        "UPDATE checkpoints SET is_packed = 7",
        "UPDATE letters SET kind = ''",
        "UPDATE letters SET time_ns = -1",
        "UPDATE policy_changes SET digest = 'x'",
        "UPDATE policy_changes SET source = ''",
        "UPDATE policy_changes SET number = -1",
        "UPDATE documents SET data = 'no JSON'",
        "UPDATE documents SET data = ''",
        "UPDATE documents SET version = 0",
        "UPDATE documents SET updated_ns = -1",
    };
    for (size_t i = 0; i < COUNT(sql); i++) {
        assert_found_out(sql[i]);
    }
}

TEST(values_of_other_types_are_found_out)
{
    static const char *const sql[] = {
        LOOSE "UPDATE runs SET id = NULL",
        LOOSE "UPDATE runs SET agent_id = NULL",
        LOOSE "UPDATE runs SET owner = x'00ff'",
        LOOSE "UPDATE runs SET status = 'running'",
        LOOSE "UPDATE runs SET iteration = 1.5",
        LOOSE "UPDATE runs SET last_seq = NULL",
        LOOSE "UPDATE events SET type = x'ff' WHERE seq = 2",
        LOOSE "UPDATE events SET data = NULL WHERE seq = 2",
        LOOSE "UPDATE events SET data = x'7b7d' WHERE seq = 2",
        LOOSE "UPDATE events SET time_ns = 'now' WHERE seq = 2",
        LOOSE "UPDATE checkpoints SET sha256 = NULL",
        LOOSE "UPDATE checkpoints SET state = 'text'",
        LOOSE "UPDATE checkpoints SET fold = x'7b7d'",
        LOOSE "UPDATE checkpoints SET conditions = x'00'",
        LOOSE "UPDATE letters SET kind = NULL",
        LOOSE "UPDATE letters SET data = x'00'",
        LOOSE "UPDATE policy_changes SET how = NULL",
        LOOSE "UPDATE documents SET data = NULL",
        LOOSE "UPDATE documents SET version = 'one'",
    };
    for (size_t i = 0; i < COUNT(sql); i++) {
        assert_found_out(sql[i]);
    }
}

struct listed_runs {
    size_t good;
    size_t damaged;
    size_t named; /* of these */
};

static bool count_good(const struct store_run *run, void *context)
{
    struct listed_runs *listed = context;
    assert_string_not_equal(run->id, RUN_A);
    listed->good++;
    return true;
}

static void count_damaged(const struct store_damaged_run *damaged, void *context)
{
    struct listed_runs *listed = context;
    listed->damaged++;
    if (damaged->id != NULL) {
        assert_string_equal(damaged->id, RUN_A);
        listed->named++;
    }
    assert_non_null(strstr(damaged->detail, "is damaged"));
}

static void assert_listed(struct store *store, struct store_run_query query,
                          struct listed_runs wanted)
{
    struct listed_runs listed = {0};
    struct rondo_error err = {0};
    query.damaged = count_damaged;
    assert_int_equal(store->ops->list_runs(store, &query, count_good, &listed, &err), 0);
    assert_int_equal(listed.good, wanted.good);
    assert_int_equal(listed.damaged, wanted.damaged);
    assert_int_equal(listed.named, wanted.named);
}

TEST(other_runs_are_listed_beside_a_damaged_one)
{
    static const struct {
        const char *sql;
        bool is_named;
    } cases[] = {
        {"UPDATE runs SET status = 99 WHERE agent_id = 'agent'", true},
        {"UPDATE runs SET created_ns = -7 WHERE agent_id = 'agent'", true},
        {"UPDATE runs SET id = 'x' || char(27) WHERE agent_id = 'agent'", false},
        {LOOSE "UPDATE runs SET id = NULL, tokens = 'many' WHERE agent_id = 'agent'", false},
        {LOOSE "UPDATE runs SET owner = NULL WHERE agent_id = 'agent'", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct test_place place = make_store();
        struct store *store = open_store(&place, false);
        test_create(store, RUN_B, "other", false);
        test_create(store, "01900000-0000-7000-8000-00000000000c", "third", false);
        store_close(store);
        damage(&place, cases[i].sql);
        store = open_store(&place, false);
        for (int order = 0; order < STORE_ORDER_COUNT; order++) {
            const struct store_run_query query = {.order = (enum store_run_order)order};
            assert_listed(store, query, (struct listed_runs){2, 1, cases[i].is_named});
        }
        const struct store_run_query all = {0};
        struct listed_runs listed = {0};
        assert_int_equal(store->ops->list_runs(store, &all, count_good, &listed, NULL),
                         RONDO_ERR_CORRUPT);
        store_close(store);
        lose(&place);
    }
}

TEST(damaged_runs_count_against_the_limit)
{
    struct test_place place = make_store();
    struct store *store = open_store(&place, false);
    test_create(store, RUN_B, "other", false);
    store_close(store);
    damage(&place, "UPDATE runs SET warnings = -1 WHERE agent_id = 'agent'");
    store = open_store(&place, false);
    const struct store_run_query one = {.limit = 1, .is_ascending = true};
    assert_listed(store, one, (struct listed_runs){0, 1, 1});
    const struct store_run_query two = {.limit = 2, .is_ascending = true};
    assert_listed(store, two, (struct listed_runs){1, 1, 1});
    store_close(store);
    lose(&place);
}

struct read_position {
    uint64_t position;
    size_t of_a;
    size_t of_b;
};

static bool note_position(const struct store_event *event, void *context)
{
    struct read_position *read = context;
    assert_true(event->position > read->position);
    read->position = event->position;
    read->of_a += strcmp(event->run_id, RUN_A) == 0 ? 1 : 0;
    read->of_b += strcmp(event->run_id, RUN_B) == 0 ? 1 : 0;
    return true;
}

/** Read what all runs have in pages of a size. */
static void assert_read(struct store *store, uint32_t page, size_t of_a, size_t of_b)
{
    struct read_position read = {0};
    size_t before;
    do {
        before = read.of_a + read.of_b;
        assert_int_equal(
            store->ops->read_events(store, NULL, read.position, page, note_position, &read, NULL),
            0);
        assert_true(page == 0 || read.of_a + read.of_b - before <= page);
    } while (read.of_a + read.of_b > before);
    assert_int_equal(read.of_a, of_a);
    assert_int_equal(read.of_b, of_b);
}

TEST(damaged_events_do_not_hide_those_of_other_runs)
{
    static const struct {
        const char *sql;
        size_t of_a;
    } cases[] = {
        {"UPDATE events SET data = '[]' WHERE seq BETWEEN 2 AND 4", 2},
        {"UPDATE events SET type = '' WHERE seq < 5", 1},
        {LOOSE "UPDATE events SET time_ns = 'now', data = NULL", 0},
        {"UPDATE runs SET id = 'nothing'", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct test_place place = make_store();
        damage(&place, cases[i].sql);
        struct store *store = open_store(&place, false);
        test_create(store, RUN_B, "other", false);
        for (uint64_t seq = 1; seq <= 3; seq++) {
            test_append(store, RUN_B, seq, "{}");
        }
        assert_read(store, 0, cases[i].of_a, 3);
        assert_read(store, 1, cases[i].of_a, 3);
        assert_read(store, 2, cases[i].of_a, 3);
        store_close(store);
        lose(&place);
    }
}

/** Garbage collection and reading end whatever the chain of events looks like. */
TEST(chains_without_end_end)
{
    static const char *const sql[] = {
        "UPDATE events SET previous = position",
        "UPDATE events SET previous = position + 1",
        "UPDATE events SET position = 0, previous = 0 WHERE seq = 1;"
        "UPDATE runs SET last_position = 0",
        "UPDATE events SET position = -5, previous = -5 WHERE seq = 1;"
        "UPDATE runs SET last_position = -5",
        "UPDATE events SET previous = (SELECT max(position) FROM events)",
        "UPDATE checkpoints SET previous = key",
        "DELETE FROM marks; INSERT INTO marks VALUES (1, 3, 1), (1, 4, -1)",
    };
    for (size_t i = 0; i < COUNT(sql); i++) {
        struct test_place place = make_store();
        damage(&place, sql[i]);
        damage(&place, "UPDATE runs SET ended_ns = 5, owner = ''");
        struct store *store = open_store(&place, false);
        int r = read_all(store);
        assert_true(r == 0 || r == RONDO_ERR_CORRUPT);
        struct store_gc_request request = {.ended_before_ns = INT64_MAX};
        struct store_gc_result result = {0};
        assert_int_equal(store->ops->gc(store, &request, &result, NULL), 0);
        assert_int_equal(result.runs, 1);
        store_close(store);
        lose(&place);
    }
}

TEST(what_a_file_brings_along_is_not_executed)
{
    struct test_place place = make_store();
    damage(&place, "CREATE TRIGGER t AFTER INSERT ON letters BEGIN"
                   " UPDATE runs SET agent_id = 'mallory'; END;");
    struct store *store = open_store(&place, false);
    assert_int_equal(store->ops->post(store, RUN_A, "stop", "{}", NULL), 0);
    struct store_run run = test_get(store, RUN_A);
    assert_string_equal(run.agent_id, "agent");
    store_close(store);
    damage(&place, "DROP TRIGGER t; ALTER TABLE documents RENAME TO d;"
                   "CREATE VIEW documents AS SELECT * FROM d");
    store = open_store(&place, false);
    assert_true(read_all(store) < 0);
    store_close(store);
    lose(&place);
}
