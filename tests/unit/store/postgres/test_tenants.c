// SPDX-License-Identifier: Apache-2.0
/*
 * What a role with rights for some agents finds out about others, and does to them, without any
 * right: by the plans of its statements, by locks, and by values that Rondo never writes.
 */
#include "../support.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Every table with row policies that roles may read, and its columns with contents. */
static const struct {
    const char *table;
    const char *column;
    const char *insert; /**< of a row of team-b1 */
} contents[] = {
    {"events", "data", "SELECT key, 1, 1, 1, 'x', 'secret' FROM runs WHERE id = '" RUN_B "'"},
    {"checkpoints", "state",
     "SELECT key, 1, 1, 1, 1, 1, 1, false, '', '', '', '', 'secret' FROM runs WHERE id = '" RUN_B
     "'"},
    {"interims", "state",
     "SELECT key, 1, 1, 1, 1, 1, false, '', '', '', '', 'secret' FROM runs WHERE id = '" RUN_B "'"},
    {"letters", "data",
     "(run, time_ns, kind, data) SELECT key, 1, 'x', 'secret' FROM runs WHERE id = '" RUN_B "'"},
    {"memories", "content",
     "SELECT key * 100000000, key, 0, 1, 0, '', '', 0, '', '{}', 'secret', 'secret' FROM "
     "memory_owners"},
    {"memory_vectors", "vector",
     "SELECT key * 100000000, key, 0, 1, '', '', 'secret' FROM memory_owners"},
};

/** The plan of a statement without its own text. @return owned */
static char *explain(PGconn *connection, const char *table, const char *condition)
{
    struct buf sql = {0};
    buf_printf(&sql, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF) SELECT FROM %s WHERE %s",
               table, condition);
    PGresult *result = PQexec(connection, buf_string(&sql));
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    buf_clear(&sql);
    for (int i = 0; i < PQntuples(result); i++) {
        const char *line = PQgetvalue(result, i, 0);
        if (strstr(line, "Filter: ") == NULL) {
            buf_printf(&sql, "%s\n", line);
        }
    }
    PQclear(result);
    return buf_steal(&sql);
}

/** Whether plans for a content that is there and for one that is not differ. */
static void check_plans(PGconn *connection, const char *table, const char *there,
                        const char *absent)
{
    for (int i = 0; i < 2; i++) { /* Once for what the session reads only once. */
        auto_free char *first = explain(connection, table, there);
        auto_free char *second = explain(connection, table, absent);
        if (i == 1) {
            assert_string_equal(first, second);
        }
    }
}

SERVER_TEST(plans_tell_nothing_of_the_contents_of_others)
{
    struct roles roles;
    char sql[512];
    char there[64];
    char absent[64];
    roles_begin(&roles);
    perform("INSERT INTO memory_owners (name, last) VALUES ('team-b1', 9)");
    PGconn *connection = roles_connect(roles.runner);
    for (size_t i = 0; i < COUNT(contents); i++) {
        const char *table = contents[i].table;
        snprintf(sql, sizeof(sql), "INSERT INTO %s %s", table, contents[i].insert);
        perform(sql);
        snprintf(sql, sizeof(sql), "ANALYZE %s", table);
        perform(sql);
        snprintf(there, sizeof(there), "%s >= 'secret' AND true", contents[i].column);
        snprintf(absent, sizeof(absent), "%s >= 'sedret' AND true", contents[i].column);
        check_plans(connection, table, there, absent);
    }
    check_plans(connection, "memories", "words @@ 'sec:*'", "words @@ 'sed:*'");
    PQfinish(connection);
    store_close(roles.owner);
}

SERVER_TEST(no_content_has_statistics)
{
    struct store *store = open_store();
    char sql[400];
    snprintf(sql, sizeof(sql),
             "SELECT coalesce(string_agg(attrelid::regclass || '.' || attname, ' '), '') FROM "
             "pg_attribute"
             " JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = '%s'::regnamespace AND "
             "relkind = 'r'"
             " AND relrowsecurity AND atttypid IN ('bytea'::regtype, 'tsvector'::regtype)"
             " AND coalesce(attstattarget, -1) <> 0 AND attname <> 'key'",
             schema);
    assert_string_equal(perform(sql), "");
    store_close(store);
}

