// SPDX-License-Identifier: Apache-2.0
/* Servers, databases and stores that are not what they should be. */
#include "../support.h"
#include "by_hand.h"
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

/** Expect that opening fails. */
static void expect_failure(const char *address, int code, const char *message)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    int r = try_open(address, &store, &err);
    if (r != code || strstr(err.message, message) == NULL) {
        fail_msg("%s: %d %s", address, r, err.message);
    }
    assert_null(strstr(err.message, "only-for-tests"));
    assert_null(strstr(err.message, "not-the-one"));
}

SERVER_TEST(problems_of_a_server_are_reported)
{
    char address[512];
    expect_failure("postgresql://127.0.0.1:1/x?user=u", RONDO_ERR_IO, "cannot connect to");
    expect_failure("postgresql://u:only-for-tests@127.0.0.1:no/x", RONDO_ERR_INVALID,
                   "cannot be understood");
    expect_failure("postgresql:///x?nothing=1", RONDO_ERR_INVALID, "cannot be understood");
    const char *tcp = postgres_command(server, "tcp a");
    const char *at = strstr(tcp, "only-for-tests");
    assert_non_null(at);
    snprintf(address, sizeof(address), "%.*snot-the-one%s", (int)(at - tcp), tcp,
             at + strlen("only-for-tests"));
    expect_failure(address, RONDO_ERR_DENIED, "password authentication failed");
    snprintf(address, sizeof(address), "%s&dbname=none", postgres_address(server));
    expect_failure(address, RONDO_ERR_NOT_FOUND, "create it");
    snprintf(address, sizeof(address), "%s&options=-cdefault_transaction_read_only%%3Don",
             postgres_address(server));
    expect_failure(address, RONDO_ERR_IO, "can be written to");
}

SERVER_TEST(problems_of_a_database_are_reported)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    const struct store_postgres_options options = {.address = postgres_address(server),
                                                   .schema = schema};
    assert_int_equal(store_postgres_open(&options, &store, &err), RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "has no store"));
    char sql[96];
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s; CREATE TABLE x ()", schema);
    perform(sql);
    expect_failure(postgres_address(server), RONDO_ERR_INVALID, "another program");
    perform("DROP TABLE x; CREATE TABLE meta (version bigint)");
    expect_failure(postgres_address(server), RONDO_ERR_INVALID, "another program");
    perform("DROP TABLE meta");
    store_close(open_store());
    perform("UPDATE meta SET version = version + 1, oldest = version + 1");
    expect_failure(postgres_address(server), RONDO_ERR_VERSION, "install a newer Rondo");
    perform("UPDATE meta SET version = 9");
    expect_failure(postgres_address(server), RONDO_ERR_VERSION, "development version");
    perform("DELETE FROM meta");
    expect_failure(postgres_address(server), RONDO_ERR_INVALID, "has no row");
}

/** Replace a function by one that does nothing and gives the same columns. */
static void ruin(const char *name, const char *body)
{
    char sql[512];
    snprintf(sql, sizeof(sql),
             "DO $x$ DECLARE d text; BEGIN"
             " SELECT regexp_replace(pg_get_functiondef(p.oid), 'AS \\$function\\$.*',"
             " 'AS $y$ %s $y$') INTO d FROM pg_proc p WHERE p.proname = '%s'"
             " AND p.pronamespace = '%s'::regnamespace; EXECUTE d; END $x$",
             body, name, schema);
    perform(sql);
}

