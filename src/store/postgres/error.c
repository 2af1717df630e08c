// SPDX-License-Identifier: Apache-2.0
/* SQLSTATEs as Rondo's codes, with messages that name the database and say what to do. */
#include "base/error.h"
#include "store/postgres/internal.h"

#include <string.h>

/** What a state means. The first entry whose state is a beginning of it counts. */
static const struct meaning {
    const char *state;
    int code;
    const char *advice; /**< NULL = the server's message says it all */
} meanings[] = {
    {"RD001", RONDO_ERR_NOT_FOUND, NULL},
    {"RD002", RONDO_ERR_STATE, NULL},
    {"RD003", RONDO_ERR_INVALID, NULL},
    {"RD004", POSTGRES_MISMATCH, NULL},
    {"RD005", RONDO_ERR_LIMIT, NULL},
    {"RD006", RONDO_ERR_DENIED, NULL},
    {"08", RONDO_ERR_IO, "the connection was lost; Rondo reconnects at the next attempt"},
    {"22021", RONDO_ERR_INVALID, "a text is not UTF-8"},
    {"22P05", RONDO_ERR_INVALID, "a text cannot be stored"},
    {"23505", RONDO_ERR_STATE, "it is there already"},
    {"25006", RONDO_ERR_IO,
     "the server only reads (a standby?); name all servers in the address, with "
     "target_session_attrs=read-write"},
    {"28", RONDO_ERR_DENIED, "check the user, the password and pg_hba.conf"},
    {"3D", RONDO_ERR_NOT_FOUND, "create the database"},
    {"3F", RONDO_ERR_CORRUPT, "the schema of the store is gone; restore a backup"},
    {"40", RONDO_ERR_BUSY, "others change the same rows; try again"},
    {"42501", RONDO_ERR_DENIED,
     "the role has no right for this; the owner of the store gives it with `rondo store grant`"},
    {"42P01", RONDO_ERR_CORRUPT, "a table of the store is gone; restore a backup"},
    {"42883", RONDO_ERR_CORRUPT, "a function of the store is gone; restore a backup"},
    {"53100", RONDO_ERR_FULL, "no space is left on the server; free some and try again"},
    {"53200", RONDO_ERR_FULL, "the server is out of memory; try again"},
    {"53300", RONDO_ERR_IO,
     "the server has no connection left; raise max_connections or use a pooler"},
    {"54", RONDO_ERR_LIMIT, "too large for PostgreSQL"},
    {"55P03", RONDO_ERR_BUSY, "others hold a lock for too long; try again"},
    {"57P", RONDO_ERR_IO, "the server ended the session; Rondo reconnects at the next attempt"},
    {"XX001", RONDO_ERR_CORRUPT, "the database is damaged; keep a copy and restore a backup"},
    {"XX002", RONDO_ERR_CORRUPT, "an index is damaged: run REINDEX, and check the disk"},
};

/** Copy the first line of a message without what says that it is one. */
static void copy_line(const char *message, char *ret_line, size_t size)
{
    static const char *const heads[] = {"ERROR:", "FATAL:", "PANIC:"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (strncmp(message, heads[i], strlen(heads[i])) == 0) {
            message += strlen(heads[i]);
        }
    }
    message += strspn(message, " ");
    size_t len = strcspn(message, "\n");
    len = len < size - 1 ? len : size - 1;
    memcpy(ret_line, message, len);
    ret_line[len] = '\0';
}

static int set_meaning(const struct postgres_store *store, const struct meaning *meaning,
                       const char *message, const char *doing, struct rondo_error *err)
{
    char line[256];
    copy_line(message, line, sizeof(line));
    if (meaning->advice == NULL) {
        int r = error_set(err, meaning->code, "%s", line);
        return meaning->code == POSTGRES_MISMATCH ? POSTGRES_MISMATCH : r;
    }
    return error_set(err, meaning->code, "cannot %s in %s: %s (%s)", doing, store->address.shown,
                     meaning->advice, line);
}

