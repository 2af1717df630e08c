// SPDX-License-Identifier: Apache-2.0
/*
 * Connections: opening them, choosing one, giving them back. What an address does not say is chosen
 * so that a dead server or network is noticed within about half a minute.
 *
 * Connecting blocks, with libpq's own deadline, because only so does it have one for each host.
 *
 * Threads: see internal.h.
 */
#include "base/clock.h"
#include "base/error.h"
#include "store/postgres/internal.h"
#include "store/postgres/schema.h"

#include <poll.h>
#include <string.h>

/** The oldest server whose functions are used. */
#define SERVER_VERSION_MIN 150000

/** Options that libpq knows, and more. */
#define OPTIONS_MAX 80

/** What an address may replace. */
static const char *const defaults[][2] = {
    {"connect_timeout", "10"},
    {"target_session_attrs", "read-write"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "30000"},
    {"fallback_application_name", "rondo"},
};

/**
 * Notices are not shown. One says that somebody ended a commit's wait for the standby; it is known
 * by the server's function, because its words depend on the language.
 */
static void take_notice(void *context, const PGresult *result)
{
    struct postgres_connection *connection = context;
    const char *function = connection->store->pq.resultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    if (function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0) {
        connection->is_uncopied = true;
    }
}

/** Check what can be known of a server without asking it. */
static int check_server(const struct postgres_connection *connection, struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    int version = store->pq.serverVersion(connection->db);
    const char *encoding = store->pq.parameterStatus(connection->db, "server_encoding");
    if (version < SERVER_VERSION_MIN) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "%s is PostgreSQL %d; a store needs version %d or newer",
                         store->address.shown, version / 10000, SERVER_VERSION_MIN / 10000);
    }
    if (encoding != NULL && strcmp(encoding, "UTF8") != 0) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "the database of %s has the encoding %s; create one with UTF8",
                         store->address.shown, encoding);
    }
    return 0;
}

/** The options of an address after the defaults, which they replace. @return number, or a code */
static int read_options(const struct postgres_store *store, const char **names, const char **values,
                        PQconninfoOption **ret_options, struct rondo_error *err)
{
    int count = 0;
    char *message = NULL;
    PQconninfoOption *options = store->pq.conninfoParse(store->address.uri, &message);
    if (options == NULL) {
        /* libpq's message may have a part of a password that is not written as it must be. */
        store->pq.freemem(message);
        return error_set(
            err, RONDO_ERR_INVALID,
            "%s cannot be understood: write it as postgresql://USER@HOST/DATABASE, and "
            "write special characters of a password as %%XX",
            store->address.shown);
    }
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        names[count] = defaults[i][0];
        values[count++] = defaults[i][1];
    }
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
        if (option->val != NULL && count < OPTIONS_MAX - 2) {
            names[count] = option->keyword;
            values[count++] = option->val;
        }
    }
    names[count] = "client_encoding";
    values[count++] = "UTF8";
    *ret_options = options;
    return count;
}

static int open_connection(struct postgres_connection *connection, struct rondo_error *err)
{
    struct postgres_store *store = connection->store;
    const char *names[OPTIONS_MAX] = {NULL};
    const char *values[OPTIONS_MAX] = {NULL};
    PQconninfoOption *options = NULL;
    int r = read_options(store, names, values, &options, err);
    if (r < 0) {
        return r;
    }
    connection->db = store->pq.connectdbParams(names, values, 0);
    atomic_fetch_add(&store->pool.open, connection->db != NULL);
    store->pq.conninfoFree(options);
    connection->is_broken = false;
    connection->is_identified = false;
    connection->keeps_session = false;
    memset(connection->uses, 0, sizeof(connection->uses));
    if (store->pq.status(connection->db) != CONNECTION_OK) {
        r = postgres_fail_connect(store, store->pq.errorMessage(connection->db), err);
    } else {
        r = check_server(connection, err);
    }
    if (r >= 0) {
        store->pq.setNoticeReceiver(connection->db, take_notice, connection);
        bool is_ready = store->pq.setnonblocking(connection->db, 1) == 0 &&
                        store->pq.enterPipelineMode(connection->db) == 1;
        r = is_ready ? 0 : postgres_fail(connection, NULL, "connect", err);
    }
    if (r < 0) {
        postgres_close(connection);
    }
    return r < 0 ? r : 0;
}

void postgres_close(struct postgres_connection *connection)
{
    if (connection->db != NULL) {
        connection->store->pq.finish(connection->db);
        connection->db = NULL;
        atomic_fetch_sub(&connection->store->pool.open, 1);
    }
}

/**
 * Whether an idle connection has ended, or is about to: a server that shuts down says so. Nothing
 * else is said to it unasked but changes of settings.
 */
