// SPDX-License-Identifier: Apache-2.0
#include "roles.h"

#include "../support.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

void roles_grant(struct store *store, const char *role, enum store_postgres_rank rank,
                 const char *pattern)
{
    struct rondo_error err = {0};
    int r = store_postgres_grant(store, role, rank, &pattern, 1, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
}

void roles_make(char ret_name[32], const char *what)
{
    char sql[96];
    snprintf(ret_name, 32, "%s_%s", schema, what);
    snprintf(sql, sizeof(sql), "CREATE ROLE %s LOGIN", ret_name);
    perform(sql);
}

void roles_begin(struct roles *ret_roles)
{
    ret_roles->owner = open_store();
    roles_make(ret_roles->reader, "reader");
    roles_make(ret_roles->runner, "runner");
    roles_make(ret_roles->operator, "operator");
    roles_grant(ret_roles->owner, ret_roles->reader, STORE_READER, "team-a*");
    roles_grant(ret_roles->owner, ret_roles->runner, STORE_RUNNER, "team-a*");
    roles_grant(ret_roles->owner, ret_roles->operator, STORE_OPERATOR, "*");
    test_create(ret_roles->owner, RUN_A, "team-a1", false);
    test_create(ret_roles->owner, RUN_B, "team-b1", false);
}

const char *roles_address(const char *role)
{
    static char address[512];
    const char *at = strchr(postgres_address(server), '@');
    snprintf(address, sizeof(address), "postgresql://%s%s", role, at);
    return address;
}

PGconn *roles_connect(const char *role)
{
    char sql[64];
    PGconn *connection = PQconnectdb(roles_address(role));
    assert_int_equal(PQstatus(connection), CONNECTION_OK);
    snprintf(sql, sizeof(sql), "SET search_path TO %s", schema);
    assert_string_equal(roles_perform(connection, sql), "=");
    return connection;
}

const char *roles_perform(PGconn *connection, const char *sql)
{
    static char answer[64];
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        snprintf(answer, sizeof(answer), "=%s",
                 PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    } else {
        snprintf(answer, sizeof(answer), "%s", PQresultErrorField(result, PG_DIAG_SQLSTATE));
    }
    PQclear(result);
    return answer;
}
