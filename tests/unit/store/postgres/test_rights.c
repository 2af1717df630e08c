// SPDX-License-Identifier: Apache-2.0
/*
 * What roles of a database may do in a store: through the store, and by statements of their own, as
 * somebody would try who has a runner's password. Every function and table has its line here.
 */
#include "store/postgres/rights.h"

#include "../support.h"
#include "base/auto.h"
#include "roles.h"
#include "store/postgres/postgres.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- By statements --------------------------------------------------------------------------- */

struct expectation {
    const char *name;
    int rank; /**< that may use it; 4 = only the owner */
};

/* Functions that change something demand the rank themselves, too. */
static const struct expectation functions[] = {
    {"add_memory", 2},
    {"append_events", 4},
    {"apply_rights", 4},
    {"change_documents", 2},
    {"claim_run", 2},
    {"clear_others", 4},
    {"collect", 3},
    {"commit_batch", 2},
    {"consolidate_memory", 2},
    {"create_run", 2},
    {"demand", 4},
    {"demand_agent", 4},
    {"demand_checkpoint", 4},
    {"demand_claim", 4},
    {"demand_document", 4},
    {"demand_events", 4},
    {"demand_summary", 4},
    {"demand_value", 4},
    {"embed_memory", 2},
    {"end_lease", 2},
    {"fold_counts", 4},
    {"forget_memories", 2},
    {"function_ranks", 4},
    {"grant_rights", 4},
    {"is_held", 4},
    {"is_json", 4},
    {"is_object", 4},
    {"is_text", 4},
    {"lock_agent", 4},
    {"lock_documents", 2},
    {"lock_events", 2},
    {"lock_others", 4},
    {"moment", 1},
    {"my_rights", 1},
    {"next_collection", 1},
    {"note_count", 4},
    {"note_system", 1},
    {"position_base", 4},
    {"position_end", 1},
    {"position_end_of_ours", 1},
    {"post_letter", 2},
    {"prune_memories", 2},
    {"rank_of_caller", 4},
    {"read_documents", 1},
    {"record_policy", 2},
    {"renew_leases", 2},
    {"reserve_memories", 2},
    {"revoke_rights", 4},
    {"search_memories", 1},
    {"sees", 1},
    {"sees_all", 1},
    {"sees_key", 4},
    {"sees_owner", 1},
    {"sees_run", 1},
    {"settle_run", 4},
    {"this_system", 1},
    {"was_claimed", 2},
};

/* Nobody but the owner writes to any. */
static const struct expectation tables[] = {
    {"checkpoints", 1},
    {"collections", 4},
    {"documents", 4},
    {"ended_runs", 1},
    {"events", 1},
    {"interims", 1},
    {"letters", 1},
    {"memories", 1},
    {"memory_owners", 1},
    {"memory_vectors", 1},
    {"meta", 1},
    {"policy_changes", 1},
    {"policy_texts", 1},
    {"rights", 4},
    {"run_count_changes", 1},
    {"run_counts", 1},
    {"runs", 4 /* columns */},
};

static int expected_rank(const struct expectation *all, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return all[i].rank;
        }
    }
    fail_msg("%s is new: who may use it? Give it a line in test_rights.c, and what it checks",
             name);
    return 0;
}

/** Compare what the roles of the ranks 1 to 3 may do with each object with what is expected. */
static void check_objects(const struct roles *roles, const struct expectation *expected,
                          size_t count, const char *objects, const char *privilege)
{
    const char *const names[] = {"", roles->reader, roles->runner, roles->operator};
    PGresult *result = PQexec(by_hand, objects);
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    assert_true((size_t)PQntuples(result) >= count);
    for (int i = 0; i < PQntuples(result); i++) {
        int needed = expected_rank(expected, count, PQgetvalue(result, i, 0));
        for (int rank = 1; rank <= 3; rank++) {
            char sql[256];
            snprintf(sql, sizeof(sql), privilege, names[rank], PQgetvalue(result, i, 1));
            if (strcmp(perform(sql), rank >= needed ? "t" : "f") != 0) {
                fail_msg("rank %d and %s: %s", rank, PQgetvalue(result, i, 0), sql);
            }
        }
    }
    PQclear(result);
}

