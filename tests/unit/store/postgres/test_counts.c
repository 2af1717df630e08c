// SPDX-License-Identifier: Apache-2.0
/* Counts of runs that are kept, and lists of many runs. */
#include "../support.h"
#include "by_hand.h"
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Counts that differ from those of the runs themselves. */
#define WRONG_COUNTS                                                                            \
    "SELECT count(*) FROM (SELECT agent_id, status, is_paused, is_top, sum(number) AS n FROM"   \
    " (SELECT * FROM run_counts UNION ALL SELECT * FROM run_count_changes) x GROUP BY 1, 2, 3," \
    " 4) c FULL JOIN (SELECT agent_id, status, pause > 0 AS is_paused, parent = '' AS is_top,"  \
    " count(*) AS n FROM runs GROUP BY 1, 2, 3, 4) r USING (agent_id, status, is_paused,"       \
    " is_top) WHERE coalesce(c.n, 0) <> coalesce(r.n, 0)"

/** Runs of which only one of both tables has what it should have. */
#define WRONG_ENDED                                                                           \
    "SELECT count(*) FROM (SELECT run, id, agent_id, parent, status, updated_ns, iteration,"  \
    " tokens, cost_micro, warnings FROM ended_runs) e FULL JOIN (SELECT key AS run, id, "     \
    "agent_id, parent, status, updated_ns, iteration, tokens, cost_micro, warnings FROM runs" \
    " WHERE status <> 0) r ON e = r WHERE e.run IS NULL OR r.run IS NULL"

static void assert_counts_right(void)
{
    assert_string_equal(perform(WRONG_COUNTS), "0");
    assert_string_equal(perform(WRONG_ENDED), "0");
}

/** Make runs by hand. @param agent an expression of i, which counts them from 1 */
static void make_runs(int count, const char *agent)
{
    char sql[1024];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO runs (id, agent_id, parent, is_exclusive, owner, epoch, claim,"
        " lease_until_ns, alive_ns, boot, alive_monotonic_ns, created_ns, updated_ns, ended_ns,"
        " status, iteration, iteration_limit, conditions_met, conditions_total, tokens,"
        " cost_micro, warnings, pause, last_seq, last_position, last_checkpoint) SELECT"
        " '01900000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'), %s, '', false, '', 1, 0, 0,"
        " 0, '', 0, i, i, i %% 3, i %% 3, i %% 7, 50, 0, 0, i * 7919 %% 1000, 0, 0, i %% 5 / 4,"
        " 0, 0, 0 FROM generate_series(1, %d::bigint) i",
        agent, count);
    perform(sql);
}

static uint64_t count_all(struct store *store, const struct store_run_query *query)
{
    struct store_run_counts counts = {0};
    uint64_t sum = 0;
    assert_int_equal(store->ops->count_runs(store, query, &counts, NULL), 0);
    for (int i = 0; i < RONDO_STATUS_COUNT; i++) {
        sum += counts.by_status[i];
    }
    return sum;
}

SERVER_TEST(counts_are_right_whatever_becomes_of_runs)
{
    struct store *store = open_store();
    make_runs(100, "'agent-' || i % 4");
    assert_counts_right();
    for (unsigned i = 1001; i < 1020; i++) {
        struct test_id id = test_id(i);
        test_create(store, id.text, "agent", false);
        struct store_batch batch = test_batch(id.text, 1, 1, NULL, 0);
        batch.summary.is_paused = i % 2 == 0;
        test_commit(store, &batch);
        batch.summary.status = i % 3 == 0 ? RONDO_COMPLETED : RONDO_RUNNING;
        batch.summary.tokens = i;
        test_commit(store, &batch);
        batch.summary.status = i % 9 == 0 ? RONDO_RUNNING : batch.summary.status;
        batch.summary.cost_micro = i;
        test_commit(store, &batch);
    }
    assert_counts_right();
    perform("SELECT fold_counts()");
    assert_counts_right();
    assert_string_equal(perform("SELECT count(*) FROM run_count_changes"), "0");
    perform("SELECT collect(NULL, 9e18::bigint, 1000)");
    perform("DELETE FROM runs WHERE agent_id = 'agent-1'");
    perform("UPDATE runs SET agent_id = 'other', parent = id WHERE agent_id = 'agent-2'");
    assert_counts_right();
    perform("SELECT fold_counts()");
    assert_counts_right();
    assert_string_equal(perform("SELECT count(*) FROM run_counts WHERE agent_id = 'agent-1'"), "0");
    perform("TRUNCATE runs");
    assert_counts_right();
    assert_int_equal(count_all(store, &(struct store_run_query){0}), 0);
    store_close(store);
}

