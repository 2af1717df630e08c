// SPDX-License-Identifier: Apache-2.0
/* Several commits of one process at the same time, by the writer, and statements that are prepared.
 */
#include "../support.h"
#include "base/clock.h"
#include "by_hand.h"
#include "store/postgres/internal.h"
#include "store/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** One thread that commits to a run of its own, one event after the other. */
struct committing {
    struct writer *writer;
    struct test_id id;
    uint64_t count;
    pthread_t thread;
    int code;
    uint64_t position; /**< of the last one */
    bool has_gone_back;
    struct rondo_error err;
};

static struct committing make_committing(struct writer *writer, unsigned number, uint64_t count)
{
    struct committing committing = {.writer = writer, .id = test_id(number), .count = count};
    test_create(writer_store(writer), committing.id.text, "agent", false);
    return committing;
}

static void *commit_all(void *argument)
{
    struct committing *committing = argument;
    struct store_event event = test_event("{}");
    for (uint64_t seq = 1; seq <= committing->count && committing->code == 0; seq++) {
        struct store_commit_result result = {0};
        struct store_batch batch = test_batch(committing->id.text, 1, seq, &event, 1);
        committing->code = writer_commit(committing->writer, &batch, &result, &committing->err);
        committing->has_gone_back |= result.position <= committing->position;
        committing->position = result.position;
    }
    return NULL;
}

static void start(struct committing *committing)
{
    assert_int_equal(pthread_create(&committing->thread, NULL, commit_all, committing), 0);
}

static void join(struct committing *committing)
{
    assert_int_equal(pthread_join(committing->thread, NULL), 0);
    assert_string_equal(committing->err.message, "");
    assert_int_equal(committing->code, 0);
    assert_false(committing->has_gone_back);
}

/** Lock the row of a run, and wait until a commit waits for it. */
static void hold_up(struct committing *committing)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT key FROM runs WHERE id = '%s' FOR UPDATE",
             committing->id.text);
    perform("BEGIN");
    perform(sql);
    start(committing);
    while (strcmp(perform("SELECT count(*) FROM pg_locks WHERE NOT granted"), "0") == 0) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
}

SERVER_TEST(a_run_that_is_held_up_does_not_hold_up_others)
{
    struct store *store = open_store();
    struct writer *writer = writer_new(store);
    struct committing slow = make_committing(writer, 1, 1);
    struct committing quick = make_committing(writer, 2, 20);
    hold_up(&slow);
    start(&quick);
    join(&quick);
    assert_int_equal(test_count_events(store, slow.id.text), 0);
    perform("COMMIT");
    join(&slow);
    assert_int_equal(test_count_events(store, slow.id.text), 1);
    writer_free(writer);
    store_close(store);
}

/** Seen in the order of positions, while others commit. */
struct followed_events {
    uint64_t position;
    size_t count;
};

static bool note_event(const struct store_event *event, void *context)
{
    struct followed_events *seen = context;
    assert_true(event->position > seen->position);
    seen->position = event->position;
    seen->count++;
    return true;
}

SERVER_TEST(who_follows_all_runs_misses_nothing_of_several_commits_at_the_same_time)
{
    struct store *stores[2] = {open_store(), open_store()};
    struct writer *writers[2] = {writer_new(stores[0]), writer_new(stores[1])};
    struct committing committings[24];
    struct followed_events seen = {0};
    for (unsigned i = 0; i < 24; i++) {
        committings[i] = make_committing(writers[i % 2], i, 20);
    }
    for (unsigned i = 0; i < 24; i++) {
        start(&committings[i]);
    }
    while (seen.count < 24 * 20) {
        writer_wait(writers[0], seen.position, NS_PER_S, NULL);
        assert_int_equal(
            stores[0]->ops->read_events(stores[0], NULL, seen.position, 0, note_event, &seen, NULL),
            0);
    }
    for (unsigned i = 0; i < 24; i++) {
        join(&committings[i]);
        assert_int_equal(test_count_events(stores[0], committings[i].id.text), 20);
    }
    assert_int_equal(seen.count, 24 * 20);
    for (size_t i = 0; i < 2; i++) {
        writer_free(writers[i]);
        store_close(stores[i]);
    }
}

SERVER_TEST(commits_do_with_one_connection_when_the_server_gives_no_other)
{
    char sql[192];
    char address[512];
    snprintf(sql, sizeof(sql),
             "CREATE ROLE %s_few LOGIN CONNECTION LIMIT 2; DO $$ BEGIN EXECUTE format('GRANT CREATE"
             " ON DATABASE %%I TO %s_few', current_database()); END $$",
             schema, schema);
    perform(sql);
    snprintf(address, sizeof(address), "postgresql://%s_few%s", schema,
             strchr(postgres_address(server), '@'));
    struct store *store = open_at(address); /* The first connection; test_create takes another. */
    struct writer *writer = writer_new(store);
    struct committing slow = make_committing(writer, 1, 1);
    struct committing other = make_committing(writer, 2, 1);
    hold_up(&slow);
    start(&other);
    perform("COMMIT");
    join(&other);
    join(&slow);
    writer_free(writer);
    store_close(store);
}

/* ---- A standby ------------------------------------------------------------------------------- */

/** Until a commit waits for the standby; then `action` is done to its session. */
static void wait_for_waiting(struct postgres *own, const char *action)
{
    while (strcmp(postgres_command(own,
                                   "sql a SELECT count(%s) FROM pg_stat_activity WHERE"
                                   " wait_event = 'SyncRep'",
                                   action),
                  "0") == 0) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
}