SERVER_TEST(every_function_and_table_is_for_who_needs_it)
{
    struct roles roles;
    char sql[640];
    roles_begin(&roles);
    snprintf(sql, sizeof(sql),
             "SELECT proname, oid FROM pg_proc WHERE pronamespace = '%s'::regnamespace", schema);
    check_objects(&roles, functions, COUNT(functions), sql,
                  "SELECT has_function_privilege('%s', %s, 'EXECUTE')");
    snprintf(sql, sizeof(sql),
             "SELECT relname, oid FROM pg_class WHERE relnamespace = '%s'::regnamespace"
             " AND relkind IN ('r', 'p', 'v', 'm')",
             schema);
    check_objects(&roles, tables, COUNT(tables), sql,
                  "SELECT has_table_privilege('%s', %s, 'SELECT')");
    snprintf(sql, sizeof(sql),
             "SELECT coalesce(string_agg(c.relname, ' '), '') FROM pg_class c, pg_roles r WHERE"
             " c.relnamespace = '%s'::regnamespace AND c.relkind IN ('r', 'p') AND r.rolname LIKE"
             " '%s\\_%%' AND has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE,"
             " REFERENCES, TRIGGER')",
             schema, schema);
    assert_string_equal(perform(sql), "");
    snprintf(sql, sizeof(sql),
             "SELECT string_agg(a.attname, ' ') FROM pg_attribute a WHERE attrelid ="
             " '%s.runs'::regclass AND attnum > 0 AND NOT has_column_privilege('%s', attrelid,"
             " attnum, 'SELECT')",
             schema, roles.runner);
    assert_string_equal(perform(sql), "claim");
    store_close(roles.owner);
}

#define EVENT "ARRAY[1]::bigint[], ARRAY['forged'], ARRAY['{}'::bytea]"
#define COMMIT(run, epoch, ordinal, claim)                                                      \
    "SELECT outcome FROM commit_batch(NULL, NULL, " ordinal ", '" run "', " epoch ", 1, " EVENT \
    ", 1000, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL," \
    " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, "    \
    "NULL, " claim ")"
#define CREATE(id, agent, parent)                                                \
    "SELECT outcome FROM create_run(NULL, NULL, '" id "', '" agent "', '" parent \
    "', false, 'me', 1000, '', 7, 0, 1, 5, 0, 0, 0, 0, 0, 0, " EVENT ")"
#define DOCUMENT(kind, collection, key)                                           \
    "SELECT change_documents(NULL, ARRAY[" kind "]::bigint[], ARRAY['" collection \
    "'], ARRAY['" key "'::bytea], ARRAY['{}'::bytea], ARRAY[-1]::bigint[])"

