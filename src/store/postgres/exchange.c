// SPDX-License-Identifier: Apache-2.0
/*
 * What goes over a connection: queries in pipelines, their results, transactions. Every wait has a
 * deadline, which moves while bytes come or go; after one that passed the connection is closed,
 * because what the server does with the statement is not known.
 *
 * What a connection performs more often is prepared, in the pipeline of its third use, and not
 * parsed again. Behind a pooler, which may give each transaction another session, statements are
 * unnamed. A pooler that is not noticed, or a migration, shows in an error of the first statement
 * that a session does not know; then the transaction is repeated, and nothing is named any more.
 *
 * Threads: the connection's mutex is held.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "store/postgres/internal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/** Uses of a statement before the one that prepares it: for what is done once it does not pay. */
#define USES_BEFORE 2

#define RETRY_PAUSE_NS (2 * NS_PER_MS)

/** Wait until the server can be heard, or also be written to. @return false: the time is over */
static bool wait_for(const struct postgres_connection *connection, short events,
                     int64_t deadline_ns)
{
    const struct clock *clock = clock_system();
    struct pollfd waiting = {.fd = connection->store->pq.socket(connection->db), .events = events};
    for (;;) {
        int64_t left = deadline_ns - clock_monotonic(clock);
        int r = left > 0 ? poll(&waiting, 1, (int)(left / NS_PER_MS + 1)) : 0;
        if (r == 0) {
            return false;
        }
        if (r > 0 || errno != EINTR) {
            return true; /* What is wrong with the socket, libpq will find. */
        }
    }
}

/** The end of a wait, counted from the last time that bytes came or went. */
static int64_t deadline_of(const struct postgres_connection *connection)
{
    return clock_monotonic(clock_system()) + postgres_patience_ns(connection);
}

/** Send what waits to be sent and the end of a pipeline. */
static int flush_all(struct postgres_connection *connection, const char *doing,
                     struct rondo_error *err)
{
    const struct pq_library *pq = &connection->store->pq;
    int r;
    if (pq->pipelineSync(connection->db) != 1) {
        return postgres_fail(connection, NULL, doing, err);
    }
    while ((r = pq->flush(connection->db)) == 1) {
        if (!wait_for(connection, POLLIN | POLLOUT, deadline_of(connection))) {
            return postgres_fail_late(connection, doing, err);
        }
        /* The server may wait for its answers to be read before it reads further. */
        if (pq->consumeInput(connection->db) != 1) {
            break;
        }
    }
    /* When it cannot be written to, its last words may still be read. */
    return 0;
}

/** Whether to send a query by its name; prepares it when it is time for that. */
static bool use_name(struct postgres_connection *connection, struct postgres_query *query)
{
    const struct postgres_store *store = connection->store;
    unsigned char *uses = &connection->uses[query->which];
    query->prepares = false;
    if (!connection->keeps_session || query->sql != NULL || query->which <= PG_ROLLBACK ||
        atomic_load(&store->is_forgetful)) {
        return false;
    }
    if (*uses < USES_BEFORE) {
        ++*uses;
        return false;
    }
    if (*uses != POSTGRES_PREPARED &&
        store->pq.sendPrepare(connection->db, store->names[query->which], store->sql[query->which],
                              query->count, query->types) == 1) {
        *uses = POSTGRES_PREPARED;
        query->prepares = true;
    }
    return *uses == POSTGRES_PREPARED;
}

/** Queue a statement. */
static int queue_statement(struct postgres_connection *connection, struct postgres_query *query,
                           const char *doing, struct rondo_error *err)
{
    static const int formats[POSTGRES_PARAMETERS_MAX] = {
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    };
    const struct postgres_store *store = connection->store;
    const struct pq_library *pq = &store->pq;
    const char *values[POSTGRES_PARAMETERS_MAX];
    int lengths[POSTGRES_PARAMETERS_MAX];
    for (int i = 0; i < query->count; i++) {
        const struct buf *array =
            query->array_of[i] > 0 ? &query->arrays[query->array_of[i] - 1] : NULL;
        values[i] = array != NULL         ? buf_string(array)
                    : query->is_number[i] ? query->numbers[i]
                                          : query->values[i];
        lengths[i] = array != NULL ? (int)array->len : query->lengths[i];
        connection->queued_bytes += (uint64_t)lengths[i];
    }
    int is_queued;
    if (use_name(connection, query)) {
        is_queued = pq->sendQueryPrepared(connection->db, store->names[query->which], query->count,
                                          values, lengths, formats, 1);
    } else {
        const char *sql = query->sql != NULL ? query->sql : store->sql[query->which];
        is_queued = pq->sendQueryParams(connection->db, sql, query->count, query->types, values,
                                        lengths, formats, 1);
    }
    return is_queued == 1 ? 0 : postgres_fail(connection, NULL, doing, err);
}

