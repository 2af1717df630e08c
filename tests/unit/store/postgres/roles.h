// SPDX-License-Identifier: Apache-2.0
/* Roles of a database with rights in the store of a test, and statements of their own. */
#pragma once

#include "by_hand.h"
#include "store/postgres/rights.h"

#define RUN_A "01900000-0000-7000-8000-00000000000a" /* of the agent team-a1 */
#define RUN_B "01900000-0000-7000-8000-00000000000b" /* of the agent team-b1 */
#define RUN_C "01900000-0000-7000-8000-00000000000c" /* not there */

/** A store of the owner with a run of each of two teams, and the roles of a test: t1_runner, ... */
struct roles {
    struct store *owner;
    char reader[32]; /**< of team-a */
    char runner[32]; /**< of team-a */
    char operator[32];
};

void roles_begin(struct roles *ret_roles);
void roles_make(char ret_name[32], const char *what);
void roles_grant(struct store *store, const char *role, enum store_postgres_rank rank,
                 const char *pattern);

/** The address of the server for a role. */
const char *roles_address(const char *role);
/** A connection by which a role performs statements in the schema of the test. */
PGconn *roles_connect(const char *role);
/** Perform a statement as a role. @return the SQLSTATE, or the first value after "=" */
const char *roles_perform(PGconn *connection, const char *sql);
