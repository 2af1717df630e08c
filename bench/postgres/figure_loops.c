// SPDX-License-Identifier: Apache-2.0
/*
 * Whole iterations of a hundred loops over PostgreSQL, by the public library: beside pgbench with
 * the transaction of their commits, and beside DBOS, a library that keeps the results of steps in
 * PostgreSQL, with as many workflows and as large results.
 */
#include "../loops.h"
#include "../measure.h"
#include "database.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOPS 100
#define BLOCK 20
/** Bytes that an iteration keeps, and a step of DBOS. */
#define RESULT_BYTES 700

/** One thread with a loop of its own. */
struct turner {
    pthread_t thread;
    struct rondo_loop *loop;
    size_t state_bytes; /**< set anew in each iteration; 0 = none */
    unsigned round;
};

static void *turn(void *argument)
{
    struct turner *turner = argument;
    char state[RESULT_BYTES];
    for (int i = 0; i < BLOCK; i++) {
        memset(state, 'a' + (int)(turner->round++ % 26), sizeof(state));
        if (turner->state_bytes > 0 &&
            rondo_loop_set_state(turner->loop, state, turner->state_bytes, NULL) < 0) {
            bench_die("the state cannot be set");
        }
        loops_turn(turner->loop);
    }
    return NULL;
}

/** Iterations a second of all loops at once. */
static double turn_all(struct turner *turners)
{
    double began = now_us();
    for (size_t i = 0; i < LOOPS; i++) {
        if (pthread_create(&turners[i].thread, NULL, turn, &turners[i]) != 0) {
            bench_die("cannot start a thread");
        }
    }
    for (size_t i = 0; i < LOOPS; i++) {
        pthread_join(turners[i].thread, NULL);
    }
    return LOOPS * BLOCK / ((now_us() - began) / 1e6);
}

static void start_all(struct turner *turners, struct rondo *rondo, size_t state_bytes)
{
    for (size_t i = 0; i < LOOPS; i++) {
        turners[i] = (struct turner){.loop = loops_start(rondo), .state_bytes = state_bytes};
        loops_turn(turners[i].loop);
    }
}

static void end_all(struct turner *turners)
{
    for (size_t i = 0; i < LOOPS; i++) {
        rondo_loop_free(turners[i].loop);
    }
}

void figure_postgres_loops(struct bench *bench)
{
    static struct turner turners[LOOPS];
    struct database database;
    if (!database_has_pgbench() || !database_begin(bench, &database)) {
        return;
    }
    const char *script = bench_path(bench, "pgbench-loops.sql");
    const struct database_traces traces = database_find_traces(&database);
    struct rondo *rondo = loops_open(database.address);
    struct samples ours = {0};
    struct samples bare = {0};
    database_floor_make(database.db, LOOPS);
    database_floor_script(script, &traces);
    start_all(turners, rondo, 0);
    turn_all(turners);
    for (size_t round = 0; round < bench_rounds(bench, 25); round++) {
        samples_add(&ours, turn_all(turners));
        samples_add(&bare, database_pgbench(&database, script, &traces,
                                            &(struct database_load){LOOPS, BLOCK, round}));
    }
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: iterations a second of 100 loops",
                                   .floor_name = "the facts of a commit, 100 clients of pgbench",
                                   .unit = "/s",
                                   .goal_kind = GOAL_RATIO_MIN,
                                   .goal = 0.8},
              &ours, &bare);
    end_all(turners);
    rondo_close(rondo);
    database_end(&database);
}

/* ---- DBOS ----------------------------------------------------------------------------------- */

/** Install DBOS, as pinned, in the bench's folder. @return the folder, or NULL: it cannot be */
static const char *install_dbos(const struct bench *bench)
{
    const char *folder = bench_path(bench, "dbos");
    char command[2048];
    char text[16];
    snprintf(command, sizeof(command),
             "mkdir -p '%s' && cp '" SOURCE_ROOT "'/bench/postgres/dbos/* '%s' && cd '%s' &&"
             " command -v node >&2 && npm ci --no-audit --no-fund >&2 && echo ready || true",
             folder, folder, folder);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    bench_spawn_text(argv, text, sizeof(text));
    if (strncmp(text, "ready", 5) != 0) {
        fprintf(stderr, "    skipped: DBOS cannot be installed (node 20, npm)\n");
        return NULL;
    }
    return folder;
}

static double run_dbos(const char *folder, const struct database *database)
{
    char script[512];
    char loops[16];
    char block[16];
    char bytes[16];
    snprintf(script, sizeof(script), "%s/steps.mjs", folder);
    snprintf(loops, sizeof(loops), "%d", LOOPS);
    snprintf(block, sizeof(block), "%d", BLOCK);
    snprintf(bytes, sizeof(bytes), "%d", RESULT_BYTES);
    const char *const argv[] = {"/usr/bin/env", "node", script, database->address,
                                loops,          block,  bytes,  NULL};
    return bench_spawn_number(argv);
}

static double log_bytes(const struct database *database)
{
    return database_perform(database->db, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn");
}

/** Rows that were written in a schema, for each row of a table of it. */
static double rows_written(const struct database *database, const char *schema, const char *steps)
{
    char sql[512];
    snprintf(sql, sizeof(sql),
             "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 / (%s) FROM"
             " pg_stat_user_tables WHERE schemaname = '%s' AND relname NOT LIKE '%%migration%%'",
             steps, schema);
    return database_perform(database->db, sql);
}

/** Rows of both: what processes count reaches the server when they end. */
static void compare_rows(struct bench *bench, const struct database *database)
{
    struct samples ours = {0};
    struct samples theirs = {0};
    sleep(2);
    samples_add(&ours, rows_written(database, "rondo",
                                    "SELECT count(*) FROM rondo.events WHERE type ="
                                    " 'iteration.finished'"));
    samples_add(&theirs,
                rows_written(database, "dbos", "SELECT count(*) FROM dbos.operation_outputs"));
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: rows written for an iteration",
                                   .floor_name = "for a step of DBOS",
                                   .unit = "",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 0.34},
              &ours, &theirs);
}

void figure_postgres_dbos(struct bench *bench)
{
    static struct turner turners[LOOPS];
    struct database database;
    const char *folder = install_dbos(bench);
    if (folder == NULL || !database_begin(bench, &database)) {
        return;
    }
    struct rondo *rondo = loops_open(database.address);
    struct samples ours = {0};
    struct samples theirs = {0};
    struct samples our_log = {0};
    struct samples their_log = {0};
    start_all(turners, rondo, RESULT_BYTES);
    turn_all(turners);
    run_dbos(folder, &database);
    for (size_t round = 0; round < bench_rounds(bench, 10); round++) {
        double before = log_bytes(&database);
        samples_add(&ours, turn_all(turners));
        double between = log_bytes(&database);
        samples_add(&theirs, run_dbos(folder, &database));
        samples_add(&our_log, (between - before) / (LOOPS * BLOCK));
        samples_add(&their_log, (log_bytes(&database) - between) / (LOOPS * (BLOCK + 1)));
    }
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: iterations a second, 700 bytes kept",
                                   .floor_name = "steps a second of DBOS",
                                   .unit = "/s",
                                   .goal_kind = GOAL_RATIO_MIN,
                                   .goal = 4},
              &ours, &theirs);
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: log (WAL) of such an iteration",
                                   .floor_name = "of a step of DBOS",
                                   .unit = "B"},
              &our_log, &their_log);
    end_all(turners);
    rondo_close(rondo);
    compare_rows(bench, &database);
    database_end(&database);
}
