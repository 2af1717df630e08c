// SPDX-License-Identifier: Apache-2.0
/* A server for figures, and the floor's transaction. One thread for each connection. */
#include "database.h"

#include "../loops.h"

#include "store/postgres/postgres.h"
#include "support/postgres.h"

#include <stdlib.h>
#include <string.h>

bool database_begin(struct bench *bench, struct database *ret_database)
{
    (void)bench;
    const struct postgres_options options = {
        .is_on_disk = true,
        .settings = {"max_connections=150", "shared_buffers='256MB'", "max_wal_size='2GB'"},
    };
    struct postgres *server = postgres_new(&options);
    if (server == NULL) {
        fprintf(stderr, "    skipped: this machine has no PostgreSQL\n");
        return false;
    }
    const char *address = postgres_address(server);
    PGconn *db = PQconnectdb(address);
    if (PQstatus(db) != CONNECTION_OK) {
        bench_die("%s", PQerrorMessage(db));
    }
    PQsetNoticeProcessor(db, NULL, NULL);
    *ret_database = (struct database){server, address, db};
    return true;
}

void database_end(struct database *database)
{
    PQfinish(database->db);
    postgres_free(database->server);
}

struct store *database_store(const char *address)
{
    struct store *store = NULL;
    struct rondo_error err = {0};
    const struct store_postgres_options options = {.address = address, .may_create = true};
    if (store_postgres_open(&options, &store, &err) < 0) {
        bench_die("%s", err.message);
    }
    return store;
}

double database_perform(PGconn *db, const char *sql)
{
    PGresult *result = PQexec(db, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        bench_die("%s: %s", sql, PQerrorMessage(db));
    }
    double number = PQntuples(result) > 0 ? strtod(PQgetvalue(result, 0, 0), NULL) : 0;
    PQclear(result);
    return number;
}

struct database_traces database_traces(PGconn *db)
{
    static const char iterations[] = "(SELECT count(*) FROM rondo.events WHERE type ="
                                     " 'iteration.finished')";
    char sql[512];
    snprintf(sql, sizeof(sql),
             "SELECT count(*)::float8 / %s FROM rondo.events WHERE type LIKE 'iteration.%%'"
             " OR type LIKE 'checkpoint.%%'",
             iterations);
    double events = database_perform(db, sql);
    double bytes = database_perform(db, "SELECT avg(length(type) + length(data)) FROM rondo.events"
                                        " WHERE type LIKE 'iteration.%' OR type LIKE"
                                        " 'checkpoint.%'");
    double checkpoint = database_perform(
        db, "SELECT avg(length(fold) + length(conditions) + coalesce(length(custom_data), 0) +"
            " coalesce(length(state), 0) + length(sha256)) FROM rondo.checkpoints");
    return (struct database_traces){(int)(events + 0.5), (size_t)bytes, (size_t)checkpoint};
}

void database_floor_make(PGconn *db, int runs)
{
    char sql[256];
    database_perform(db,
                     "CREATE TABLE floor_runs (id bigint PRIMARY KEY, epoch bigint NOT NULL,"
                     " lease_until bigint NOT NULL, last_seq bigint NOT NULL) WITH (fillfactor=50);"
                     "CREATE TABLE floor_events (run bigint NOT NULL, seq bigint NOT NULL, position"
                     " bigserial UNIQUE, data text NOT NULL, PRIMARY KEY (run, seq));"
                     "CREATE TABLE floor_checkpoints (run bigint NOT NULL, number bigint NOT NULL,"
                     " data text NOT NULL, PRIMARY KEY (run, number))");
    snprintf(sql, sizeof(sql),
             "INSERT INTO floor_runs SELECT i, 1, 0, 0 FROM generate_series(0, %d) i", runs - 1);
    database_perform(db, sql);
}

static char *repeat(size_t len)
{
    char *text = malloc(len + 1);
    if (text == NULL) {
        bench_die("out of memory");
    }
    memset(text, 'a', len);
    text[len] = '\0';
    return text;
}

/** The floor's statements: $1 the run, $2 the round, $3 an event, $4 a checkpoint. */
static void write_insert(const struct database_traces *traces, const char *run, const char *round,
                         const char *data, char *ret_sql, size_t size)
{
    size_t len =
        (size_t)snprintf(ret_sql, size, "INSERT INTO floor_events (run, seq, data) VALUES ");
    for (int i = 0; i < traces->events; i++) {
        len += (size_t)snprintf(ret_sql + len, size - len, "%s(%s, %s * %d + %d, %s)",
                                i == 0 ? "" : ", ", run, round, traces->events, i, data);
    }
}

static const char update_form[] = "UPDATE floor_runs SET lease_until = %s, last_seq = last_seq + 1"
                                  " WHERE id = %s AND epoch = 1";
static const char checkpoint_form[] =
    "INSERT INTO floor_checkpoints (run, number, data) VALUES (%s, %s, %s)";
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void prepare(PGconn *db, const char *name, const char *sql)
{
    PGresult *result = PQprepare(db, name, sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        bench_die("%s: %s", sql, PQerrorMessage(db));
    }
    PQclear(result);
}

