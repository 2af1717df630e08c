// SPDX-License-Identifier: Apache-2.0
/*
 * The server: a store with a long past (how soon it serves, what each question of the dashboard
 * takes), and many loops under the eyes of many readers.
 */
#include "measure.h"
#include "serve_client.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_BYTES (8 * 1024 * 1024)

/** What a scripted model says. */
static const char turns_text[] =
    "{\"text\":\"Going on.\",\"usage\":{\"input\":100,\"output\":5},\"forever\":true}\n";

static const char *program(const struct bench *bench, const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", bench->programs, name);
    return path;
}

/* ---- A store with a long past. --------------------------------------------------------------- */

struct request_times {
    double p50_ms;
    double p99_ms;
};

/** Ask one question often, on a connection that stays open. */
static struct request_times ask_often(const struct bench *bench, int fd, const char *path)
{
    static char answer[ANSWER_BYTES];
    struct samples times = {0};
    size_t rounds = bench->is_quick ? 50 : 150;
    for (size_t i = 0; i < rounds; i++) {
        double began = now_us();
        int status = serve_ask_on(fd, "GET", path, NULL, answer, sizeof(answer));
        samples_add(&times, (now_us() - began) / 1e3);
        if (status != 200) {
            bench_die("%s: %d %.200s", path, status, answer);
        }
    }
    struct request_times asked = {samples_percentile(&times, 0.5),
                                  samples_percentile(&times, 0.99)};
    samples_fini(&times);
    return asked;
}

/** The runs that questions are about: one of the past, an agent's, one with exit conditions. */
struct subjects {
    char past[64];
    char agent[64];
    char loop[64];
};

/** What the dashboard asks, by the row of the report. {p}, {a}, {l} = the runs of struct subjects.
 */
static const struct {
    const char *name;
    const char *paths[24];
} groups[] = {
    {"lists of runs by order, the slowest's p99",
     {"/v1/runs?limit=100", "/v1/runs?limit=500", "/v1/runs?limit=100&sort=created&order=asc",
      "/v1/runs?limit=100&sort=updated&order=desc", "/v1/runs?limit=100&sort=updated&order=asc",
      "/v1/runs?limit=100&sort=agent&order=asc", "/v1/runs?limit=100&sort=agent&order=desc",
      "/v1/runs?limit=100&sort=status&order=asc", "/v1/runs?limit=100&sort=status&order=desc",
      "/v1/runs?limit=100&sort=iteration&order=desc", "/v1/runs?limit=100&sort=cost&order=asc",
      "/v1/runs?limit=100&sort=cost&order=desc", "/v1/runs?limit=100&sort=tokens&order=asc",
      "/v1/runs?limit=100&sort=tokens&order=desc", "/v1/runs?limit=100&sort=warnings&order=desc"}},
    {"lists of runs by filter, the slowest's p99",
     {"/v1/runs?limit=100&status=running", "/v1/runs?limit=100&status=failed",
      "/v1/runs?limit=100&status=failed&sort=cost&order=desc", "/v1/runs?limit=100&status=paused",
      "/v1/runs?limit=100&status=queued", "/v1/runs?limit=100&status=interrupted",
      "/v1/runs?limit=100&agent=agent-04", "/v1/runs?limit=100&agent=agent-04&sort=tokens",
      "/v1/runs?limit=100&q=agent-4", "/v1/runs?limit=100&q=nothing",
      "/v1/runs?limit=100&status=completed&agent=agent-07&q=agent"}},
    {"a run, limits, conditions, the slowest's p99",
     {"/v1/runs/{p}", "/v1/runs/{p}/limits", "/v1/runs/{p}/conditions", "/v1/runs/{a}",
      "/v1/runs/{a}/limits", "/v1/runs/{l}", "/v1/runs/{l}/conditions"}},
    {"events of a run, the slowest's p99",
     {"/v1/runs/{p}/events?limit=200", "/v1/runs/{p}/events?after=500&limit=200",
      "/v1/runs/{p}/events?order=desc&limit=200", "/v1/runs/{p}/events?before=500&order=desc",
      "/v1/runs/{p}/events?limit=1000", "/v1/runs/{a}/events?order=desc&limit=200",
      "/v1/runs/{a}/events?order=desc&limit=200&types=model.replied",
      "/v1/runs/{p}/events?types=run.finished"}},
    {"events of all runs, the slowest's p99",
     {"/v1/events?limit=200", "/v1/events?after=500000&limit=200",
      "/v1/events?after=500000&limit=1000", "/v1/events?limit=200&agent=agent-04",
      "/v1/events?after=500000&types=run.finished"}},
    {"checkpoints, conversation, the slowest's p99",
     {"/v1/runs/{a}/checkpoints", "/v1/runs/{a}/checkpoints?before=500",
      "/v1/runs/{a}/checkpoints/1000", "/v1/runs/{l}/checkpoints", "/v1/runs/{a}/conversation",
      "/v1/runs/{a}/conversation?before=3000"}},
    {"warnings, policies, health, the slowest's p99",
     {"/v1/warnings", "/v1/warnings?agent=agent-04", "/v1/warnings?run={a}", "/v1/policies",
      "/v1/policies/history", "/v1/sinks", "/v1/deliveries", "/v1/tokens", "/v1/health", "/v1/me",
      "/metrics", "/"}},
};

