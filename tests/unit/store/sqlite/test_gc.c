// SPDX-License-Identifier: Apache-2.0
/* Garbage collection of the SQLite back end: what it costs, what it survives, what it gives back.
 */
#include "../support.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/sqlite.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

static int64_t query_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static void end_run(struct store *store, const char *run_id, unsigned events)
{
    char data[256];
    snprintf(data, sizeof(data), "{\"text\":\"%0200d\"}", 0);
    test_create(store, run_id, "agent", false);
    struct store_event all[64];
    for (size_t i = 0; i < COUNT(all); i++) {
        all[i] = test_event(data);
    }
    for (unsigned done = 0; done < events;) {
        unsigned count = events - done < 64 ? events - done : 64;
        struct store_batch batch = test_batch(run_id, 1, done + 1, all, count);
        done += count;
        if (done == events) {
            batch.summary.status = RONDO_COMPLETED;
            batch.lease_ns = 0;
        }
        test_commit(store, &batch);
    }
}

static void make_ended_runs(struct store *store, unsigned first, unsigned count, unsigned events)
{
    for (unsigned i = first; i < first + count; i++) {
        char id[ID_SIZE];
        snprintf(id, sizeof(id), "01900000-0000-7000-8000-%012u", i);
        end_run(store, id, events);
    }
}

static struct store_gc_result collect(struct store *store)
{
    struct store_gc_request request = {.ended_before_ns = INT64_MAX};
    struct store_gc_result result;
    struct rondo_error err = {0};
    assert_int_equal(store->ops->gc(store, &request, &result, &err), 0);
    return result;
}

/** What SQLite did for the writer's statements so far. */
static int64_t count_steps(struct store *base)
{
    struct sqlite_store *store = (struct sqlite_store *)base;
    int64_t steps = 0;
    for (size_t i = 0; i < SQL_COUNT; i++) {
        sqlite3_stmt *statement = store->writer.statements[i];
        steps +=
            statement == NULL ? 0 : sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    }
    return steps;
}

static int64_t steps_to_collect(struct store *store, unsigned first, unsigned count)
{
    make_ended_runs(store, first, count, 4);
    int64_t before = count_steps(store);
    struct store_gc_result result = collect(store);
    assert_int_equal(result.runs, count);
    assert_int_equal(result.events, count * 4);
    return count_steps(store) - before;
}

#define GC_TEST(name) TEST_WITH(name, test_place_make, test_place_remove)

GC_TEST(collecting_takes_work_in_proportion_to_what_is_deleted)
{
    struct store *store = test_place_open(*state);
    make_ended_runs(store, 1, 1, 1);
    collect(store); /* Prepares the statements. */
    test_create(store, RUN_A, "agent", false);
    for (uint64_t seq = 1; seq <= 2000; seq++) {
        test_append(store, RUN_A, seq, "{}"); /* what lives beside it */
    }
    int64_t few = steps_to_collect(store, 1000, 50);
    int64_t many = steps_to_collect(store, 2000, 400);
    assert_true(many < few * 10); /* 8 times the runs */
    store_close(store);
}

GC_TEST(a_large_run_is_deleted_in_several_transactions)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    end_run(store, RUN_A, 5000);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    int64_t before = query_number(db, "PRAGMA data_version");
    assert_int_equal(collect(store).events, 5000);
    assert_int_not_equal(query_number(db, "PRAGMA data_version"), before);
    assert_int_equal(query_number(db, "SELECT count(*) FROM events WHERE run <> 0"), 0);
    assert_int_equal(query_number(db, "SELECT count(*) FROM marks"), 0);
    sqlite3_close(db);
    store_close(store);
}

/** As a collection leaves it that was killed between two transactions. */
GC_TEST(a_run_whose_deletion_has_begun_has_no_events_and_is_finished_later)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    end_run(store, RUN_A, 100);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "DELETE FROM events WHERE seq > 40;"
                                  "UPDATE runs SET last_seq = 0, last_position ="
                                  " (SELECT max(position) FROM events)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(test_count_events(store, RUN_A), 0);
    struct store_gc_result result = collect(store);
    assert_int_equal(result.runs, 1);
    assert_int_equal(result.events, 40);
    assert_int_equal(query_number(db, "SELECT count(*) FROM events WHERE run <> 0"), 0);
    sqlite3_close(db);
    store_close(store);
}

GC_TEST(a_damaged_chain_of_events_ends_the_deletion_of_its_run)
{
    static const char *const damages[] = {
        "UPDATE events SET previous = position WHERE seq = 3",
        "UPDATE events SET previous = position + 1 WHERE seq = 3",
        ("UPDATE events SET position = 0, previous = 0 WHERE seq = 1;"
         "UPDATE runs SET last_position = 0"),
        "UPDATE events SET previous = -7 WHERE seq = 3",
        "DELETE FROM events WHERE seq = 3",
        "UPDATE runs SET last_checkpoint_key = 77, last_checkpoint = 3",
    };
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    for (size_t i = 0; i < COUNT(damages); i++) {
        assert_int_equal(sqlite3_exec(db, "DELETE FROM events", NULL, NULL, NULL), SQLITE_OK);
        end_run(store, RUN_A, 6);
        assert_int_equal(sqlite3_exec(db, damages[i], NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(collect(store).runs, 1);
    }
    sqlite3_close(db);
    store_close(store);
}

GC_TEST(the_file_shrinks_while_nobody_holds_a_run)
{
    const struct test_place *place = *state;
    struct store *store = test_place_open(place);
    make_ended_runs(store, 1, 40, 600);
    test_create(store, RUN_A, "agent", false);
    struct store_gc_result held = collect(store);
    assert_int_equal(held.runs, 40);
    assert_int_equal(held.freed_bytes, 0);
    assert_true(held.unused_bytes > 1024 * 1024);
    struct store_batch release = test_batch(RUN_A, 1, 1, NULL, 0);
    release.lease_ns = 0;
    test_commit(store, &release);
    struct store_gc_result result = collect(store);
    assert_int_equal(result.runs, 0);
    assert_true(result.freed_bytes > 1024 * 1024);
    assert_int_equal(result.unused_bytes, 0);
    struct stat status;
    assert_int_equal(stat(place->path, &status), 0);
    assert_true(status.st_size < 1024 * 1024);
    assert_string_equal(test_get(store, RUN_A).id, RUN_A);
    make_ended_runs(store, 1, 1, 1); /* and it can still be written to */
    store_close(store);
}

int main(void)
{
    return test_run(NULL, NULL);
}