/** What a runner of team-a tries, and what becomes of it. */
static const struct {
    const char *sql;
    const char *answer;
} attempts[] = {
    /* Events of another owner: the epoch is known to all who see the run, the claim is not. */
    {COMMIT(RUN_A, "1", "0", "7"), "=2"},
    {COMMIT(RUN_A, "1", "0", "(SELECT claim FROM runs)"), "42501"},
    {COMMIT(RUN_A, "1", "0", "NULL"), "=2"},
    {COMMIT(RUN_A, "NULL", "0", "7"), "=2"},
    {COMMIT(RUN_A, "1", "NULL", "7"), "RD005"},
    /* Whether there is a token of this name. */
    {COMMIT(RUN_A, "1", "0", "7, 0, 'token', 'x'"), "RD002"},
    {COMMIT(RUN_A, "1", "0", "7, 0, 'no-such-collection', 'x'"), "RD002"},
    {COMMIT(RUN_A, "1", "0", "7, 0, 'policies', 'rondo.cedar'"), "=2"},
    {COMMIT(RUN_B, "1", "0", "7"), "RD001"},
    {COMMIT(RUN_A, "1", "-1", "7"), "RD005"},
    {COMMIT(RUN_A, "1", "1048576", "7"), "RD005"},
    {"SELECT renew_leases(9000000000000000000, NULL, 'owner-a', 1)", "="},
    {"SELECT end_lease('" RUN_A "', 1)", "="},
    /* A time of its own would end the leases of others. */
    {"SELECT outcome FROM claim_run(9000000000000000000, NULL, '" RUN_A "', 'me', 1, '', 7)", "=1"},
    {"SELECT outcome FROM claim_run(NULL, NULL, '" RUN_B "', 'me', 1, '', 7)", "RD001"},
    {"SELECT was_claimed('team-b1', '" RUN_B "', 7, 1)", "RD006"},
    {"SELECT (run).claim FROM claim_run(NULL, NULL, '" RUN_A "', 'me', 1, '', 7)", "=0"},
    /* Runs of others. */
    {CREATE(RUN_C, "team-b1", ""), "RD006"},
    {CREATE(RUN_C, "team-a1", RUN_B), "RD001"},
    {CREATE("no id", "team-a1", ""), "RD002"},
    {"SELECT count(*) FROM runs WHERE true OR agent_id = 'team-b1'", "=1"},
    {"SELECT count(id) FROM runs WHERE agent_id LIKE 'team-b%'", "=0"},
    {"SELECT count(*) FROM events", "=0"},
    {"SELECT post_letter(NULL, '" RUN_B "', 'stop', '{}')", "RD001"},
    /* Policies, tokens, sinks. */
    {"SELECT number FROM record_policy(1, 's', repeat('a', 64), 'set', 'me', 'permit (...);')",
     "RD006"},
    {DOCUMENT("0", "policies", "rondo.cedar"), "RD006"},
    {DOCUMENT("1", "policies", "rondo.cedar"), "RD006"},
    {DOCUMENT("2", "policies", "zzz"), "RD006"},
    {DOCUMENT("0", "token", "x"), "RD006"},
    {DOCUMENT("0", "sink", "x"), "RD006"},
    {DOCUMENT("0", "handoff", "x"), "RD006"},
    {DOCUMENT("0", "no-such-collection", "x"), "RD006"},
    {DOCUMENT("0", "budgets", "team-b1"), "RD006"},
    {DOCUMENT("0", "budgets", "\\377"), "RD006"},
    {DOCUMENT("2", "budgets", "team-a1"), "RD006"},
    {DOCUMENT("3", "budgets", "team-a1"), "RD006"},
    {DOCUMENT("NULL", "budgets", "team-a1"), "RD006"},
    {"SELECT change_documents(NULL, '{0}', '[0:1]={policies,budgets}', '[0:1]={x,team-a1}', "
     "'{\"{}\"}', '{-1}')",
     "RD002"},
    {DOCUMENT("0", "budgets", "team-a1"), "="},
    {DOCUMENT("0", "orphan", RUN_B), "RD006"},
    {DOCUMENT("0", "orphan", RUN_A), "="},
    {"SELECT count(*) FROM documents", "42501"},
    {"SELECT count(*) FROM read_documents('token', '', '\\xff', false, 9)", "RD006"},
    {"SELECT count(*) FROM read_documents('budgets', '', '\\xff', true, 9)", "=1"},
    {"SELECT next_collection('orphan')", "="},
    {"SELECT count(*) FROM lock_documents(ARRAY['token'], ARRAY['x'::bytea])", "RD006"},
    {"SELECT count(*) FROM lock_documents('[1:1]={budgets}', '[0:1]={team-b1,team-a1}')", "RD006"},
    /* Memories of others. */
    {"SELECT owner_key FROM reserve_memories('team-b1', 1)", "RD006"},
    {"SELECT add_memory(100000001, 'team-b1', 0, 1, 0, '', '', 0, '', '{}', 'x', 'x', '', '')",
     "RD006"},
    {"SELECT add_memory(100000001, 'team-a1', 0, 1, 0, '', '', 0, '', '{}', 'x', 'x', '', '')",
     "RD006"},
    {"SELECT forget_memories(ARRAY[1]::bigint[])", "=0"},
    /* The rest. */
    {"SELECT runs FROM collect(9000000000000000000, 9000000000000000000, 9)", "42501"},
    {"SELECT grant_rights(session_user, 3, ARRAY['*'])", "42501"},
    {"UPDATE rights SET rank = 3", "42501"},
    {"UPDATE meta SET version = 1", "42501"},
    {"DELETE FROM events", "42501"},
    {"TRUNCATE events", "42501"},
    {"CREATE TABLE more ()", "42501"},
    {"ALTER TABLE runs DISABLE ROW LEVEL SECURITY", "42501"},
    {"DROP POLICY own ON runs", "42501"},
    {"SET row_security = off", "="},
    {"SELECT count(id) FROM runs", "42501"},
    {"RESET row_security", "="},
    {"SELECT note_system('elsewhere')", "="},
    /* Types and tables of its own do not take the place of those that functions mean. */
    {"CREATE DOMAIN pg_temp.text AS int; CREATE DOMAIN pg_temp.bytea AS int;"
     " CREATE TEMP TABLE pg_class (); CREATE TEMP TABLE pg_roles (rolname name)",
     "="},
    {"SELECT change_documents(NULL, ARRAY[0]::bigint[], ARRAY['budgets'],"
     " ARRAY['team-a2'::pg_catalog.bytea], ARRAY['{}'::pg_catalog.bytea], ARRAY[-1]::bigint[])",
     "="},
    {"SELECT rank FROM my_rights()", "=2"},
    {"SET search_path TO pg_temp", "="},
};