/** Wait for the next result; NULL after the last one of a statement. */
static int next_result(struct postgres_connection *connection, PGresult **ret_result,
                       const char *doing, struct rondo_error *err)
{
    const struct pq_library *pq = &connection->store->pq;
    while (pq->isBusy(connection->db)) {
        if (!wait_for(connection, POLLIN, deadline_of(connection))) {
            return postgres_fail_late(connection, doing, err);
        }
        if (pq->consumeInput(connection->db) != 1) {
            break;
        }
    }
    *ret_result = pq->getResult(connection->db);
    return 0;
}

static bool is_good(const struct pq_library *pq, const PGresult *result)
{
    ExecStatusType status = pq->resultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/**
 * Take the result of one statement.
 * @param code of the first failure so far, or 0: then `err` is set by one
 * @param slot where a good one goes; NULL = it is cleared
 */
static int take_result(struct postgres_connection *connection, PGresult **slot, int code,
                       const char *doing, struct rondo_error *err)
{
    const struct pq_library *pq = &connection->store->pq;
    PGresult *result = NULL;
    int r = next_result(connection, &result, doing, err);
    if (r == 0 && result == NULL) {
        r = postgres_fail(connection, NULL, doing, err);
    }
    if (r < 0) {
        return code < 0 ? code : r;
    }
    if (code == 0 && !is_good(pq, result)) {
        code = postgres_fail(connection, result, doing, err);
    }
    if (slot != NULL && code == 0) {
        *slot = result;
    } else {
        pq->clear(result);
    }
    /* After each statement comes a NULL; a connection that was lost has something to say before. */
    while (!connection->is_broken && (r = next_result(connection, &result, doing, err)) == 0 &&
           result != NULL) {
        code = code < 0 ? code : postgres_fail(connection, result, doing, err);
        pq->clear(result);
    }
    return code < 0 ? code : r;
}

/** Take the result of what prepared a statement, if it was prepared, before that of itself. */
static int take_prepared(struct postgres_connection *connection, const struct postgres_query *query,
                         int code, const char *doing, struct rondo_error *err)
{
    if (!query->prepares) {
        return code;
    }
    code = take_result(connection, NULL, code, doing, err);
    if (code < 0) {
        connection->uses[query->which] = 0; /* It was skipped, perhaps. */
    }
    return code;
}

/** Take what ends a pipeline: only now is a transaction through. */
static int take_end(struct postgres_connection *connection, int code, const char *doing,
                    struct rondo_error *err)
{
    const struct pq_library *pq = &connection->store->pq;
    PGresult *result = NULL;
    if (connection->is_broken) {
        return code < 0 ? code : postgres_fail(connection, NULL, doing, err);
    }
    int r = next_result(connection, &result, doing, err);
    if (r == 0 && (result == NULL || pq->resultStatus(result) != PGRES_PIPELINE_SYNC)) {
        r = postgres_fail(connection, result, doing, err);
        connection->is_broken = true; /* Nobody knows what comes next. */
    }
    pq->clear(result);
    return code < 0 ? code : r;
}

static int refuse_text(const struct postgres_query *query, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID,
                     "a store in PostgreSQL cannot keep a name that is not UTF-8 (%.40s)",
                     query->refused);
}

void postgres_clear(const struct postgres_store *store, PGresult **results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store->pq.clear(results[i]);
        results[i] = NULL;
    }
}

/** Queue the statements of a part, and send them. */
static int send_part(struct postgres_connection *connection, struct postgres_query *queries,
                     size_t count, enum postgres_part part, const char *doing,
                     struct rondo_error *err)
{
    struct postgres_query begin = {.which = PG_BEGIN};
    struct postgres_query commit = {.which = PG_COMMIT};
    bool begins = part == POSTGRES_WHOLE || part == POSTGRES_FIRST;
    bool ends = part == POSTGRES_WHOLE || part == POSTGRES_LAST;
    int r = begins ? queue_statement(connection, &begin, doing, err) : 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = queue_statement(connection, &queries[i], doing, err);
    }
    if (r == 0 && ends) {
        r = queue_statement(connection, &commit, doing, err);
    }
    return r == 0 ? flush_all(connection, doing, err) : r;
}

