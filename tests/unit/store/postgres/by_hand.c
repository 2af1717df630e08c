// SPDX-License-Identifier: Apache-2.0
#include "by_hand.h"

#include "../support.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

struct postgres *server;
PGconn *by_hand;
char schema[16];

const char *perform(const char *sql)
{
    static char value[128];
    PGresult *result = PQexec(by_hand, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail_msg("%s", PQerrorMessage(by_hand));
    }
    snprintf(value, sizeof(value), "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return value;
}

int try_open(const char *address, struct store **ret_store, struct rondo_error *err)
{
    const struct store_postgres_options options = {
        .address = address, .schema = schema, .may_create = true, .is_silent = true};
    return store_postgres_open(&options, ret_store, err);
}

struct store *open_at(const char *address)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    int r = try_open(address, &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    return store;
}

struct store *open_store(void)
{
    return open_at(postgres_address(server));
}

int begin_test(void **state)
{
    static int number;
    char sql[64];
    (void)state;
    snprintf(schema, sizeof(schema), "t%d", ++number);
    if (PQtransactionStatus(by_hand) != PQTRANS_IDLE) {
        perform("ROLLBACK"); /* Of a test that failed. */
    }
    snprintf(sql, sizeof(sql), "SET search_path TO %s", schema);
    perform(sql);
    return 0;
}

int by_hand_main(void)
{
    const struct postgres_options options = {.has_tcp = true};
    server = postgres_new(&options);
    if (server == NULL) {
        return 77; /* Skipped; the reason was printed. */
    }
    by_hand = PQconnectdb(postgres_address(server));
    if (PQstatus(by_hand) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(by_hand));
        return 1;
    }
    int failed = test_run(NULL, NULL);
    PQfinish(by_hand);
    postgres_free(server);
    return failed;
}