SERVER_TEST(what_a_runner_tries_by_statements_of_its_own_is_refused)
{
    struct roles roles;
    roles_begin(&roles);
    char *base = strdup(perform("SELECT base FROM meta"));
    PGconn *connection = roles_connect(roles.runner);
    for (size_t i = 0; i < COUNT(attempts); i++) {
        const char *answer = roles_perform(connection, attempts[i].sql);
        if (strcmp(answer, attempts[i].answer) != 0) {
            fail_msg("%s: %s, not %s", attempts[i].sql, answer, attempts[i].answer);
        }
    }
    PQfinish(connection);
    assert_int_equal(test_count_events(roles.owner, NULL), 0);
    assert_string_equal(test_get(roles.owner, RUN_A).owner, "owner-a");
    assert_string_equal(perform("SELECT base FROM meta"), base);
    assert_string_equal(perform("SELECT count(*) FROM policy_changes"), "0");
    free(base);
    store_close(roles.owner);
}

SERVER_TEST(a_role_without_rights_can_do_nothing)
{
    struct roles roles;
    struct store *store = NULL;
    struct rondo_error err = {0};
    roles_begin(&roles);
    char stranger[32];
    roles_make(stranger, "stranger");
    assert_int_equal(try_open(roles_address(stranger), &store, &err), RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, "rondo store grant"));
    store_close(roles.owner);
}

/* ---- Through the store ------------------------------------------------------------------------
 */

static bool count_run(const struct store_run *run, void *context)
{
    assert_string_equal(run->agent_id, "team-a1");
    ++*(int *)context;
    return true;
}

