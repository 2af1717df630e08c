// SPDX-License-Identifier: Apache-2.0
/*
 * A PostgreSQL server for the tests of one program, each with a schema of its own, and a connection
 * by which they change what a store has made.
 */
#pragma once

#include "store/store.h"
#include "support/postgres.h"

#include <libpq-fe.h>

extern struct postgres *server;
extern PGconn *by_hand;
extern char schema[16]; /**< of the present test */

/** Perform statements by hand. @return the first value; valid until the next call */
const char *perform(const char *sql);

/** Open a store in the present schema, made unless it exists. */
int try_open(const char *address, struct store **ret_store, struct rondo_error *err);
/** The same, which must not fail. */
struct store *open_at(const char *address);
/** The same, at the server's own address. */
struct store *open_store(void);

/** A schema of its own for each test, in the search path of what is done by hand. */
int begin_test(void **state);

#define SERVER_TEST(name) TEST_WITH(name, begin_test, NULL)

/** Perform all tests of the program. @return the code to exit with; 77 = skipped, nothing to run */
int by_hand_main(void);