/* ---- Values that Rondo never writes ---------------------------------------------------------- */

#define BIG "9223372036854775807"

#define CREATE_OF(agent, owner, lease, boot, rest)                                         \
    "SELECT outcome FROM create_run(NULL, NULL, '" RUN_C "', " agent ", '', false, " owner \
    ", " lease ", " boot ", 7, " rest ")"
#define SUMMARY                 "0, 1, 5, 0, 0, 0, 0, 0, 0"
#define NO_EVENTS               "'{}', '{}', '{}'"
#define RUN_OF(summary, events) CREATE_OF("'team-a1'", "'me'", "1000", "''", summary ", " events)
#define EVENT_OF(time, type, data) \
    RUN_OF(SUMMARY, "ARRAY[" time "]::bigint[], ARRAY[" type "], ARRAY[" data "::bytea]")
#define BATCH_OF(lease, summary, rest)                                                         \
    "SELECT outcome FROM commit_batch(NULL, NULL, 0, '" RUN_A "', 1, 1, " NO_EVENTS ", " lease \
    ", 0, 0, " summary ", " rest ", 7)"
#define NO_CHECKPOINT "NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL"
#define NO_INTERIM    "NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL"
#define CHECKPOINT_OF(numbers, rest) \
    BATCH_OF("1000", SUMMARY, numbers ", false, " rest ", " NO_INTERIM)
#define DIGEST "sha256('')"
#define PUT(key, data)                                                                     \
    "SELECT change_documents(NULL, '{0}', '{budgets}', ARRAY[" key "::bytea], ARRAY[" data \
    "::bytea], '{-1}')"
#define MEMORY(kind, numbers, texts)                                                      \
    "SELECT add_memory((SELECT key FROM memory_owners) * 100000000 + 1, 'team-a1', " kind \
    ", " numbers ", " texts ", 'x', '', '')"

