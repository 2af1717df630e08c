// SPDX-License-Identifier: Apache-2.0
/*
 * A PostgreSQL server for a figure, on a disk, and the floor under a durable transaction in it:
 * what a program with libpq alone does to keep the same facts, in one pipeline of prepared
 * statements. Every function dies on failure.
 */
#pragma once

#include "../measure.h"

#include <libpq-fe.h>
#include <stddef.h>
#include <stdint.h>

struct database {
    struct postgres *server;
    const char *address;
    PGconn *db; /**< by libpq alone */
};

/** Start a server. @return false where this machine has no PostgreSQL: the figure is skipped */
bool database_begin(struct bench *bench, struct database *ret_database);
void database_end(struct database *database);

/** Open a store, made unless it exists. @return owned, store_close() */
struct store *database_store(const char *address);

/** Perform statements. @return the first value as a number, 0 when there is none */
double database_perform(PGconn *db, const char *sql);

/** What one iteration of a loop leaves in a store. */
struct database_traces {
    int events;         /**< rows */
    size_t event_bytes; /**< of each, in the mean */
    size_t checkpoint_bytes;
};

/** Look at what loops have left in the store, which is in the schema "rondo". */
struct database_traces database_traces(PGconn *db);

/** Events that one iteration has at most. */
#define DATABASE_EVENTS_MAX 16

/** The same, found by a loop of a few empty iterations. */
struct database_traces database_find_traces(const struct database *database);

/**
 * Make the tables of the floor: runs with an epoch, a lease and a number of events, events with
 * their places in the run and among all, and checkpoints.
 * @param runs with the numbers 0 to runs - 1
 */
void database_floor_make(PGconn *db, int runs);
/** Prepare the floor's statements for such traces. */
void database_floor_prepare(PGconn *db, const struct database_traces *traces);
/** Commit one iteration of a run. @param round never the same for one run */
void database_floor_commit(PGconn *db, const struct database_traces *traces, int run, int round);
/** The same transaction as a script of pgbench, which takes the run from its client's number. */
void database_floor_script(const char *path, const struct database_traces *traces);

/** Clients at once, transactions of each, and a number that no other load of the floor has. */
struct database_load {
    int clients;
    int turns;
    size_t round;
};

/** Whether this machine has pgbench; says so when not. */
bool database_has_pgbench(void);
/** Transactions a second of that script, without the time in which pgbench connects. */
double database_pgbench(const struct database *database, const char *script,
                        const struct database_traces *traces, const struct database_load *load);