SERVER_TEST(an_answer_that_a_function_of_rondo_does_not_give_is_damage)
{
    struct store *store = open_store();
    struct rondo_error err = {0};
    test_create(store, RUN_A, "agent", false);
    const struct store_event event = {.type = "x", .data = "{}", .data_len = 2, .time_ns = 1};
    const struct store_batch batch = {.run_id = RUN_A,
                                      .epoch = 1,
                                      .first_seq = 1,
                                      .events = &event,
                                      .event_count = 1,
                                      .lease_ns = NS_PER_S};
    const struct store_batch *batches = &batch;
    struct store_commit_result result = {0};
    ruin("commit_batch", "BEGIN outcome := NULL; END");
    assert_int_equal(store->ops->commit(store, &batches, 1, &result, &err), RONDO_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "restore a backup"));
    const struct store_claim claim = {.owner = "b", .lease_ns = NS_PER_S};
    struct store_claim_result claimed = {0};
    ruin("claim_run", "BEGIN RETURN; END");
    assert_int_equal(store->ops->claim_run(store, RUN_A, &claim, &claimed, &err),
                     RONDO_ERR_CORRUPT);
    uint64_t position;
    perform("DELETE FROM meta");
    assert_int_equal(store->ops->last_position(store, &position, &err), RONDO_ERR_CORRUPT);
    store_close(store);
}

static bool pass_memory(const struct store_memory *memory, void *context)
{
    (void)memory;
    (void)context;
    return true;
}

SERVER_TEST(functions_of_other_users_do_not_take_part)
{
    perform("CREATE FUNCTION public.cardinality(bigint[]) RETURNS int LANGUAGE sql AS 'SELECT 1/0';"
            "CREATE FUNCTION public.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE sql AS"
            " 'SELECT 1::bigint/0';"
            "CREATE FUNCTION public.ruin(bigint, int) RETURNS bigint LANGUAGE sql AS"
            " 'SELECT 1::bigint/0';"
            "CREATE FUNCTION public.ruin(numeric, int) RETURNS numeric LANGUAGE sql AS"
            " 'SELECT 1::numeric/0';"
            "CREATE OPERATOR public.& (LEFTARG = bigint, RIGHTARG = int, FUNCTION = public.ruin);"
            "CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = int, FUNCTION = public.ruin)");
    struct store *store = open_store();
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    const struct store_run_query runs = {.statuses = 1U << RONDO_RUNNING};
    struct store_run_counts counts = {0};
    assert_int_equal(store->ops->count_runs(store, &runs, &counts, NULL), 0);
    assert_int_equal(counts.by_status[RONDO_RUNNING], 1);
    const struct store_memory_query memories = {.kinds = 1};
    assert_int_equal(store->ops->read_memories(store, &memories, pass_memory, NULL, NULL), 0);
    store_close(store);
    perform("DROP FUNCTION public.cardinality(bigint[]), public.unnest(bigint[]),"
            " public.ruin(bigint, int), public.ruin(numeric, int) CASCADE");
}

static bool pass_event(const struct store_event *event, void *context)
{
    (void)context;
    (void)event;
    return true;
}

SERVER_TEST(damage_is_reported)
{
    struct store *store = open_store();
    struct store_health health;
    test_create(store, RUN_A, "agent", false);
    test_append(store, RUN_A, 1, "{}");
    test_append(store, RUN_A, 2, "{}");
    assert_int_equal(store->ops->health(store, &health, NULL), 0);
    assert_true(health.is_intact);
    perform("DELETE FROM events WHERE seq = 1");
    assert_int_equal(store->ops->health(store, &health, NULL), 0);
    assert_false(health.is_intact);
    assert_non_null(strstr(health.problem, RUN_A));
    assert_int_equal(store->ops->read_events(store, RUN_A, 0, 0, pass_event, NULL, NULL),
                     RONDO_ERR_CORRUPT);
    perform("UPDATE runs SET status = 99");
    struct store_run run;
    assert_int_equal(store->ops->get_run(store, RUN_A, &run, NULL), RONDO_ERR_CORRUPT);
    perform("DROP TABLE letters");
    assert_int_equal(store->ops->read_mail(store, RUN_A, NULL, NULL, NULL, NULL),
                     RONDO_ERR_CORRUPT);
    store_close(store);
}

int main(void)
{
    return by_hand_main();
}