TEST(a_commit_whose_wait_for_the_standby_was_cancelled_is_no_success)
{
    struct postgres *own = postgres_new(NULL);
    assert_non_null(own);
    struct store *store = open_at(postgres_address(own));
    struct writer *writer = writer_new(store);
    struct committing committing = make_committing(writer, 1, 1);
    struct committing again = committing;
    postgres_command(own, "standby b a sync");
    postgres_command(own, "pause b");
    start(&committing);
    wait_for_waiting(own, "pg_cancel_backend(pid)");
    assert_int_equal(pthread_join(committing.thread, NULL), 0);
    assert_int_equal(committing.code, RONDO_ERR_IO);
    assert_non_null(strstr(committing.err.message, "ended the wait for the standby"));
    start(&again); /* It is recognised, and waits for the standby all the same. */
    wait_for_waiting(own, "pid");
    postgres_command(own, "continue b");
    join(&again);
    assert_int_equal(test_count_events(store, committing.id.text), 1);
    writer_free(writer);
    store_close(store);
    postgres_free(own);
}

/* ---- Prepared statements ----------------------------------------------------------------------
 */

static struct postgres_connection *connection_of(struct store *store, unsigned number)
{
    return &((struct postgres_store *)store)->connections[number];
}

/** Perform statements in the session of a store's connection. @return the first value */
static long perform_in(struct store *store, unsigned number, const char *sql)
{
    struct postgres_store *postgres = (struct postgres_store *)store;
    PGresult *result = NULL;
    struct postgres_connection *connection = connection_of(store, number);
    assert_non_null(connection->db);
    assert_int_equal(postgres_script(connection, sql, &result, "test", NULL), 0);
    long value = postgres->pq.ntuples(result) > 0
                     ? strtol(postgres->pq.getvalue(result, 0, 0), NULL, 10)
                     : -1;
    postgres->pq.clear(result);
    return value;
}

#define COUNT_PREPARED "SELECT count(*) FROM pg_prepared_statements"

static struct committing commit_some(struct store *store, unsigned number, uint64_t count)
{
    struct writer *writer = writer_new(store);
    struct committing committing = make_committing(writer, number, count);
    commit_all(&committing);
    assert_string_equal(committing.err.message, "");
    assert_int_equal(test_count_events(store, committing.id.text), count);
    writer_free(writer);
    return committing;
}

SERVER_TEST(a_statement_is_prepared_at_its_third_use)
{
    struct store *store = open_store();
    commit_some(store, 1, 2);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 0);
    commit_some(store, 2, 1);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 1);
    commit_some(store, 3, 20);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 1);
    store_close(store);
}

SERVER_TEST(what_a_session_has_forgotten_fails_no_commit_and_no_reader)
{
    struct store *store = open_store();
    struct store_run run;
    struct committing known = commit_some(store, 1, 10);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(store->ops->get_run(store, known.id.text, &run, NULL), 0);
    }
    assert_int_equal(perform_in(store, 0, "DEALLOCATE ALL; " COUNT_PREPARED), 0);
    assert_true(perform_in(store, 2, COUNT_PREPARED) > 0);
    assert_int_equal(perform_in(store, 2, "DEALLOCATE ALL; " COUNT_PREPARED), 0);
    assert_int_equal(store->ops->get_run(store, known.id.text, &run, NULL), 0);
    commit_some(store, 2, 10);
    commit_some(store, 3, 10);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 0);
    store_close(store);
}

SERVER_TEST(what_was_not_prepared_because_of_a_failure_before_is_prepared_later)
{
    struct store *store = open_store();
    struct committing known = commit_some(store, 1, 1);
    struct store_event event = test_event("{}");
    struct store_batch bad = test_batch(known.id.text, 1, 99, &event, 1);
    struct store_batch absent = test_batch(test_id(77).text, 1, 1, &event, 1);
    const struct store_batch *batches[] = {&bad, &absent}; /* The second and the third use. */
    struct store_commit_result results[2];
    assert_int_equal(store->ops->commit(store, batches, 2, results, NULL), RONDO_ERR_STATE);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 0);
    commit_some(store, 2, 4);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 1);
    assert_true(connection_of(store, 0)->keeps_session); /* Nothing had to be repeated. */
    store_close(store);
}

SERVER_TEST(a_table_that_a_migration_changes_fails_no_reader)
{
    struct store *store = open_store();
    struct store_run run;
    struct committing known = commit_some(store, 1, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(store->ops->get_run(store, known.id.text, &run, NULL), 0);
    }
    perform("ALTER TABLE runs ALTER boot TYPE varchar");
    assert_int_equal(store->ops->get_run(store, known.id.text, &run, NULL), 0);
    commit_some(store, 2, 4);
    store_close(store);
}

SERVER_TEST(behind_a_pooler_nothing_is_prepared)
{
    char address[512];
    snprintf(address, sizeof(address), "%s", postgres_command(server, "pooler a"));
    if (address[0] == '\0') {
        skip(); /* pgbouncer is not installed. */
    }
    struct store *store = open_at(address);
    commit_some(store, 1, 10);
    assert_false(connection_of(store, 0)->keeps_session);
    assert_int_equal(perform_in(store, 0, COUNT_PREPARED), 0);
    store_close(store);
}

int main(void)
{
    return by_hand_main();
}
