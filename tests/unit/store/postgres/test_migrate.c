// SPDX-License-Identifier: Apache-2.0
/*
 * Migrations of the PostgreSQL schema, from what the program of the version before made: its
 * schema.sql is kept as schema_<version>.sql.
 */
#include "../support.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/memory.h"
#include "by_hand.h"
#include "cutter.h"
#include "store/postgres/postgres.h"
#include "store/postgres/schema.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

static int migrate_at(const char *address, struct store **ret_store, struct rondo_error *err)
{
    const struct store_postgres_options options = {
        .address = address, .schema = schema, .may_migrate = true};
    return store_postgres_open(&options, ret_store, err);
}

static struct store *migrate(void)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    int r = migrate_at(postgres_address(server), &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    return store;
}

/** A schema.sql of an older version with the schema's name. @return owned */
static char *read_schema(const char *name)
{
    auto_free char *path = test_path(SOURCE_ROOT "/tests/unit/store/postgres", name);
    auto_close int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    auto_free char *sql = memory_new_zero(1, (size_t)status.st_size + 1);
    assert_int_equal(read(fd, sql, (size_t)status.st_size), (ssize_t)status.st_size);
    char quoted[24];
    snprintf(quoted, sizeof(quoted), "\"%s\"", schema);
    const struct postgres_store named = {.schema = quoted};
    return postgres_schema_fill(&named, sql);
}

/** A store of version 10 with a run that has an event, a document, a policy and a memory. */
static void make_version_10(void)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", schema);
    perform(sql);
    auto_free char *script = read_schema("schema_10.sql");
    perform(script);
    perform("SELECT create_run(NULL, NULL, '" RUN_A "', 'agent', '', false, 'old', 1000, '', 7, 0,"
            " 1, 5, 0, 0, 10, 20, 0, 0, ARRAY[1]::bigint[], ARRAY['test.event'],"
            " ARRAY['{\"a\":1}'::bytea]);"
            "SELECT change_documents(NULL, ARRAY[0]::bigint[], ARRAY['notes'], ARRAY['k'::bytea],"
            " ARRAY['{}'::bytea], ARRAY[-1]::bigint[]);"
            "SELECT record_policy(1, 'source', repeat('a', 64), 'set', 'ada', 'permit (...);');"
            "SELECT reserve_memories('agent', 1)");
}

/** Lines that say all that is in a schema, in place of whose name they have another. */
static void make_description(void)
{
    perform(
        "CREATE OR REPLACE FUNCTION pg_temp.description(s text) RETURNS SETOF text LANGUAGE sql"
        " SET search_path = pg_catalog AS $$ SELECT replace(replace(l, '\"' || s || '\"', '@'), s "
        "|| '.', '@.') FROM ("
        "SELECT concat_ws(' ', c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum),"
        " a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,"
        " a.attstorage, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid), a.attacl)"
        " AS l FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON"
        " d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relnamespace = s::regnamespace AND"
        " a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v')"
        " UNION ALL SELECT concat_ws(' ', relname, relkind, reloptions, relrowsecurity,"
        " relforcerowsecurity, relacl) FROM pg_class WHERE relnamespace = s::regnamespace"
        " UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = s"
        " UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))"
        " FROM pg_constraint WHERE connamespace = s::regnamespace"
        " UNION ALL SELECT concat_ws(' ', pg_get_functiondef(oid), proacl) FROM pg_proc"
        " WHERE pronamespace = s::regnamespace"
        " UNION ALL SELECT concat_ws(' ', tablename, policyname, cmd, roles, qual, with_check)"
        " FROM pg_policies WHERE schemaname = s"
        " UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c"
        " ON c.oid = t.tgrelid WHERE c.relnamespace = s::regnamespace AND NOT tgisinternal) x $$");
}

/** The first line that only one of two descriptions has; "" = they are equal. */
static const char *difference(const char *one, const char *other)
{
    char sql[400];
    snprintf(sql, sizeof(sql),
             "(SELECT '%s: ' || l FROM (SELECT pg_temp.description('%s') EXCEPT"
             " SELECT pg_temp.description('%s')) x (l)) UNION ALL (SELECT '%s: ' || l FROM (SELECT"
             " pg_temp.description('%s') EXCEPT SELECT pg_temp.description('%s')) x (l)) LIMIT 1",
             one, one, other, other, other, one);
    return perform(sql);
}

SERVER_TEST(a_migrated_store_has_the_schema_of_a_new_one)
{
    char migrated[sizeof(schema)];
    make_description();
    make_version_10();
    store_close(migrate());
    memcpy(migrated, schema, sizeof(schema));
    begin_test(NULL);
    store_close(open_store());
    assert_string_equal(difference(migrated, schema), "");
}

static bool count_document(const struct store_document *document, void *context)
{
    (void)document;
    ++*(int *)context;
    return true;
}

