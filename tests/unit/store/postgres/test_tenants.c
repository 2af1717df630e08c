// SPDX-License-Identifier: Apache-2.0
/*
 * What a role with rights for some agents finds out about others, and does to them, without any
 * right: by the plans of its statements, by locks, and by values that Rondo never writes.
 */
#include "../support.h"
#include "base/auto.h"
#include "base/buf.h"
#include "roles.h"

#include <stdio.h>
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

int main(void)
{
    return by_hand_main();
}
