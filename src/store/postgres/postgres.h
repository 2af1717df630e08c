// SPDX-License-Identifier: Apache-2.0
/*
 * The PostgreSQL back end: one database, version 15 or newer, that any number of processes on any
 * number of machines share. Times and leases are those of the database's clock, so the clocks of
 * the machines do not matter.
 */
#pragma once

#include "store/store.h"

struct store_postgres_options {
    /**
     * URI of libpq, "postgresql://..." or "postgres://...", with all of its parameters (several
     * hosts, sslmode, passfile, service, target_session_attrs, ...). Two more are ours:
     * rondo_schema=NAME (default "rondo"), and rondo_connections=N (2 to 64, default 4).
     */
    const char *address;
    const char *schema; /**< NULL = that of the address */
    bool may_create;    /**< create the schema, else RONDO_ERR_NOT_FOUND */
    bool is_silent;     /**< others are not told what it writes, and see it later: for tests that
                             decide what goes over its connections */
    bool may_migrate;   /**< bring an older schema up to date, else RONDO_ERR_VERSION */
    const struct clock
        *clock; /**< NULL = the database's; else times are taken from it, for tests */
};

/** Whether a text is an address of this back end, by how it begins. Any thread. */
bool store_postgres_is_address(const char *text);

/**
 * The address as people may see it: without a password and without secrets in its parameters. Any
 * thread.
 * @return owned by the caller
 */
char *store_postgres_show(const char *address);

/**
 * Value of a parameter of an address, decoded. Any thread.
 * @return owned by the caller; NULL = it has none
 */
char *store_postgres_parameter(const char *address, const char *name);

/** What the role by which a store is opened may do; see rights.h. */
enum store_postgres_rank {
    STORE_NO_RIGHTS = 0,
    STORE_READER,
    STORE_RUNNER,
    STORE_OPERATOR,
    STORE_OWNER, /**< everything: the owner of the schema, or a superuser */
    STORE_RANK_COUNT,
};

/** "runner". Static; any thread. */
const char *store_postgres_rank_name(enum store_postgres_rank rank);

/** The connections of a process, for figures. */
struct store_postgres_pool {
    uint64_t open;
    uint64_t used;      /**< of them, now */
    uint64_t waits;     /**< times that a thread had to wait for one, so far */
    int64_t waiting_ns; /**< how long altogether */
};

/**
 * Count the connections of a store. Does not use any. Any thread.
 * @param store of store_postgres_open()
 */
struct store_postgres_pool store_postgres_pool(struct store *store);

/** The copies of a database that follow it. */
struct store_postgres_replication {
    bool is_known;     /**< else the role may not see how far they are; the rest is 0 */
    uint64_t standbys; /**< that are connected */
    int64_t lag_ns;    /**< time from a commit until the slowest of them shows it */
    int64_t lag_bytes; /**< of the log that it does not show yet */
};

/**
 * Ask the server how far its standbys are. A round trip.
 * @param store of store_postgres_open()
 */
int store_postgres_replication(struct store *store, struct store_postgres_replication *ret_state,
                               struct rondo_error *err);

/** What an operator has to know of a server. */
struct store_postgres_server {
    int64_t round_trip_ns; /**< of the quickest of a few questions */
    bool is_standby;       /**< it takes no writes */
    bool is_durable;       /**< fsync and full_page_writes are on */
    char synchronous_commit[24];
    bool has_standbys;      /**< commits wait for standbys, if synchronous_commit lets them */
    int64_t connections;    /**< of all clients, now */
    int64_t connection_max; /**< that clients who are no superusers may have */
    unsigned own_max;       /**< that a server with this address has, the listening one included */
    bool is_remote;         /**< the connection is by TCP */
    bool is_encrypted;      /**< by TLS */
    char role[64];          /**< by which the store is opened */
    enum store_postgres_rank rank;
    char agents[256];  /**< that it has rights for, perhaps cut off; "" for the owner */
    bool is_superuser; /**< of the whole server */
    bool has_policies; /**< that apply to all machines */
};

/**
 * Look at the server of a store, for `rondo doctor`. A few round trips.
 * @param store of store_postgres_open()
 */
int store_postgres_look(struct store *store, struct store_postgres_server *ret_server,
                        struct rondo_error *err);

/**
 * Open or create a store. An older schema, and a newer one that says that programs of this version
 * cannot use it, is RONDO_ERR_VERSION; one of another program RONDO_ERR_INVALID. With `may_migrate`
 * RONDO_ERR_BUSY when runs are executed by programs that could not use the migrated store.
 * RONDO_ERR_UNSUPPORTED when this machine has no libpq or the server is too old, RONDO_ERR_DENIED
 * when the server refuses the user, RONDO_ERR_IO when it cannot be reached within its deadline
 * (`connect_timeout` of the address for each host, else 10 s).
 *
 * A connection that is lost is made anew by the next call; the call that lost it is RONDO_ERR_IO.
 * No call waits for longer than 30 s for an answer of the server (gc and health: 10 minutes).
 * @param ret_store owned by the caller; store_close()
 */
int store_postgres_open(const struct store_postgres_options *options, struct store **ret_store,
                        struct rondo_error *err);