/**
 * Whether a session does not know a statement by its name any more, knows another one by it, or
 * has prepared it for tables that a migration has changed. Once for each connection: from now on
 * statements have no names.
 */
static bool has_forgotten(struct postgres_connection *connection, const char *state)
{
    bool is_about_names =
        strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0 || strcmp(state, "0A000") == 0;
    if (!is_about_names || !connection->keeps_session) {
        return false;
    }
    connection->keeps_session = false;
    atomic_store(&connection->store->is_forgetful, true);
    return true;
}

int postgres_fail(struct postgres_connection *connection, const PGresult *result, const char *doing,
                  struct rondo_error *err)
{
    const struct postgres_store *store = connection->store;
    const char *state = store->pq.resultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = result != NULL ? store->pq.resultErrorMessage(result)
                                         : store->pq.errorMessage(connection->db);
    if (store->pq.status(connection->db) != CONNECTION_OK) {
        connection->is_broken = true;
    }
    if (state != NULL && has_forgotten(connection, state)) {
        return error_set(err, RONDO_ERR_BUSY,
                         "cannot %s in %s: the session lost its statements; "
                         "try again",
                         doing, store->address.shown);
    }
    for (size_t i = 0; state != NULL && i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        const struct meaning *meaning = &meanings[i];
        if (strncmp(state, meaning->state, strlen(meaning->state)) == 0) {
            connection->is_broken = connection->is_broken || strncmp(state, "25006", 5) == 0;
            return set_meaning(store, meaning, message, doing, err);
        }
    }
    char line[256];
    copy_line(message, line, sizeof(line));
    if (state == NULL || state[0] == '\0') {
        connection->is_broken = true;
        return error_set(err, RONDO_ERR_IO, "cannot %s: the connection to %s was lost (%s)", doing,
                         store->address.shown, line);
    }
    return error_set(err, RONDO_ERR_IO, "cannot %s in %s: %s (SQLSTATE %s)", doing,
                     store->address.shown, line, state);
}

int postgres_fail_late(struct postgres_connection *connection, const char *doing,
                       struct rondo_error *err)
{
    connection->is_broken = true;
    return error_set(err, RONDO_ERR_IO,
                     "cannot %s: %s gave no answer within %lld s; see whether the server or the "
                     "network hangs",
                     doing, connection->store->address.shown,
                     (long long)(postgres_patience_ns(connection) / NS_PER_S));
}

/**
 * libpq gives no SQLSTATE of what happens before a session begins. The words are those of servers
 * that speak English; others are told the message, with a code that says less.
 */
static bool is_denial(const char *message)
{
    static const char *const words[] = {"authentication failed", "no password supplied",
                                        "pg_hba.conf", "permission denied", "is not permitted"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(message, words[i]) != NULL) {
            return true;
        }
    }
    return strstr(message, "role \"") != NULL && strstr(message, "does not exist") != NULL;
}

int postgres_fail_connect(const struct postgres_store *store, const char *message,
                          struct rondo_error *err)
{
    char line[256];
    copy_line(message, line, sizeof(line));
    if (is_denial(message)) {
        return error_set(err, RONDO_ERR_DENIED,
                         "%s refuses the connection: %s; check the user, the password (PGPASSFILE) "
                         "and pg_hba.conf",
                         store->address.shown, line);
    }
    if (strstr(message, "database \"") != NULL && strstr(message, "does not exist") != NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "%s: %s; create it (createdb)",
                         store->address.shown, line);
    }
    if (strstr(message, "read-only") != NULL || strstr(message, "hot standby") != NULL) {
        return error_set(err, RONDO_ERR_IO,
                         "no server of %s can be written to: %s; promote a standby, or see whether "
                         "the address names the primary",
                         store->address.shown, line);
    }
    return error_set(err, RONDO_ERR_IO,
                     "cannot connect to %s: %s; see whether the server runs and can be reached",
                     store->address.shown, line);
}