void postgres_rollback(struct postgres_connection *connection)
{
    struct postgres_query rollback = {.which = PG_ROLLBACK};
    struct rondo_error ignored = {0};
    int r = connection->is_broken ? RONDO_ERR_IO
                                  : queue_statement(connection, &rollback, "roll back", &ignored);
    if (r == 0) {
        r = flush_all(connection, "roll back", &ignored);
    }
    if (r == 0) {
        r = take_result(connection, NULL, 0, "roll back", &ignored);
        r = take_end(connection, r, "roll back", &ignored);
    }
    if (r < 0) {
        connection->is_broken = true; /* With the connection the transaction ends. */
    }
}

/**
 * See that a transaction which went through is as safe as the server's settings promise. One that
 * is not can be handed in again: that waits for the standby, too.
 */
static int check_copied(const struct postgres_connection *connection, const char *doing,
                        struct rondo_error *err)
{
    return connection->is_uncopied
               ? error_set(err, RONDO_ERR_IO,
                           "cannot %s in %s: somebody ended the wait for the standby "
                           "(pg_cancel_backend), so a failover could lose it; see whether the "
                           "standby runs",
                           doing, connection->store->address.shown)
               : 0;
}

int postgres_try(struct postgres_connection *connection, struct postgres_query *queries,
                 size_t count, enum postgres_part part, PGresult **ret_results, const char *doing,
                 struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = queries[i].refused != NULL ? refuse_text(&queries[i], err) : 0;
        if (ret_results != NULL) {
            ret_results[i] = NULL;
        }
    }
    bool is_sent = r == 0;
    connection->is_uncopied = false;
    r = is_sent ? send_part(connection, queries, count, part, doing, err) : r;
    if (is_sent && r < 0) {
        connection->is_broken = true;
    }
    bool begins = part == POSTGRES_WHOLE || part == POSTGRES_FIRST;
    bool ends = part == POSTGRES_WHOLE || part == POSTGRES_LAST;
    if (is_sent && r == 0) {
        size_t left = count + begins + ends;
        for (size_t i = 0; i < left && !connection->is_broken; i++) {
            bool is_query = i >= begins && i < count + begins;
            if (is_query) {
                r = take_prepared(connection, &queries[i - begins], r, doing, err);
            }
            PGresult **slot = is_query && ret_results != NULL ? &ret_results[i - begins] : NULL;
            r = connection->is_broken ? r : take_result(connection, slot, r, doing, err);
        }
        r = take_end(connection, r, doing, err);
        r = r == 0 ? check_copied(connection, doing, err) : r;
    }
    if (r < 0) {
        if (ret_results != NULL) {
            postgres_clear(store, ret_results, count);
        }
        if (!connection->is_broken && store->pq.transactionStatus(connection->db) != PQTRANS_IDLE) {
            postgres_rollback(connection);
        }
    }
    return r;
}

void postgres_pause(int tries)
{
    /* Who collided once must not do so again in step. */
    int64_t share = (int64_t)(random_u64(random_system()) % 1000);
    clock_sleep(clock_system(), RETRY_PAUSE_NS * (INT64_C(1) << tries) * (500 + share) / 1000,
                NULL);
}

int postgres_transact(struct postgres_connection *connection, struct postgres_query *queries,
                      size_t count, PGresult **ret_results, const char *doing,
                      struct rondo_error *err)
{
    int r;
    int tries = 0;
    while ((r = postgres_try(connection, queries, count, POSTGRES_WHOLE, ret_results, doing,
                             err)) == RONDO_ERR_BUSY &&
           ++tries < POSTGRES_TRIES) {
        postgres_pause(tries);
    }
    return tries > 0 ? postgres_settle(r, err) : r;
}

int postgres_perform(struct postgres_store *store, struct postgres_query *query,
                     PGresult **ret_result, const char *doing, struct rondo_error *err)
{
    struct postgres_connection *connection = NULL;
    int r = postgres_begin(store, false, &connection, err);
    if (r < 0) {
        return r;
    }
    r = postgres_transact(connection, query, 1, ret_result, doing, err);
    postgres_end(connection);
    return r;
}

int postgres_perform_again(struct postgres_store *store, struct postgres_query *query,
                           PGresult **ret_result, const char *doing, struct rondo_error *err)
{
    int r = postgres_perform(store, query, ret_result, doing, err);
    if (r == RONDO_ERR_IO) {
        r = postgres_settle(postgres_perform(store, query, ret_result, doing, err), err);
    }
    return r;
}

