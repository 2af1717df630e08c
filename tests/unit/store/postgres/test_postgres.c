// SPDX-License-Identifier: Apache-2.0
/* The PostgreSQL back end keeps the contract; with the argument `pooler` also behind a pgbouncer.
 */
#include "../contract.h"
#include "../support.h"
#include "store/postgres/postgres.h"
#include "support/postgres.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct postgres *server;
static PGconn *by_hand;
static const char *address; /* of what the store connects to */

/** Perform statements by hand. */
static void perform(const char *sql)
{
    PGresult *result = PQexec(by_hand, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail_msg("%s", PQerrorMessage(by_hand));
    }
    PQclear(result);
}

static struct store *open_store(const struct clock *clock)
{
    const struct store_postgres_options options = {
        .address = address, .may_create = true, .clock = clock};
    struct store *store = NULL;
    struct rondo_error err = {0};
    int r = store_postgres_open(&options, &store, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    return store;
}

/** A store as if it was new. To make a schema takes longer than most tests. */
static struct store *open_empty(const struct clock *clock)
{
    struct store *store = open_store(clock);
    perform("TRUNCATE rondo.runs, rondo.events, rondo.checkpoints, rondo.interims, rondo.letters,"
            " rondo.policy_texts, rondo.policy_changes, rondo.documents, rondo.memory_owners,"
            " rondo.memories, rondo.memory_vectors; UPDATE rondo.meta SET collected = 0");
    return store;
}

int main(int argc, char **argv)
{
    const struct contract_backend backend = {
        .name = "postgresql",
        .open = open_empty,
        .close = store_close,
    };
    server = postgres_new(NULL);
    if (server == NULL) {
        return 77; /* Skipped; the reason was printed. */
    }
    address = postgres_address(server);
    if (argc > 1 && strcmp(argv[1], "pooler") == 0) {
        address = strdup(postgres_command(server, "pooler a"));
        if (address[0] == '\0') {
            puts("pgbouncer is not installed");
            return 77;
        }
    }
    by_hand = PQconnectdb(postgres_address(server));
    if (PQstatus(by_hand) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(by_hand));
        return 1;
    }
    int failed = contract_run(&backend);
    PQfinish(by_hand);
    postgres_free(server);
    return failed;
}