/** What a runner of team-a tries that may write all of it. */
static const struct {
    const char *sql;
    const char *answer;
} values[] = {
    {CREATE_OF("''", "'me'", "1000", "''", SUMMARY ", " NO_EVENTS), "RD006"},
    {CREATE_OF("'team-a' || repeat('x', 200)", "'me'", "1000", "''", SUMMARY ", " NO_EVENTS),
     "RD002"},
    {CREATE_OF("'team-a1' || chr(10)", "'me'", "1000", "''", SUMMARY ", " NO_EVENTS), "RD002"},
    {CREATE_OF("'team-a/1'", "'me'", "1000", "''", SUMMARY ", " NO_EVENTS), "RD002"},
    {CREATE_OF("'team-a1'", "''", "1000", "''", SUMMARY ", " NO_EVENTS), "RD002"},
    {CREATE_OF("'team-a1'", "repeat('x', 256)", "1000", "''", SUMMARY ", " NO_EVENTS), "RD002"},
    {CREATE_OF("'team-a1'", "'me'", "0", "''", SUMMARY ", " NO_EVENTS), "RD002"},
    {CREATE_OF("'team-a1'", "'me'", BIG, "''", SUMMARY ", " NO_EVENTS), "RD002"},
    {CREATE_OF("'team-a1'", "'me'", "1000", "repeat('x', 64)", SUMMARY ", " NO_EVENTS), "RD002"},
    {RUN_OF("10, 1, 5, 0, 0, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("-1, 1, 5, 0, 0, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("NULL, 1, 5, 0, 0, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, -1, 5, 0, 0, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, 1, -1, 0, 0, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, 1, 5, 4294967296, 0, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, 1, 5, 0, -1, 0, 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, 1, 5, 0, 0, (-" BIG " - 1), 0, 0, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, 1, 5, 0, 0, 0, 0, -1, 0", NO_EVENTS), "RD002"},
    {RUN_OF("0, 1, 5, 0, 0, 0, 0, 0, 3", NO_EVENTS), "RD002"},
    {EVENT_OF("-1", "'x'", "'{}'"), "RD002"},
    {EVENT_OF(BIG, "'x'", "'{}'"), "RD002"},
    {EVENT_OF("1", "''", "'{}'"), "RD002"},
    {EVENT_OF("1", "repeat('x', 64)", "'{}'"), "RD002"},
    {EVENT_OF("1", "'x'", "'[]'"), "RD002"},
    {EVENT_OF("1", "'x'", "'{}' || chr(10)"), "RD002"},
    {EVENT_OF("1", "'x'", "'{'"), "22P02"},
    {EVENT_OF("1", "'x'", "'\\x7b7d00'"), "RD002"},
    {EVENT_OF("1", "'x'", "'\\x7b22ff223a317d'"), "22021"},
    {EVENT_OF("1", "'x'", "convert_to('{\"x\":\"' || repeat('x', 16777216) || '\"}', 'UTF8')"),
     "RD002"},
    {BATCH_OF("-1", SUMMARY, NO_CHECKPOINT ", " NO_INTERIM), "RD002"},
    {BATCH_OF("1000", "12, 1, 5, 0, 0, 0, 0, 0, 0", NO_CHECKPOINT ", " NO_INTERIM), "RD002"},
    {CHECKPOINT_OF("1, -1, 1, 1, 1, 1", DIGEST ", '', '', '', ''"), "RD002"},
    {CHECKPOINT_OF("1, 1, 1, 1, 1, 67108865", DIGEST ", '', '', '', ''"), "RD002"},
    {CHECKPOINT_OF("1, 1, 1, 1, 1, 1", "'x', '', '', '', ''"), "RD002"},
    {CHECKPOINT_OF("1, 1, 1, 1, 1, 1", DIGEST ", '\\x00', '', '', ''"), "RD002"},
    {BATCH_OF("1000", SUMMARY, NO_CHECKPOINT ", 1, 1, 1, -1, 1, false, " DIGEST ", '', '', '', ''"),
     "RD002"},
    {BATCH_OF("1000", SUMMARY, NO_CHECKPOINT ", " NO_INTERIM), "=2"},
    {"SELECT outcome FROM claim_run(NULL, NULL, '" RUN_A "', 'me', NULL, '', 7)", "RD002"},
    {"SELECT outcome FROM claim_run(NULL, NULL, '" RUN_A "', '', 1, '', 7)", "RD002"},
    {"SELECT renew_leases(NULL, NULL, 'me', NULL)", "RD002"},
    {"SELECT renew_leases(NULL, NULL, 'me', -1)", "RD002"},
    {"SELECT post_letter(NULL, '" RUN_A "', '', '{}')", "RD002"},
    {"SELECT post_letter(NULL, '" RUN_A "', NULL, '{}')", "RD002"},
    {"SELECT post_letter(NULL, '" RUN_A "', 'stop', '\\x00')", "RD002"},
    {"SELECT post_letter(NULL, '" RUN_A "', 'stop', '{}')", "="},
    {PUT("'team-a1/' || repeat('x', 249)", "'{}'"), "RD002"},
    {PUT("'team-a1'", "'{'"), "22P02"},
    {PUT("'team-a1'", "NULL"), "RD002"},
    {PUT("'team-a1'", "convert_to(to_json(repeat('x', 1048576))::text, 'UTF8')"), "RD002"},
    {PUT("'team-a1'", "'{}'"), "="},
    {"SELECT last_number FROM reserve_memories('team-a1', 100000000)", "RD005"},
    {"SELECT last_number FROM reserve_memories('team-a1', -1)", "RD002"},
    {"SELECT last_number FROM reserve_memories('team-a' || repeat('x', 155), 1)", "RD002"},
    {"SELECT last_number FROM reserve_memories('team-a1', 9)", "=9"},
    {MEMORY("3", "1, 0", "'c', '', 1, 's', '{}', 'x'"), "RD002"},
    {MEMORY("0", "-1, 0", "'c', '', 1, 's', '{}', 'x'"), "RD002"},
    {MEMORY("0", "1, 0", "'', '', 1, 's', '{}', 'x'"), "RD002"},
    {MEMORY("0", "1, 0", "'c', '', 1, 's', '{}', repeat('x', 16385)::bytea"), "RD002"},
    {MEMORY("0", "1, 0", "'c', '', 1, 's', '{', 'x'"), "22P02"},
    {MEMORY("0", "1, 0", "'c', '', 1, 's', '{}', 'x'"), "=1"},
    {"SELECT consolidate_memory((SELECT id FROM memories), -1)", "RD002"},
    {"SELECT embed_memory((SELECT id FROM memories), 'm', '')", "RD002"},
};

SERVER_TEST(values_that_readers_take_for_damage_are_refused)
{
    struct roles roles;
    roles_begin(&roles);
    PGconn *connection = roles_connect(roles.runner);
    for (size_t i = 0; i < COUNT(values); i++) {
        const char *answer = roles_perform(connection, values[i].sql);
        if (strcmp(answer, values[i].answer) != 0) {
            fail_msg("%.300s: %s, not %s", values[i].sql, answer, values[i].answer);
        }
    }
    PQfinish(connection);
    assert_int_equal(RONDO_STATUS_COUNT, 10);
    assert_int_equal(LIMIT_EVENT_BYTES, 16777216);
    assert_int_equal(LIMIT_DOCUMENT_BYTES, 1048576);
    assert_int_equal(LIMIT_STATE_BYTES, 67108864);
    assert_int_equal(LIMIT_MEMORY_IDS, 100000000);
    assert_true(LIMIT_DURATION_NS == INT64_C(31622400000000000));
    store_close(roles.owner);
}

SERVER_TEST(an_error_shows_no_number_of_a_claim)
{
    struct roles roles;
    roles_begin(&roles);
    PGconn *connection = roles_connect(roles.runner);
    struct store *store = open_at(roles_address(roles.runner));
    test_create(store, RUN_C, "team-a1", false);
    char *claim = strdup(perform("SELECT claim FROM runs WHERE id = '" RUN_C "'"));
    PGresult *result = PQexec(connection, "SELECT renew_leases(NULL, NULL, 'owner-a', NULL)");
    assert_int_equal(PQresultStatus(result), PGRES_FATAL_ERROR);
    char *message = PQresultVerboseErrorMessage(result, PQERRORS_VERBOSE, PQSHOW_CONTEXT_ALWAYS);
    assert_null(strstr(message, claim));
    PQfreemem(message);
    PQclear(result);
    PQfinish(connection);
    free(claim);
    store_close(store);
    store_close(roles.owner);
}

static const char *const json_texts[] = {
    "{}",
    "[]",
    "1",
    "\"\"",
    "null",
    "",
    " ",
    "{",
    "nul",
    "[1,]",
    "01",
    "1e5",
    "1e999",
    "\xef\xbb\xbf{}",
    "{\"a\":1,\"a\":2}",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\uD83D\\uDE00\"",
    "\"\\ude00\"",
    "\"\\ud83d\\ud83d\\ude00\"",
    "\"\\\\ud800\"",
    "\"\\\\\\ud800\"",
    "\"\t\"",
    "\"\\x\"",
    "\"\xff\"",
    "\"\xed\xa0\x80\"",
    " {} \n",
    "{\"a\": \"\\\"[[[\"}",
    "[1] 2",
    "'a'",
    "\"\x7f\"",
};

/** Whether a role may write a text, and json_parse() reads it. */
static void check_json(PGconn *connection, const char *text)
{
    size_t len = strlen(text);
    size_t escaped_len = 0;
    struct buf sql = {0};
    unsigned char *escaped =
        PQescapeByteaConn(connection, (const unsigned char *)text, len, &escaped_len);
    buf_printf(&sql, PUT("'team-a1'", "'%s'"), (const char *)escaped);
    bool is_kept = strcmp(roles_perform(connection, buf_string(&sql)), "=") == 0;
    bool is_read = json_parse(text, len, NULL, NULL) == 0;
    if (is_kept != is_read) {
        fail_msg("%.80s is %s, but %s", text, is_kept ? "kept" : "refused",
                 is_read ? "read" : "not read");
    }
    PQfreemem(escaped);
    buf_fini(&sql);
}

SERVER_TEST(what_a_role_may_write_as_json_is_what_is_read)
{
    struct roles roles;
    char deep[2 * (LIMIT_JSON_DEPTH + 1) + 8];
    roles_begin(&roles);
    PGconn *connection = roles_connect(roles.runner);
    assert_string_equal(roles_perform(connection, "SET standard_conforming_strings TO on"), "=");
    for (size_t i = 0; i < COUNT(json_texts); i++) {
        check_json(connection, json_texts[i]);
    }
    for (size_t depth = LIMIT_JSON_DEPTH - 2; depth <= LIMIT_JSON_DEPTH + 1; depth++) {
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        deep[2 * depth] = '\0';
        check_json(connection, deep);
    }
    /* Many that are not deep, and as many in a string. */
    check_json(
        connection,
        "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
        "[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],"
        "[],[],[],[],[],[],[],[],[],[],[],[{\"]]\\\"[[{{\":[]}]]");
    PQfinish(connection);
    store_close(roles.owner);
}

/* ---- Scopes of collections --------------------------------------------------------------------
 */

/** A role, what it may do, and whether its rights are for all agents; else for those of team-a. */
struct member {
    int rank;
    bool has_all;
    PGconn *connection;
};

/** A document: the key, and whether it is of team-a. */
struct sample {
    const char *scope;
    const char *key;
    bool is_own;
};

static const struct sample samples[] = {
    {"agent", "team-a1", true},    {"agent", "team-a1/x", true},
    {"agent", "team-b1/x", false}, {"agent", "team-b1/team-a1", false},
    {"agent", "/team-a1", false},  {"run", RUN_A, true},
    {"run", RUN_A "/x", true},     {"run", RUN_B, false},
    {"run", RUN_C, false}, /* Not there. */
    {"run", "team-a1", false},     {"shared", "x", true},
    {"all", "x", false},           {"all", "team-a1", false},
    {"all", RUN_A, false},
};

/** What a role gets when it changes, locks and reads a document. */
static void try_document(const struct member *member, const char *collection,
                         const struct sample *sample, int reads, int writes)
{
    char sql[512];
    bool sees = sample->is_own || member->has_all;
    bool may_write = member->rank >= writes && (writes > 2 ? member->has_all : sees);
    bool may_ask = member->rank >= reads && (member->has_all || strcmp(sample->scope, "all") != 0);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM read_documents('%s', '%s', '%s ', false, 9)",
             collection, sample->key, sample->key);
    const char *answer = roles_perform(member->connection, sql);
    if (strcmp(answer, !may_ask ? "RD006" : sees ? "=1" : "=0") != 0) {
        fail_msg("rank %d, all %d: %s: %s", member->rank, member->has_all, sql, answer);
    }
    snprintf(sql, sizeof(sql),
             "SELECT change_documents(NULL, '{0}', '{%s}', ARRAY['%s'::bytea], '{\"{}\"}', '{-1}')",
             collection, sample->key);
    answer = roles_perform(member->connection, sql);
    if (strcmp(answer, may_write ? "=" : member->rank < 2 ? "42501" : "RD006") != 0) {
        fail_msg("rank %d, all %d: %s: %s", member->rank, member->has_all, sql, answer);
    }
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM lock_documents('{%s}', ARRAY['%s'::bytea])",
             collection, sample->key);
    answer = roles_perform(member->connection, sql);
    if (strcmp(answer, may_write ? "=1" : member->rank < 2 ? "42501" : "RD006") != 0) {
        fail_msg("rank %d, all %d: %s: %s", member->rank, member->has_all, sql, answer);
    }
}