void database_floor_prepare(PGconn *db, const struct database_traces *traces)
{
    char sql[1024];
    snprintf(sql, sizeof(sql), update_form, "$2::bigint", "$1::bigint");
    prepare(db, "floor_update", sql);
    write_insert(traces, "$1::bigint", "$2::bigint", "$3", sql, sizeof(sql));
    prepare(db, "floor_events", sql);
    snprintf(sql, sizeof(sql), checkpoint_form, "$1::bigint", "$2::bigint", "$3");
    prepare(db, "floor_checkpoint", sql);
    prepare(db, "floor_begin", "BEGIN");
    prepare(db, "floor_commit", "COMMIT");
}

static void read_pipeline(PGconn *db)
{
    for (int ends = 0; ends == 0;) {
        PGresult *result = PQgetResult(db);
        ExecStatusType status = result != NULL ? PQresultStatus(result) : PGRES_COMMAND_OK;
        ends = status == PGRES_PIPELINE_SYNC;
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && !ends) {
            bench_die("floor: %s", PQerrorMessage(db));
        }
        PQclear(result);
    }
}

void database_floor_commit(PGconn *db, const struct database_traces *traces, int run, int round)
{
    char run_text[16];
    char round_text[16];
    char *event = repeat(traces->event_bytes);
    char *checkpoint = repeat(traces->checkpoint_bytes);
    snprintf(run_text, sizeof(run_text), "%d", run);
    snprintf(round_text, sizeof(round_text), "%d", round);
    const char *const with_event[] = {run_text, round_text, event};
    const char *const with_checkpoint[] = {run_text, round_text, checkpoint};
    if (PQenterPipelineMode(db) != 1 ||
        PQsendQueryPrepared(db, "floor_begin", 0, NULL, NULL, NULL, 0) != 1 ||
        PQsendQueryPrepared(db, "floor_update", 2, with_event, NULL, NULL, 0) != 1 ||
        PQsendQueryPrepared(db, "floor_events", 3, with_event, NULL, NULL, 0) != 1 ||
        PQsendQueryPrepared(db, "floor_checkpoint", 3, with_checkpoint, NULL, NULL, 0) != 1 ||
        PQsendQueryPrepared(db, "floor_commit", 0, NULL, NULL, NULL, 0) != 1 ||
        PQpipelineSync(db) != 1) {
        bench_die("floor: %s", PQerrorMessage(db));
    }
    read_pipeline(db);
    PQexitPipelineMode(db);
    free(event);
    free(checkpoint);
}

void database_floor_script(const char *path, const struct database_traces *traces)
{
    char sql[1024];
    char *event = repeat(traces->event_bytes);
    char *checkpoint = repeat(traces->checkpoint_bytes);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        bench_die("%s cannot be written", path);
    }
    fprintf(file, "\\set run :client_id\n\\set round :round + 1\n\\startpipeline\nBEGIN;\n");
    fprintf(file, update_form, ":round::bigint", ":run::bigint");
    write_insert(traces, ":run::bigint", ":round::bigint", ":event", sql, sizeof(sql));
    fprintf(file, ";\n%s;\n", sql);
    fprintf(file, checkpoint_form, ":run::bigint", ":round::bigint", ":checkpoint");
    fprintf(file, ";\nCOMMIT;\n\\endpipeline\n");
    fclose(file);
    free(event);
    free(checkpoint);
}

struct database_traces database_find_traces(const struct database *database)
{
    struct rondo *rondo = loops_open(database->address);
    struct rondo_loop *loop = loops_start(rondo);
    loops_turns(loop, 50);
    struct database_traces traces = database_traces(database->db);
    rondo_loop_free(loop);
    rondo_close(rondo);
    if (traces.events < 1 || traces.events > DATABASE_EVENTS_MAX) {
        bench_die("an iteration has %d events", traces.events);
    }
    return traces;
}

bool database_has_pgbench(void)
{
    char text[16];
    const char *const argv[] = {"/bin/sh", "-c", "command -v pgbench || true", NULL};
    bench_spawn_text(argv, text, sizeof(text));
    if (text[0] == '\0') {
        fprintf(stderr, "    skipped: this machine has no pgbench\n");
    }
    return text[0] != '\0';
}

double database_pgbench(const struct database *database, const char *script,
                        const struct database_traces *traces, const struct database_load *load)
{
    char command[1024];
    char text[8192];
    /* Each client has a run; no round comes twice. */
    snprintf(command, sizeof(command),
             "pgbench -n -M prepared -c %d -j 2 -t %d -D round=%zu"
             " -D event=$(printf '%%0%zud' 0) -D checkpoint=$(printf '%%0%zud' 0)"
             " -f '%s' '%s' 2>&1",
             load->clients, load->turns, load->round * (size_t)load->turns, traces->event_bytes,
             traces->checkpoint_bytes, script, database->address);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    bench_spawn_text(argv, text, sizeof(text));
    const char *found = strstr(text, "tps = ");
    if (found == NULL) {
        bench_die("pgbench: %s", text);
    }
    return strtod(found + strlen("tps = "), NULL);
}