static bool has_ended(const struct postgres_connection *connection)
{
    struct pollfd waiting = {.fd = connection->store->pq.socket(connection->db), .events = POLLIN};
    return waiting.fd < 0 || poll(&waiting, 1, 0) != 0;
}

/**
 * See that the schema is one that this program can use, that positions go on, and whether a pooler
 * is between.
 */
static int identify(struct postgres_connection *connection, struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    PGresult *result = NULL;
    struct postgres_query query = {.which = PG_IDENTITY};
    int r = postgres_transact(connection, &query, 1, &result, "look at the store", err);
    if (r < 0) {
        return r;
    }
    struct checked_row row = postgres_row(store, result, 0);
    if (store->pq.ntuples(result) == 0) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "the schema %s of %s is no store: its table \"meta\" has no row; restore a "
                      "backup, or name another schema with rondo_schema",
                      store->address.schema, store->address.shown);
    } else {
        r = postgres_check_answer(&row, "nftnn", "look at the store", err);
    }
    if (r == 0) {
        const struct postgres_version version = {postgres_number(&row, 0),
                                                 postgres_number(&row, 3)};
        connection->version = version.schema;
        /* A pooler has numbers of its own for its clients. */
        connection->keeps_session =
            postgres_number(&row, 4) == store->pq.backendPID(connection->db);
        r = postgres_check_version(store, POSTGRES_SCHEMA_VERSION, &version, err);
    }
    if (r == 0 && postgres_flag(&row, 1)) {
        auto_query struct postgres_query note = {.which = PG_NOTE_SYSTEM};
        postgres_add_text(&note, store->pq.getvalue(result, 0, 2));
        r = postgres_transact(connection, &note, 1, NULL, "look at the store", err);
    }
    store->pq.clear(result);
    connection->is_identified = r == 0;
    return r;
}

int postgres_make_ready(struct postgres_connection *connection, struct rondo_error *err)
{
    if (connection->db != NULL && (connection->is_broken || has_ended(connection))) {
        postgres_close(connection);
    }
    int r = connection->db == NULL ? open_connection(connection, err) : 0;
    connection->patience_ns = POSTGRES_PATIENCE_NS;
    connection->queued_bytes = 0;
    if (r == 0 && connection->store->is_prepared && !connection->is_identified) {
        r = identify(connection, err);
    }
    return r;
}

/**
 * Lock a connection that nobody uses, an early one if possible; else wait for one.
 * @param first of the connections to choose from
 */
static struct postgres_connection *choose(struct postgres_store *store, unsigned first,
                                          unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        if (pthread_mutex_trylock(&store->connections[i].mutex) == 0) {
            return &store->connections[i];
        }
    }
    unsigned turn = first + atomic_fetch_add(&store->next, 1) % count;
    int64_t begun_ns = clock_monotonic(clock_system());
    atomic_fetch_add(&store->pool.waits, 1);
    pthread_mutex_lock(&store->connections[turn].mutex);
    atomic_fetch_add(&store->pool.waiting_ns, clock_monotonic(clock_system()) - begun_ns);
    return &store->connections[turn];
}

int postgres_begin(struct postgres_store *store, bool is_commit,
                   struct postgres_connection **ret_connection, struct rondo_error *err)
{
    unsigned commits = store->commit_count;
    struct postgres_connection *connection =
        is_commit ? choose(store, 0, commits)
                  : choose(store, commits, store->address.connections - commits);
    int r = postgres_make_ready(connection, err);
    if (r == RONDO_ERR_IO && is_commit && connection != &store->connections[0]) {
        /* Perhaps the server has no connection left. The first one may be open. */
        pthread_mutex_unlock(&connection->mutex);
        connection = &store->connections[0];
        pthread_mutex_lock(&connection->mutex);
        r = postgres_settle(postgres_make_ready(connection, err), err);
    }
    if (r < 0) {
        pthread_mutex_unlock(&connection->mutex);
        return r;
    }
    atomic_fetch_add(&store->pool.used, 1);
    *ret_connection = connection;
    return 0;
}

struct postgres_connection *postgres_begin_open(struct postgres_store *store)
{
    /* Those of commits are the last choice. */
    for (unsigned i = store->address.connections; i-- > 0;) {
        struct postgres_connection *connection = &store->connections[i];
        if (pthread_mutex_trylock(&connection->mutex) != 0) {
            continue;
        }
        if (connection->db != NULL && !connection->is_broken && !has_ended(connection)) {
            connection->patience_ns = POSTGRES_PATIENCE_NS;
            atomic_fetch_add(&store->pool.used, 1);
            return connection;
        }
        pthread_mutex_unlock(&connection->mutex);
    }
    return NULL;
}

void postgres_end(struct postgres_connection *connection)
{
    if (connection->is_broken) {
        postgres_close(connection);
    }
    atomic_fetch_sub(&connection->store->pool.used, 1);
    pthread_mutex_unlock(&connection->mutex);
}