static void try_collection(const struct member members[5], const char *collection,
                           const char *scope, int reads, int writes)
{
    char sql[256];
    for (size_t i = 0; i < COUNT(samples); i++) {
        if (strcmp(samples[i].scope, scope) == 0) {
            snprintf(sql, sizeof(sql), "INSERT INTO documents VALUES ('%s', '%s', 1, 1, '{}')",
                     collection, samples[i].key);
            perform(sql);
            for (int k = 0; k < 5; k++) {
                try_document(&members[k], collection, &samples[i], reads, writes);
            }
        }
    }
}

SERVER_TEST(each_collection_is_open_to_those_who_have_a_right_for_it)
{
    struct roles roles;
    char reader[32];
    char fleet[32];
    roles_begin(&roles);
    roles_make(reader, "all_reader");
    roles_make(fleet, "fleet");
    roles_grant(roles.owner, reader, STORE_READER, "*");
    roles_grant(roles.owner, fleet, STORE_RUNNER, "*");
    const struct member members[5] = {
        {1, false, roles_connect(roles.reader)},  {2, false, roles_connect(roles.runner)},
        {1, true, roles_connect(reader)},         {2, true, roles_connect(fleet)},
        {3, true, roles_connect(roles.operator)},
    };
    PGresult *all = PQexec(by_hand, "SELECT name, scope, reads, writes FROM collections");
    assert_true(PQntuples(all) > 40);
    for (int i = 0; i < PQntuples(all); i++) {
        try_collection(members, PQgetvalue(all, i, 0), PQgetvalue(all, i, 1),
                       (int)strtol(PQgetvalue(all, i, 2), NULL, 10),
                       (int)strtol(PQgetvalue(all, i, 3), NULL, 10));
    }
    PQclear(all);
    for (int i = 0; i < 5; i++) {
        PQfinish(members[i].connection);
    }
    store_close(roles.owner);
}