static const char *fill_in(const char *path, const struct subjects *subjects)
{
    static char filled[512];
    const char *mark = strchr(path, '{');
    if (mark == NULL) {
        return path;
    }
    const char *id = mark[1] == 'p'   ? subjects->past
                     : mark[1] == 'a' ? subjects->agent
                                      : subjects->loop;
    snprintf(filled, sizeof(filled), "%.*s%s%s", (int)(mark - path), path, id, mark + 3);
    return filled;
}

/** All questions of a group in some rounds, beside one that reads nothing. */
static void measure_group(struct bench *bench, const struct serve_process *server, size_t group,
                          const struct subjects *subjects)
{
    struct samples ours = {0};
    struct samples bare = {0};
    int fd = serve_connect(server->port);
    for (size_t round = 0; round < 3; round++) {
        double slowest = 0;
        for (size_t i = 0; groups[group].paths[i] != NULL; i++) {
            const char *path = fill_in(groups[group].paths[i], subjects);
            double cpu = serve_cpu_s(server->pid);
            struct request_times asked = ask_often(bench, fd, path);
            cpu = (serve_cpu_s(server->pid) - cpu) * 1e3 / (bench->is_quick ? 50 : 150);
            fprintf(stderr, "    %6.2f %6.2f ms (p50, p99), %5.2f ms of the processor: %s\n",
                    asked.p50_ms, asked.p99_ms, cpu, groups[group].paths[i]);
            slowest = asked.p99_ms > slowest ? asked.p99_ms : slowest;
        }
        samples_add(&ours, slowest);
        samples_add(&bare, ask_often(bench, fd, "/healthz").p99_ms);
    }
    close(fd);
    bench_row(bench,
              &(struct report_row){.name = groups[group].name,
                                   .floor_name = "/healthz",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 50},
              &ours, &bare);
}

/** Each question of a program that does not keep its connection, and is looked for among all. */
static void measure_connections(struct bench *bench, const struct serve_process *server)
{
    static char answer[ANSWER_BYTES];
    struct samples ours = {0};
    struct samples bare = {0};
    int fd = serve_connect(server->port);
    for (size_t round = 0; round < bench_rounds(bench, 200); round++) {
        double began = now_us();
        serve_ask(server->port, "GET", "/v1/me", NULL, answer, sizeof(answer));
        samples_add(&ours, (now_us() - began) / 1e3);
        began = now_us();
        serve_ask_on(fd, "GET", "/v1/me", NULL, answer, sizeof(answer));
        samples_add(&bare, (now_us() - began) / 1e3);
    }
    close(fd);
    bench_row(bench,
              &(struct report_row){.name = "a local program's first question, no token",
                                   .floor_name = "its next one",
                                   .unit = "ms"},
              &ours, &bare);
}

/** Until the first answer of /readyz that says yes. */
static double start_ms(const struct bench *bench, const char *store)
{
    char answer[4096];
    double began = now_us();
    struct serve_process server = serve_start(bench->cli, store, NULL);
    while (serve_ask(server.port, "GET", "/readyz", NULL, answer, sizeof(answer)) != 200) {
    }
    double took = (now_us() - began) / 1e3;
    serve_end(&server, SIGKILL);
    return took;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        bench_die("%s cannot be written", path);
    }
}

/** The id of the run that began last. */
static void newest_run(const struct bench *bench, const char *store, char ret_id[64])
{
    static char text[ANSWER_BYTES];
    const char *const argv[] = {bench->cli, "runs", "--json", "--store", store, NULL};
    bench_spawn_text(argv, text, sizeof(text));
    const char *found = strstr(text, "\"run_id\":\"");
    if (found == NULL) {
        bench_die("no run in the store: %.300s", text);
    }
    snprintf(ret_id, 64, "%.36s", found + strlen("\"run_id\":\""));
}