SERVER_TEST(a_store_of_version_10_is_refused_until_it_is_migrated_and_keeps_what_it_has)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    int documents = 0;
    make_version_10();
    assert_int_equal(try_open(postgres_address(server), &store, &err), RONDO_ERR_VERSION);
    assert_non_null(strstr(err.message, "`rondo store migrate`"));
    assert_string_equal(perform("SELECT version FROM meta"), "10");
    store = migrate();
    struct store_schema versions = store->ops->schema(store);
    assert_int_equal(versions.found, 10);
    assert_int_equal(versions.present, POSTGRES_SCHEMA_VERSION);
    assert_int_equal(test_count_events(store, RUN_A), 1);
    struct store_claim_result claimed = test_claim(store, RUN_A, "new");
    assert_int_equal(claimed.outcome, STORE_CLAIMED);
    struct store_event event = test_event("{}");
    struct store_batch batch = test_batch(RUN_A, claimed.epoch, 2, &event, 1);
    assert_int_equal(test_commit(store, &batch).outcome, STORE_COMMITTED);
    const struct store_document_query query = {.collection = "notes"};
    assert_int_equal(store->ops->read_documents(store, &query, count_document, &documents, &err),
                     0);
    assert_int_equal(documents, 1);
    struct store_run_counts counts = {0};
    assert_int_equal(store->ops->count_runs(store, &(struct store_run_query){0}, &counts, &err), 0);
    assert_int_equal(counts.by_status[RONDO_RUNNING], 1);
    struct store_health health = {0};
    assert_int_equal(store->ops->health(store, &health, &err), 0);
    assert_true(health.is_intact);
    store_close(store);
    store = migrate(); /* Nothing is left to do. */
    assert_int_equal(store->ops->schema(store).found, POSTGRES_SCHEMA_VERSION);
    store_close(store);
}

SERVER_TEST(a_migration_after_which_programs_cannot_continue_waits_for_their_runs)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    make_version_10();
    perform("UPDATE runs SET lease_until_ns = 9e18");
    assert_int_equal(migrate_at(postgres_address(server), &store, &err), RONDO_ERR_BUSY);
    assert_non_null(strstr(err.message, "1 run is executed by programs that cannot use"));
    assert_string_equal(perform("SELECT version FROM meta"), "10");
    perform("UPDATE runs SET owner = '', lease_until_ns = 0");
    store_close(migrate());
}

SERVER_TEST(a_migration_that_is_cut_anywhere_is_made_whole_or_not_at_all)
{
    char untouched[sizeof(schema)];
    struct line_cutter *cutter = cutter_new(postgres_address(server));
    unsigned failures = 0;
    make_description();
    make_version_10();
    memcpy(untouched, schema, sizeof(schema));
    begin_test(NULL);
    make_version_10();
    for (size_t answers = 0; strcmp(perform("SELECT version FROM meta"), "10") == 0; answers++) {
        struct store *store = NULL;
        struct rondo_error err = {0};
        assert_string_equal(difference(untouched, schema), "");
        cutter_arm(cutter, CUTTER_ANSWERS, answers);
        failures += migrate_at(cutter_address(cutter), &store, &err) < 0;
        store_close(store);
    }
    assert_true(failures > 5);
    cutter_arm(cutter, CUTTER_OFF, 0);
    struct store *store = migrate();
    assert_int_equal(store->ops->schema(store).found, POSTGRES_SCHEMA_VERSION);
    store_close(store);
    cutter_free(cutter);
}

/** Migrate. @return whether it was this one */
static void *migrate_once(void *argument)
{
    struct store *store = migrate();
    *(uint32_t *)argument = store->ops->schema(store).found;
    store_close(store);
    return NULL;
}

SERVER_TEST(of_many_that_migrate_a_store_one_does)
{
    pthread_t threads[6];
    uint32_t found[6];
    unsigned count = 0;
    make_version_10();
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, migrate_once, &found[i]), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        pthread_join(threads[i], NULL);
        count += found[i] == 10;
    }
    assert_int_equal(count, 1);
}

static int check(int64_t program, int64_t version, int64_t oldest)
{
    const struct postgres_store store = {.address = {.shown = "here", .schema = "rondo"}};
    return postgres_check_version(&store, program, &(struct postgres_version){version, oldest},
                                  &(struct rondo_error){0});
}

SERVER_TEST(programs_of_the_version_before_use_a_migrated_store_if_it_lets_them)
{
    assert_int_equal(check(11, 11, 11), 0);
    assert_int_equal(check(11, 12, 11), 0);
    assert_int_equal(check(11, 12, 12), RONDO_ERR_VERSION);
    assert_int_equal(check(11, 13, 12), RONDO_ERR_VERSION);
    assert_int_equal(check(12, 11, 11), RONDO_ERR_VERSION);
    assert_int_equal(check(11, 9, 9), RONDO_ERR_VERSION);
    store_close(open_store());
    perform("UPDATE meta SET version = 12, oldest = 11");
    struct store *store = open_store();
    assert_int_equal(store->ops->schema(store).present, 12);
    store_close(store);
}

int main(void)
{
    return by_hand_main();
}