/* Their keys begin with the name of an agent or the id of a run. Whatever is new here is seen by
 * tenants. */
SERVER_TEST(few_collections_are_open_to_roles_for_some_agents)
{
    struct store *store = open_store();
    assert_string_equal(
        perform(
            "SELECT string_agg(name, ' ' ORDER BY name) FROM collections WHERE scope = 'agent'"),
        "budgets consolidations follow-up follow-up-due follow-up-guard lane");
    assert_string_equal(
        perform("SELECT string_agg(name, ' ' ORDER BY name) FROM collections WHERE scope = 'run'"),
        "consolidation-due managed monitor-run orphan");
    assert_string_equal(
        perform(
            "SELECT string_agg(name, ' ' ORDER BY name) FROM collections WHERE scope = 'shared'"),
        "copy policies probe");
    store_close(store);
}

/* ---- Locks ----------------------------------------------------------------------------------- */

SERVER_TEST(a_reader_cannot_stop_commits)
{
    struct roles roles;
    roles_begin(&roles);
    PGconn *connection = roles_connect(roles.reader);
    assert_string_equal(roles_perform(connection, "BEGIN"), "=");
    assert_string_equal(roles_perform(connection, "SELECT note_system('elsewhere')"), "=");
    perform("BEGIN");
    perform("SET LOCAL lock_timeout = '1s'");
    perform("LOCK TABLE events IN ROW EXCLUSIVE MODE");
    perform("ROLLBACK");
    PQfinish(connection);
    store_close(roles.owner);
}

SERVER_TEST(a_role_that_row_policies_do_not_bind_gets_no_rights)
{
    struct rondo_error err = {0};
    struct store *store = open_store();
    const char *all = "*";
    char name[32];
    roles_make(name, "free");
    const char *const changes[] = {"ALTER ROLE %s BYPASSRLS", "GRANT pg_read_all_data TO %s",
                                   "GRANT pg_write_all_data TO %s"};
    const char *const undoings[] = {"ALTER ROLE %s NOBYPASSRLS", "REVOKE pg_read_all_data FROM %s",
                                    "REVOKE pg_write_all_data FROM %s"};
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct buf sql = {0};
        buf_printf(&sql, changes[i], name);
        perform(buf_string(&sql));
        assert_int_equal(store_postgres_grant(store, name, STORE_READER, &all, 1, &err),
                         RONDO_ERR_STATE);
        buf_clear(&sql);
        buf_printf(&sql, undoings[i], name);
        perform(buf_string(&sql));
        buf_fini(&sql);
    }
    roles_grant(store, name, STORE_READER, all);
    store_close(store);
}

int main(void)
{
    return by_hand_main();
}