/** Runs of other kinds than those of the past: with a conversation, checkpoints, conditions. */
static void add_subjects(const struct bench *bench, const char *store, struct subjects *subjects)
{
    const char *role = bench_path(bench, "quick.yaml");
    write_file(role, "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: quick\nspec:\n"
                     "  role: You think.\n  model:\n    provider: scripted\n"
                     "    name: turns.jsonl\n  tools:\n    - type: datetime\n"
                     "  autonomy:\n    iteration_delay_seconds: 0\n"
                     "    max_no_tool_call_iterations: 0\n");
    write_file(bench_path(bench, "turns.jsonl"), turns_text);
    const char *const agent[] = {
        "/bin/sh",
        "-c",
        "\"$0\" run \"$1\" --store \"$2\" -p Go. -a -q --max-iterations 1000; test $? = 5",
        bench->cli,
        role,
        store,
        NULL};
    bench_spawn_us(agent);
    newest_run(bench, store, subjects->agent);
    const char *const loop[] = {
        "/bin/sh",
        "-c",
        "\"$0\" loop --store \"$1\" --until 'never=test -e /nowhere' --max-iterations 200 "
        "-- true; test $? = 5",
        bench->cli,
        store,
        NULL};
    bench_spawn_us(loop);
    newest_run(bench, store, subjects->loop);
}

static void measure_past(struct bench *bench)
{
    const char *store = bench_path(bench, "past.db");
    const char *empty = bench_path(bench, "empty.db");
    struct subjects subjects;
    const char *const fill[] = {program(bench, "bench_fill"), store, "10000",
                                bench->is_quick ? "100" : "1000", NULL};
    fprintf(stderr, "    filling a store with %s events\n", bench->is_quick ? "1 M" : "10 M");
    bench_spawn_text(fill, subjects.past, sizeof(subjects.past));
    subjects.past[strcspn(subjects.past, "\n")] = '\0';
    add_subjects(bench, store, &subjects);
    struct samples ours = {0};
    struct samples bare = {0};
    start_ms(bench, empty);
    for (size_t round = 0; round < bench_rounds(bench, 10); round++) {
        samples_add(&ours, start_ms(bench, store));
        samples_add(&bare, start_ms(bench, empty));
    }
    bench_row(bench,
              &(struct report_row){.name = bench->is_quick
                                               ? "start to /readyz, 10,000 runs, 1 M events"
                                               : "start to /readyz, 10,000 runs, 10 M events",
                                   .floor_name = "an empty store",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 1000},
              &ours, &bare);
    struct serve_process server = serve_start(bench->cli, store, NULL);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        measure_group(bench, &server, i, &subjects);
    }
    measure_connections(bench, &server);
    serve_end(&server, SIGTERM);
    bench_remove_store(store);
    bench_remove_store(empty);
}

/* ---- Many loops and readers. ----------------------------------------------------------------- */

/**
 * A loop of a server thinks most of the time: here five seconds an iteration, so that 1,000 of them
 * commit some 200 iterations a second.
 */
static const char role_text[] = "apiVersion: initrunner/v1\n"
                                "kind: Agent\n"
                                "metadata:\n"
                                "  name: paced\n"
                                "spec:\n"
                                "  role: You think.\n"
                                "  model:\n"
                                "    provider: scripted\n"
                                "    name: turns.jsonl\n"
                                "  guardrails:\n"
                                "    max_iterations: 100000\n"
                                "  autonomy:\n"
                                "    iteration_delay_seconds: 5\n"
                                "    max_no_tool_call_iterations: 0\n";

/** What bench_serve_load prints, in its order. */
enum {
    LOAD_P50,
    LOAD_P99,
    LOAD_MAX,
    LOAD_READ,
    LOAD_COMMITTED,
    LOAD_PERIOD,
    LOAD_SLOWEST,
    LOAD_CPU,
    LOAD_RSS,
    LOAD_PEAK,
    LOAD_DESCRIPTORS,
    LOAD_STARTING,
    LOAD_NAP,
    LOAD_NUMBERS
};
struct load_numbers {
    struct samples numbers[LOAD_NUMBERS];
};

