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

static const char *program(const struct bench *bench, const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", bench->programs, name);
    return path;
}

/** Ask one question often. @return the 99th percentile of its time, ms */
static double ask_often_ms(const struct bench *bench, int port, const char *path)
{
    static char answer[ANSWER_BYTES];
    struct samples times = {0};
    size_t rounds = bench->is_quick ? 50 : 300;
    for (size_t i = 0; i < rounds; i++) {
        double began = now_us();
        int status = serve_ask(port, "GET", path, NULL, answer, sizeof(answer));
        samples_add(&times, (now_us() - began) / 1e3);
        if (status != 200) {
            bench_die("%s: %d %.200s", path, status, answer);
        }
    }
    double p99 = samples_percentile(&times, 0.99);
    samples_fini(&times);
    return p99;
}

/** Each question in some rounds, beside one that reads nothing. */
static void measure_questions(struct bench *bench, int port, const char *run_id)
{
    static const struct {
        const char *name;
        const char *path; /* with %s for the run */
    } questions[] = {
        {"a page of runs, p99", "/v1/runs?limit=100"},
        {"runs by cost, p99", "/v1/runs?limit=100&sort=cost"},
        {"runs that failed, p99", "/v1/runs?limit=100&status=failed"},
        {"runs by a search, p99", "/v1/runs?limit=100&q=agent-4"},
        {"a run, p99", "/v1/runs/%s"},
        {"its conditions, p99", "/v1/runs/%s/conditions"},
        {"its latest events, p99", "/v1/runs/%s/events?order=desc&limit=200"},
        {"its events in the middle, p99", "/v1/runs/%s/events?after=500&limit=200"},
        {"its checkpoints, p99", "/v1/runs/%s/checkpoints"},
        {"its limits, p99", "/v1/runs/%s/limits"},
        {"warnings, p99", "/v1/warnings"},
        {"policies in force, p99", "/v1/policies"},
        {"health, p99", "/v1/health"},
        {"metrics, p99", "/metrics"},
    };
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        char path[512];
        const char *mark = strstr(questions[i].path, "%s");
        size_t head = mark == NULL ? strlen(questions[i].path) : (size_t)(mark - questions[i].path);
        snprintf(path, sizeof(path), "%.*s%s%s", (int)head, questions[i].path,
                 mark == NULL ? "" : run_id, mark == NULL ? "" : mark + 2);
        struct samples ours = {0};
        struct samples bare = {0};
        for (size_t round = 0; round < bench_rounds(bench, 5); round++) {
            samples_add(&ours, ask_often_ms(bench, port, path));
            samples_add(&bare, ask_often_ms(bench, port, "/healthz"));
        }
        bench_row(bench,
                  &(struct row){.name = questions[i].name,
                                .floor_name = "/healthz, p99",
                                .unit = "ms",
                                .goal_kind = GOAL_FIGURE_MAX,
                                .goal = 50},
                  &ours, &bare);
    }
}

static double start_ms(const struct bench *bench, const char *store)
{
    double began = now_us();
    struct serve_process server = serve_start(bench->cli, store, NULL);
    double took = (now_us() - began) / 1e3;
    serve_end(&server, SIGKILL);
    return took;
}

static void measure_past(struct bench *bench)
{
    const char *store = bench_path(bench, "past.db");
    const char *empty = bench_path(bench, "empty.db");
    char run_id[64];
    const char *const fill[] = {program(bench, "bench_fill"), store, "10000",
                                bench->is_quick ? "100" : "1000", NULL};
    bench_spawn_text(fill, run_id, sizeof(run_id));
    run_id[strcspn(run_id, "\n")] = '\0';
    struct samples ours = {0};
    struct samples bare = {0};
    start_ms(bench, empty);
    for (size_t round = 0; round < bench_rounds(bench, 10); round++) {
        samples_add(&ours, start_ms(bench, store));
        samples_add(&bare, start_ms(bench, empty));
    }
    bench_row(bench,
              &(struct row){.name = "rondo serve: start until it serves, 10,000 runs",
                            .floor_name = "an empty store",
                            .unit = "ms",
                            .goal_kind = GOAL_FIGURE_MAX,
                            .goal = 1000},
              &ours, &bare);
    struct serve_process server = serve_start(bench->cli, store, NULL);
    measure_questions(bench, server.port, run_id);
    serve_end(&server, SIGTERM);
    bench_remove_store(store);
    bench_remove_store(empty);
}

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

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        bench_die("%s cannot be written", path);
    }
}

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
struct load {
    struct samples numbers[LOAD_NUMBERS];
};

static void load(const struct bench *bench, const char *readers, const char *bad, struct load *load)
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

static void load_row(struct bench *bench, const struct row *head, struct load *figure, int i,
                     struct load *floor, int k)
{
    struct samples ours = {0};
    struct samples bare = {0};
    samples_copy(&ours, &figure->numbers[i]);
    samples_copy(&bare, &floor->numbers[k]);
    bench_row(bench, head, &ours, &bare);
}

static void report_load(struct bench *bench, struct load *alone, struct load *watched,
                        struct load *harmed)
{
    static const struct row late = {
        .floor_name = "the median", .unit = "ms", .goal_kind = GOAL_FIGURE_MAX, .goal = 100};
    static const struct row slower = {
        .floor_name = "without readers", .unit = "ms", .goal_kind = GOAL_RATIO_MAX, .goal = 1.1};
    static const struct row plain = {.floor_name = "without readers", .unit = "s/s"};
    struct row row = late;
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
    static struct load alone;
    static struct load watched;
    static struct load harmed;
    write_file(bench_path(bench, "paced.yaml"), role_text);
    write_file(
        bench_path(bench, "turns.jsonl"),
        "{\"text\":\"Going on.\",\"usage\":{\"input\":100,\"output\":5},\"forever\":true}\n");
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

void figure_serve(struct bench *bench)
{
    if (bench->cli != NULL) {
        measure_past(bench);
        measure_load(bench);
    }
}