SERVER_TEST(counts_are_folded_by_themselves)
{
    store_close(open_store());
    make_runs(3000, "'agent'");
    perform("DO $$ BEGIN FOR i IN 1..3000 LOOP UPDATE runs SET status = 9 - status WHERE key = i;"
            " END LOOP; END $$");
    assert_counts_right();
    /* Of 6000 changes; that none of 3000 draws folds happens once in 100,000 times. */
    assert_int_not_equal(strtol(perform("SELECT count(*) FROM run_count_changes"), NULL, 10), 6001);
}

SERVER_TEST(a_transaction_that_is_open_is_not_waited_for_and_counted_when_it_ends)
{
    struct store *store = open_store();
    const struct store_run_query all = {0};
    PGconn *other = PQconnectdb(postgres_address(server));
    char sql[64];
    make_runs(10, "'agent'");
    snprintf(sql, sizeof(sql), "SET search_path TO %s", schema);
    PQclear(PQexec(other, sql));
    PQclear(PQexec(other, "BEGIN; DELETE FROM runs WHERE key <= 3; SELECT fold_counts()"));
    perform("DELETE FROM runs WHERE key = 4");
    perform("SELECT fold_counts()");
    assert_int_equal(count_all(store, &all), 9);
    PQclear(PQexec(other, "COMMIT"));
    assert_int_equal(count_all(store, &all), 6);
    perform("SELECT fold_counts()");
    assert_int_equal(count_all(store, &all), 6);
    assert_counts_right();
    PQfinish(other);
    store_close(store);
}

/* A commit then writes to no index. The condition of an index counts, too. */
SERVER_TEST(no_index_has_a_column_that_each_commit_changes)
{
    store_close(open_store());
    assert_string_equal(
        perform("SELECT coalesce(string_agg(DISTINCT a.attname, ' '), '') FROM pg_index i JOIN"
                " pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid JOIN"
                " pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid WHERE"
                " i.indrelid = 'runs'::regclass AND a.attname IN ('lease_until_ns', 'alive_ns',"
                " 'alive_monotonic_ns', 'updated_ns', 'iteration', 'tokens', 'cost_micro',"
                " 'warnings', 'pause', 'last_seq', 'last_position', 'last_checkpoint',"
                " 'conditions_met')"),
        "");
}

struct ends_of_ids {
    char text[8];
    size_t count;
};

static bool note_run(const struct store_run *run, void *context)
{
    struct ends_of_ids *digits = context;
    digits->text[digits->count++] = run->id[strlen(run->id) - 1];
    return digits->count < sizeof(digits->text) - 1;
}

SERVER_TEST(a_search_finds_more_agents_than_it_can_name)
{
    struct store *store = open_store();
    struct ends_of_ids found = {0};
    make_runs(1003, "'agent-' || i");
    const struct store_run_query query = {.search = "AGENT-", .limit = 3};
    assert_int_equal(store->ops->list_runs(store, &query, note_run, &found, NULL), 0);
    assert_string_equal(found.text, "ba9");
    assert_int_equal(count_all(store, &query), 1003);
    found = (struct ends_of_ids){0};
    const struct store_run_query one = {.search = "agent-1002", .order = STORE_BY_TOKENS};
    assert_int_equal(store->ops->list_runs(store, &one, note_run, &found, NULL), 0);
    assert_string_equal(found.text, "a");
    assert_int_equal(count_all(store, &one), 1);
    store_close(store);
}

int main(void)
{
    return by_hand_main();
}
