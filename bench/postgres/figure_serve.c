// SPDX-License-Identifier: Apache-2.0
/*
 * `rondo serve` over PostgreSQL: what the dashboard asks while the database has a million runs, and
 * how often a server asks the database that has nothing to do.
 */
#include "../measure.h"
#include "../serve_client.h"
#include "database.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_BYTES (8 * 1024 * 1024)
#define IDLE_S       20
#define SETTLE_S     5

/* ---- A million runs -------------------------------------------------------------------------- */

/** What the dashboard asks, by the row of the report. {r} = a run. */
static const struct {
    const char *name;
    const char *paths[16];
} groups[] = {
    {"PostgreSQL, 1,000,000 runs: lists, the slowest's p99",
     {"/v1/runs?limit=100", "/v1/runs?limit=100&sort=created&order=asc",
      "/v1/runs?limit=100&agent=agent-04", "/v1/runs?limit=100&sort=agent&order=asc",
      "/v1/runs?limit=100&status=running", "/v1/runs?limit=100&status=failed",
      "/v1/runs?limit=100&status=completed&agent=agent-07"}},
    {"PostgreSQL, 1,000,000 runs: search, the slowest's p99",
     {"/v1/runs?limit=100&q=agent-4", "/v1/runs?limit=100&q=nothing",
      "/v1/runs?limit=100&q=018bcfe5", "/v1/runs?limit=100&q=018bcfe5-7"}},
    {"PostgreSQL, 1,000,000 runs: other orders, the slowest's p99",
     {"/v1/runs?limit=100&sort=updated&order=desc", "/v1/runs?limit=100&sort=status&order=desc",
      "/v1/runs?limit=100&sort=iteration&order=desc", "/v1/runs?limit=100&sort=cost&order=desc",
      "/v1/runs?limit=100&sort=tokens&order=desc", "/v1/runs?limit=100&sort=warnings&order=desc"}},
    {"PostgreSQL, 1,000,000 runs: dashboard, the slowest's p99",
     {"/v1/runs/{r}", "/v1/runs/{r}/events?order=desc&limit=200", "/v1/events?limit=200",
      "/v1/warnings", "/v1/health", "/metrics", "/v1/policies"}},
};

/** Like what years of use leave: nearly all have ended, of 100 agents. Ids have the time in them.
 */
static void fill(PGconn *db, int runs)
{
    char sql[2048];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO rondo.runs (id, agent_id, parent, is_exclusive, owner, epoch, claim,"
        " lease_until_ns, alive_ns, boot, alive_monotonic_ns, created_ns, updated_ns, ended_ns,"
        " status, iteration, iteration_limit, conditions_met, conditions_total, tokens,"
        " cost_micro, warnings, pause, last_seq, last_position, last_checkpoint)"
        " SELECT regexp_replace(lpad(to_hex(1700000000000 + i * 1000), 12, '0'), '(.{8})(.{4})',"
        " '\\1-\\2-7000-8000-') || lpad(to_hex(i), 12, '0'), 'agent-' ||"
        " lpad((i %% 100)::text, 2, '0'), '', false, '', 1, 0, 0, 0, '', 0,"
        " 1700000000000000000 + i * 1000000000::bigint,"
        " 1700000060000000000 + i * 1000000000::bigint + i * 7919 %% 1000,"
        " CASE WHEN i %% 1000 = 0 THEN 0 ELSE 1700000060000000000 + i * 1000000000::bigint"
        " END, CASE WHEN i %% 1000 = 0 THEN 0 WHEN i %% 50 = 0 THEN 2 ELSE 1 END,"
        " i * 31 %% 50, 50, 1, 1, i * 7919 %% 100000, i * 104729 %% 1000000, i %% 3, 0, 0, 0, 0"
        " FROM generate_series(1, %d::bigint) i",
        runs);
    database_perform(db, sql);
    database_perform(db, "VACUUM ANALYZE");
}