int postgres_script(struct postgres_connection *connection, const char *sql, PGresult **ret_last,
                    const char *doing, struct rondo_error *err)
{
    const struct pq_library *pq = &connection->store->pq;
    PGresult *last = NULL;
    PGresult *result = NULL;
    int r = 0;
    if (pq->exitPipelineMode(connection->db) != 1 || pq->sendQuery(connection->db, sql) != 1) {
        r = postgres_fail(connection, NULL, doing, err);
        connection->is_broken = true;
        return r;
    }
    while (pq->flush(connection->db) == 1 &&
           wait_for(connection, POLLOUT, deadline_of(connection))) {
    }
    int code = 0;
    while ((r = next_result(connection, &result, doing, err)) == 0 && result != NULL) {
        if (code == 0 && !is_good(pq, result)) {
            code = postgres_fail(connection, result, doing, err);
        }
        pq->clear(last);
        last = result;
    }
    r = code < 0 ? code : r;
    if (!connection->is_broken && pq->enterPipelineMode(connection->db) != 1) {
        connection->is_broken = true;
    }
    if (r == 0 && ret_last != NULL) {
        *ret_last = last;
    } else {
        pq->clear(last);
    }
    return r;
}

/** Send a statement and wait for its first row or its end. */
static int begin_reading(struct postgres_reading *reading, struct postgres_query *query,
                         struct rondo_error *err)
{
    struct postgres_connection *connection = reading->connection;
    int r = query->refused != NULL ? refuse_text(query, err)
                                   : queue_statement(connection, query, reading->doing, err);
    if (r == 0) {
        r = flush_all(connection, reading->doing, err);
    }
    if (r == 0) {
        r = take_prepared(connection, query, 0, reading->doing, err);
    }
    if (r < 0) {
        return r;
    }
    if (connection->store->pq.setSingleRowMode(connection->db) != 1) {
        connection->is_broken = true;
        return postgres_fail(connection, NULL, reading->doing, err);
    }
    r = postgres_read_row(reading, err);
    reading->is_begun = false;
    return r < 0 ? r : 0;
}

int postgres_read_begin(struct postgres_store *store, struct postgres_query *query,
                        const char *doing, struct postgres_reading *ret_reading,
                        struct rondo_error *err)
{
    int r = RONDO_ERR_IO;
    for (int tries = 0; tries < 2 && (r == RONDO_ERR_IO || r == RONDO_ERR_BUSY); tries++) {
        struct postgres_reading reading = {.doing = doing, .is_begun = true};
        r = postgres_begin(store, false, &reading.connection, err);
        if (r < 0) {
            return r;
        }
        r = begin_reading(&reading, query, err);
        if (r < 0) {
            postgres_read_end(&reading);
        } else {
            *ret_reading = reading;
        }
        r = tries > 0 ? postgres_settle(r, err) : r;
    }
    return r;
}

int postgres_read_row(struct postgres_reading *reading, struct rondo_error *err)
{
    struct postgres_connection *connection = reading->connection;
    const struct pq_library *pq = &connection->store->pq;
    if (!reading->is_begun) {
        reading->is_begun = true; /* It is there already. */
    } else {
        pq->clear(reading->row);
        reading->row = NULL;
        int r = next_result(connection, &reading->row, reading->doing, err);
        if (r < 0) {
            return r;
        }
    }
    ExecStatusType status = pq->resultStatus(reading->row);
    if (status == PGRES_SINGLE_TUPLE) {
        return 1;
    }
    return status == PGRES_TUPLES_OK ? 0
                                     : postgres_fail(connection, reading->row, reading->doing, err);
}

void postgres_read_end(struct postgres_reading *reading)
{
    struct postgres_connection *connection = reading->connection;
    const struct pq_library *pq = &connection->store->pq;
    struct rondo_error ignored = {0};
    bool is_end = false;
    pq->clear(reading->row);
    reading->row = NULL;
    int nothing = 0; /* Between statements comes one NULL; two are the end of a lost connection. */
    while (!connection->is_broken && !is_end && nothing < 2) {
        PGresult *result = NULL;
        if (next_result(connection, &result, reading->doing, &ignored) < 0) {
            break;
        }
        nothing = result == NULL ? nothing + 1 : 0;
        is_end = result != NULL && pq->resultStatus(result) == PGRES_PIPELINE_SYNC;
        pq->clear(result);
    }
    if (!is_end) {
        connection->is_broken = true;
    }
    postgres_end(connection);
}