SERVER_TEST(a_runner_executes_runs_of_its_agents_and_sees_no_others)
{
    struct roles roles;
    struct rondo_error err = {0};
    struct store_run run;
    int count = 0;
    roles_begin(&roles);
    struct store *store = open_at(roles_address(roles.runner));
    test_create(store, RUN_C, "team-a1", false);
    test_append(store, RUN_C, 1, "{}");
    assert_int_equal(test_count_events(store, RUN_C), 1);
    assert_int_equal(test_count_events(store, NULL), 1);
    const struct store_run_query query = {.only_running = true};
    assert_int_equal(store->ops->list_runs(store, &query, count_run, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(store->ops->get_run(store, RUN_B, &run, &err), RONDO_ERR_NOT_FOUND);
    assert_int_equal(store->ops->post(store, RUN_B, "stop", "{}", &err), RONDO_ERR_NOT_FOUND);
    assert_int_equal(store->ops->renew_leases(store, "owner-a", NS_PER_S, &err), 0);
    struct store_health health;
    assert_int_equal(store->ops->health(store, &health, &err), 0);
    assert_int_equal(health.run_count, 2);
    store_close(store);
    store_close(roles.owner);
}

SERVER_TEST(what_a_right_is_missing_for_is_denied_with_the_right)
{
    struct roles roles;
    struct rondo_error err = {0};
    uint64_t number;
    bool is_new;
    struct store_gc_result collected;
    roles_begin(&roles);
    const struct store_policy_change change = {
        .source = "database",
        .digest = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        .how = "set",
        .by = "ada",
        .text = ""};
    struct store *store = open_at(roles_address(roles.runner));
    assert_int_equal(store->ops->record_policy(store, &change, &number, &is_new, &err),
                     RONDO_ERR_DENIED);
    assert_non_null(strstr(err.message, "may not change policies: it needs the right operator"));
    const struct store_gc_request request = {.ended_before_ns = INT64_MAX};
    assert_int_equal(store->ops->gc(store, &request, &collected, &err), RONDO_ERR_DENIED);
    assert_int_equal(store_postgres_revoke(store, roles.reader, &err), RONDO_ERR_DENIED);
    store_close(store);
    store = open_at(roles_address(roles.operator));
    assert_int_equal(store->ops->record_policy(store, &change, &number, &is_new, &err), 0);
    assert_int_equal(store->ops->gc(store, &request, &collected, &err), 0);
    store_close(store);
    store_close(roles.owner);
}

SERVER_TEST(rights_that_are_taken_end_at_once)
{
    struct roles roles;
    struct rondo_error err = {0};
    uint64_t position;
    roles_begin(&roles);
    struct store *store = open_at(roles_address(roles.runner));
    assert_int_equal(store_postgres_revoke(roles.owner, roles.runner, &err), 0);
    assert_int_equal(store->ops->last_position(store, &position, &err), RONDO_ERR_DENIED);
    assert_int_equal(store_postgres_revoke(roles.owner, roles.runner, &err), RONDO_ERR_NOT_FOUND);
    roles_grant(roles.owner, roles.runner, STORE_READER, "*");
    assert_int_equal(store->ops->last_position(store, &position, &err), 0);
    store_close(store);
    store_close(roles.owner);
}

static bool join_right(const char *role, enum store_postgres_rank rank, const char *pattern,
                       void *context)
{
    char *text = context;
    size_t len = strlen(text);
    snprintf(text + len, 300 - len, "%s %s %s;", role, store_postgres_rank_name(rank), pattern);
    return true;
}

SERVER_TEST(rights_are_granted_and_listed)
{
    char text[300] = "";
    struct rondo_error err = {0};
    struct store *store = open_store();
    const char *const patterns[] = {"a'b\"c", "x y*"};
    perform("CREATE ROLE \"odd'\"\"; DROP\" LOGIN");
    assert_int_equal(store_postgres_grant(store, "odd'\"; DROP", STORE_OPERATOR, patterns, 2, &err),
                     0);
    assert_int_equal(store_postgres_list_rights(store, join_right, text, &err), 0);
    assert_string_equal(text, "odd'\"; DROP operator a'b\"c;odd'\"; DROP operator x y*;");
    assert_int_equal(store_postgres_revoke(store, "odd'\"; DROP", &err), 0);
    perform("DROP ROLE \"odd'\"\"; DROP\"");
    assert_int_equal(store_postgres_grant(store, "nobody", STORE_READER, patterns, 2, &err),
                     RONDO_ERR_NOT_FOUND);
    assert_int_equal(store_postgres_grant(store, "rondo", STORE_READER, patterns, 2, &err),
                     RONDO_ERR_STATE);
    const char *wrong = "a*b";
    assert_int_equal(store_postgres_grant(store, "nobody", STORE_READER, &wrong, 1, &err),
                     RONDO_ERR_INVALID);
    const char *many[STORE_PATTERNS_MAX + 1];
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = "a";
    }
    assert_int_equal(store_postgres_grant(store, "nobody", STORE_READER, many, COUNT(many), &err),
                     RONDO_ERR_LIMIT);
    assert_int_equal(
        store_postgres_grant(store, "nobody", STORE_READER, many, STORE_PATTERNS_MAX, &err),
        RONDO_ERR_NOT_FOUND);
    store_close(store);
}

/* ---- Injection --------------------------------------------------------------------------------
 */

static const char *const odd_texts[] = {
    "'; DROP TABLE runs; --",
    "\" OR \"1\"=\"1",
    "a\\'b",
    "%",
    "%_",
    "$1",
    "-- x",
    "/* x",
    "E'\\n'",
    "{s}",
    "a\tb\nc",
    "\xF0\x9F\x98\x80",
    "\xEF\xBC\x87",
    "' || (SELECT claim FROM runs) || '",
};

static bool count_any_run(const struct store_run *run, void *context)
{
    (void)run;
    ++*(int *)context;
    return true;
}

static int count_runs(struct store *store, const struct store_run_query *query)
{
    struct rondo_error err = {0};
    int count = 0;
    int r = store->ops->list_runs(store, query, count_any_run, &count, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    return count;
}

static bool check_document(const struct store_document *document, void *context)
{
    assert_string_equal(document->key, *(const char *const *)context);
    *(const char **)context = NULL;
    return true;
}

static bool check_letter(const struct store_letter *letter, void *context)
{
    assert_string_equal(letter->kind, *(const char *const *)context);
    *(const char **)context = NULL;
    return true;
}

static bool check_policy(const struct store_policy_change *change, void *context)
{
    assert_string_equal(change->source, *(const char *const *)context);
    *(const char **)context = NULL;
    return true;
}

/** A text goes the way of every name and filter, and comes back as it was. */
static void pass_through(struct store *store, const char *text, unsigned number)
{
    struct rondo_error err = {0};
    const char *const agents[] = {text, NULL};
    const char *left = text;
    uint64_t change_number;
    int64_t memory;
    bool is_good;
    struct test_id id = test_id(number);
    test_create(store, id.text, text, true);
    assert_int_equal(count_runs(store, &(struct store_run_query){.agent_id = text}), 1);
    assert_int_equal(count_runs(store, &(struct store_run_query){.agents = agents}), 1);
    assert_int_equal(count_runs(store, &(struct store_run_query){.parent = text}), 0);
    assert_int_equal(count_runs(store, &(struct store_run_query){.id_prefix = text}), 0);
    assert_in_range(count_runs(store, &(struct store_run_query){.search = text}), 0, number);
    assert_int_equal(store->ops->post(store, id.text, text, "{}", &err), 0);
    assert_int_equal(store->ops->read_mail(store, id.text, NULL, check_letter, &left, &err), 0);
    assert_null(left);
    const struct store_change change = {.kind = STORE_PUT,
                                        .collection = text,
                                        .key = text,
                                        .data = "{}",
                                        .data_len = 2,
                                        .if_version = STORE_ANY_VERSION};
    if (strlen(text) <= STORE_COLLECTION_LEN) {
        assert_int_equal(store->ops->change_documents(store, &change, 1, &is_good, &err), 0);
        left = text;
        const struct store_document_query query = {.collection = text, .prefix = text};
        assert_int_equal(store->ops->read_documents(store, &query, check_document, &left, &err), 0);
        assert_null(left);
    }
    const struct store_policy_change policy = {
        .source = text,
        .digest = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        .how = text,
        .by = text,
        .text = ""};
    assert_int_equal(store->ops->record_policy(store, &policy, &change_number, &is_good, &err), 0);
    left = text;
    assert_int_equal(store->ops->read_policies(store, text, 0, check_policy, &left, &err), 0);
    assert_null(left);
    assert_int_equal(store->ops->reserve_memories(store, text, 1, &memory, &err), 0);
    assert_int_equal(store->ops->expire_lease(store, text, 1, &err), 0);
    assert_int_equal(store->ops->renew_leases(store, text, NS_PER_S, &err), 0);
}

SERVER_TEST(no_text_becomes_a_part_of_a_statement)
{
    struct rondo_error err = {0};
    struct store *store = open_store();
    char *functions_before = strdup(perform("SELECT count(*) FROM pg_class, pg_proc"));
    for (size_t i = 0; i < COUNT(odd_texts); i++) {
        pass_through(store, odd_texts[i], (unsigned)i + 1);
    }
    assert_string_equal(perform("SELECT count(*) FROM pg_class, pg_proc"), functions_before);
    assert_int_equal(count_runs(store, &(struct store_run_query){0}), COUNT(odd_texts));
    for (size_t i = 0; i < COUNT(odd_texts); i++) {
        struct store *other = NULL;
        const struct store_postgres_options options = {
            .address = postgres_address(server), .schema = odd_texts[i], .may_create = true};
        assert_true(store_postgres_open(&options, &other, &err) < 0);
    }
    free(functions_before);
    store_close(store);
}

int main(void)
{
    return by_hand_main();
}