/** The 99th percentile of a question that is asked often, on a connection that stays open. */
static double ask_often(int fd, const char *path, size_t rounds)
{
    static char answer[ANSWER_BYTES];
    struct samples times = {0};
    for (size_t i = 0; i < rounds; i++) {
        double began = now_us();
        int status = serve_ask_on(fd, "GET", path, NULL, answer, sizeof(answer));
        samples_add(&times, (now_us() - began) / 1e3);
        if (status != 200) {
            bench_die("%s: %d %.200s", path, status, answer);
        }
    }
    double p50 = samples_percentile(&times, 0.5);
    double p99 = samples_percentile(&times, 0.99);
    fprintf(stderr, "    %7.2f %7.2f ms (p50, p99): %s\n", p50, p99, path);
    samples_fini(&times);
    return p99;
}

static void measure_group(struct bench *bench, const struct serve_process *server, size_t group,
                          const char *run)
{
    struct samples ours = {0};
    struct samples bare = {0};
    int fd = serve_connect(server->port);
    double slowest = 0;
    for (size_t i = 0; groups[group].paths[i] != NULL; i++) {
        char path[256];
        const char *form = groups[group].paths[i];
        const char *mark = strchr(form, '{');
        size_t head = mark != NULL ? (size_t)(mark - form) : strlen(form);
        snprintf(path, sizeof(path), "%.*s%s%s", (int)head, form, mark != NULL ? run : "",
                 mark != NULL ? mark + 3 : "");
        double p99 = ask_often(fd, path, bench_rounds(bench, 50));
        slowest = p99 > slowest ? p99 : slowest;
    }
    samples_add(&ours, slowest);
    samples_add(&bare, ask_often(fd, "/healthz", bench_rounds(bench, 50)));
    close(fd);
    bench_row(bench,
              &(struct report_row){.name = groups[group].name,
                                   .floor_name = "/healthz",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 50},
              &ours, &bare);
}

/** Make the store by a run of a few iterations. */
static void make_run(const struct bench *bench, const char *store, char ret_id[64])
{
    static char text[65536];
    const char *const loop[] = {
        "/bin/sh",
        "-c",
        "\"$0\" loop --store \"$1\" --until 'never=test -e /nowhere' --max-iterations 20 "
        "-- true; test $? = 5",
        bench->cli,
        store,
        NULL};
    const char *const list[] = {bench->cli, "runs", "--json", "--store", store, NULL};
    bench_spawn_us(loop);
    bench_spawn_text(list, text, sizeof(text));
    const char *found = strstr(text, "\"run_id\":\"");
    if (found == NULL) {
        bench_die("no run in the store: %.300s", text);
    }
    snprintf(ret_id, 64, "%.36s", found + strlen("\"run_id\":\""));
}

void figure_postgres_million(struct bench *bench)
{
    struct database database;
    char run[64];
    if (bench->cli == NULL || !database_begin(bench, &database)) {
        return;
    }
    int runs = bench->is_quick ? 100000 : 1000000;
    fprintf(stderr, "    filling a database with %d runs\n", runs);
    make_run(bench, database.address, run);
    fill(database.db, runs);
    struct serve_process server = serve_start(bench->cli, database.address, NULL);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        measure_group(bench, &server, i, run);
    }
    serve_end(&server, SIGTERM);
    database_end(&database);
}

/* ---- A server that has nothing to do --------------------------------------------------------- */

/** Transactions that the database has ended. */
static double transactions(PGconn *db)
{
    return database_perform(db, "SELECT xact_commit + xact_rollback FROM pg_stat_database"
                                " WHERE datname = current_database()");
}

/** Transactions a second while nothing is done but what others do. */
static double transactions_per_second(PGconn *db)
{
    sleep(SETTLE_S);
    double began = now_us();
    double before = transactions(db);
    sleep(IDLE_S);
    double after = transactions(db);
    return (after - before) / ((now_us() - began) / 1e6);
}

void figure_postgres_idle(struct bench *bench)
{
    struct database database;
    if (bench->cli == NULL || !database_begin(bench, &database)) {
        return;
    }
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 3); round++) {
        samples_add(&bare, transactions_per_second(database.db));
        struct serve_process server = serve_start(bench->cli, database.address, NULL);
        samples_add(&ours, transactions_per_second(database.db));
        serve_end(&server, SIGTERM);
    }
    bench_row(bench,
              &(struct report_row){.name = "PostgreSQL: queries of an idle server",
                                   .floor_name = "without one",
                                   .unit = "/s",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 1},
              &ours, &bare);
    database_end(&database);
}