static void load(const struct bench *bench, const char *readers, const char *bad,
                 struct load_numbers *load)
{
    const char *store = bench_path(bench, "load.db");
    const char *role = bench_path(bench, "paced.yaml");
    const char *const more[] = {"--max-loops", "2000", NULL};
    bench_remove_store(store);
    struct serve_process server = serve_start(bench->cli, store, more);
    char port[16];
    char pid[16];
    snprintf(port, sizeof(port), "%d", server.port);
    snprintf(pid, sizeof(pid), "%d", (int)server.pid);
    char token[256];
    const char *const make_token[] = {bench->cli, "token", "create", "reader",
                                      "--store",  store,   NULL};
    bench_spawn_text(make_token, token, sizeof(token));
    fprintf(stderr, "    1,000 loops, %s readers, %s bad ones of each kind\n", readers, bad);
    token[strcspn(token, "\n")] = '\0';
    const char *const argv[] = {
        program(bench, "bench_serve_load"), port,  pid, "1000", readers, bad, role,
        bench->is_quick ? "12" : "30",      token, NULL};
    double numbers[LOAD_NUMBERS];
    bench_spawn_numbers(argv, numbers, LOAD_NUMBERS);
    serve_end(&server, SIGKILL);
    bench_remove_store(store);
    for (size_t i = 0; i < LOAD_NUMBERS; i++) {
        samples_add(&load->numbers[i], numbers[i]);
    }
}

static void load_row(struct bench *bench, const struct report_row *head,
                     struct load_numbers *figure, int i, struct load_numbers *floor, int k)
{
    struct samples ours = {0};
    struct samples bare = {0};
    samples_copy(&ours, &figure->numbers[i]);
    samples_copy(&bare, &floor->numbers[k]);
    bench_row(bench, head, &ours, &bare);
}

static void report_load(struct bench *bench, struct load_numbers *alone,
                        struct load_numbers *watched, struct load_numbers *harmed)
{
    static const struct report_row late = {
        .floor_name = "the median", .unit = "ms", .goal_kind = GOAL_FIGURE_MAX, .goal = 100};
    static const struct report_row slower = {
        .floor_name = "without readers", .unit = "ms", .goal_kind = GOAL_RATIO_MAX, .goal = 1.1};
    static const struct report_row plain = {.floor_name = "without readers", .unit = "s/s"};
    struct report_row row = late;
    row.name = "200 readers: commit to reader, p99";
    load_row(bench, &row, watched, LOAD_P99, watched, LOAD_P50);
    row.name = "and 40 bad ones: commit to reader, p99";
    load_row(bench, &row, harmed, LOAD_P99, harmed, LOAD_P50);
    row = slower;
    row.name = "200 readers: an iteration";
    load_row(bench, &row, watched, LOAD_PERIOD, alone, LOAD_PERIOD);
    row.name = "200 readers: an iteration of the slowest loop";
    load_row(bench, &row, watched, LOAD_SLOWEST, alone, LOAD_SLOWEST);
    row.name = "and 40 bad ones: an iteration of the slowest loop";
    load_row(bench, &row, harmed, LOAD_SLOWEST, alone, LOAD_SLOWEST);
    row = plain;
    row.name = "200 readers: processor time of the server";
    load_row(bench, &row, watched, LOAD_CPU, alone, LOAD_CPU);
    row.name = "200 readers: events read";
    row.floor_name = "committed";
    row.unit = "/s";
    load_row(bench, &row, watched, LOAD_READ, watched, LOAD_COMMITTED);
    row.name = "and 40 bad ones: peak memory of the server";
    row.floor_name = "without readers";
    row.unit = "MiB";
    load_row(bench, &row, harmed, LOAD_PEAK, alone, LOAD_PEAK);
    row.name = "time until 1,000 runs execute";
    row.floor_name = "a thread that sleeps wakes late by, p99, ms";
    row.unit = "s";
    load_row(bench, &row, alone, LOAD_STARTING, watched, LOAD_NAP);
}

/** 1,000 loops without readers, with readers, and with some of them that do harm. */
static void measure_load(struct bench *bench)
{
    static struct load_numbers alone;
    static struct load_numbers watched;
    static struct load_numbers harmed;
    write_file(bench_path(bench, "paced.yaml"), role_text);
    write_file(bench_path(bench, "turns.jsonl"), turns_text);
    for (size_t round = 0; round < bench_rounds(bench, 5); round++) {
        load(bench, "0", "0", &alone);
        load(bench, "200", "0", &watched);
        load(bench, "200", "20", &harmed);
    }
    report_load(bench, &alone, &watched, &harmed);
    for (size_t i = 0; i < LOAD_NUMBERS; i++) {
        samples_fini(&alone.numbers[i]);
        samples_fini(&watched.numbers[i]);
        samples_fini(&harmed.numbers[i]);
    }
}

void figure_past(struct bench *bench)
{
    if (bench->cli != NULL) {
        measure_past(bench);
    }
}

void figure_readers(struct bench *bench)
{
    if (bench->cli != NULL) {
        measure_load(bench);
    }
}
