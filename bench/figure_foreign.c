// SPDX-License-Identifier: Apache-2.0
/*
 * Agents of others over a kept connection: one evaluation, and the time from a person's decision
 * until the agent that waits has it.
 */
#include "measure.h"
#include "serve_client.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Evaluations of one sample. */
#define BLOCK 200
#define ROOM  (64 * 1024)

static const char evaluation[] =
    "{\"agent_id\":\"a\",\"action\":{\"tool\":\"t\",\"args\":{\"host\":\"a\"}},\"context\":{"
    "\"confidence\":0.9,\"risk_level\":1,\"impact\":1,\"reversible\":true,\"evidence_count\":1,"
    "\"evidence_required\":1,\"evidence_missing\":[],\"violation_score\":0,"
    "\"human_required\":false,\"rework_count\":0}}";

/** The headers of the agent: a token of the store. */
static const char *make_token(const struct bench *bench, const char *store)
{
    static char headers[256];
    char token[128];
    const char *const argv[] = {bench->cli, "token", "create",  "bench", "--store", store,
                                "--scope",  "agent", "--agent", "a",     NULL};
    bench_spawn_text(argv, token, sizeof(token));
    token[strcspn(token, "\n")] = '\0';
    snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n", token);
    return headers;
}

static double ask_us(int fd, const char *headers, const char *method, const char *path,
                     const char *body)
{
    static char answer[ROOM];
    double began = now_us();
    for (size_t i = 0; i < BLOCK; i++) {
        int status = serve_ask_with(fd, headers, method, path, body, answer, sizeof(answer));
        if (status != 200) {
            bench_die("%s: %d %.200s", path, status, answer);
        }
    }
    return (now_us() - began) / BLOCK;
}

static void measure_evaluation(struct bench *bench, const struct serve_process *server,
                               const char *headers)
{
    struct samples ours = {0};
    struct samples bare = {0};
    int fd = serve_connect(server->port);
    for (size_t round = 0; round < bench_rounds(bench, 60); round++) {
        samples_add(&ours, ask_us(fd, headers, "POST", "/v1/actions/evaluate", evaluation));
        samples_add(&bare, ask_us(fd, "", "GET", "/healthz", NULL));
    }
    close(fd);
    bench_row(bench,
              &(struct report_row){.name = "an evaluation over a kept connection",
                                   .floor_name = "/healthz on the same one",
                                   .unit = "us",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 50},
              &ours, &bare);
}

/* ---- Decisions ------------------------------------------------------------------------------ */

/** An agent that waits for a decision. */
struct waiting_agent {
    const struct serve_process *server;
    const char *headers;
    char path[160];
    double answered_us;
};

static void *wait_for_decision(void *context)
{
    struct waiting_agent *waiting = context;
    char *answer = malloc(ROOM);
    int fd = serve_connect(waiting->server->port);
    int status = serve_ask_with(fd, waiting->headers, "GET", waiting->path, NULL, answer, ROOM);
    waiting->answered_us = now_us();
    if (status != 200 || strstr(answer, "\"approved\"") == NULL) {
        bench_die("no decision: %d %.300s", status, answer);
    }
    close(fd);
    free(answer);
    return NULL;
}

/** Ask for an action, wait, and let a person approve it. @param ret_floor_ms of the decision alone
 * @return from the decision until the agent has it */
static double decide_ms(const struct serve_process *server, const char *headers, size_t number,
                        double *ret_floor_ms)
{
    static char answer[ROOM];
    char body[1024];
    char own[256];
    struct waiting_agent waiting = {.server = server, .headers = headers};
    pthread_t thread;
    int fd = serve_connect(server->port);
    snprintf(body, sizeof(body),
             "{\"event_type\":\"handoff.requested\",\"agent\":{\"agent_id\":\"a\"},\"lane_id\":"
             "\"lane-%zu\",\"action\":{\"tool\":\"t\",\"args\":{\"host\":\"%zu\"}}}",
             number, number);
    int status =
        serve_ask_with(fd, headers, "POST", "/v1/hitl/requests", body, answer, sizeof(answer));
    struct json_object *root = NULL;
    if (status != 201 || json_parse(answer, strlen(answer), &root, NULL) < 0) {
        bench_die("no request: %d %.300s", status, answer);
    }
    const char *id = json_get_string(root, "request_id", "");
    snprintf(waiting.path, sizeof(waiting.path), "/v1/hitl/requests/%s?wait_ms=20000", id);
    pthread_create(&thread, NULL, wait_for_decision, &waiting);
    usleep(30000 + (useconds_t)(number * 7919 % 20000)); /* It waits, at any time of a look. */
    snprintf(own, sizeof(own), "Idempotency-Key: %zu\r\nIf-Match: \"2\"\r\n", number);
    snprintf(body, sizeof(body),
             "{\"status\":\"approved\",\"revision\":1,\"action_digest\":\"%s\"}",
             json_get_string(root, "action_digest", ""));
    char path[128];
    snprintf(path, sizeof(path), "/v1/hitl/decisions/%s", id);
    double began = now_us();
    status = serve_ask_with(fd, own, "POST", path, body, answer, sizeof(answer));
    *ret_floor_ms = (now_us() - began) / 1e3;
    if (status != 200) {
        bench_die("no decision: %d %.300s", status, answer);
    }
    pthread_join(thread, NULL);
    close(fd);
    json_object_put(root);
    return (waiting.answered_us - began) / 1e3;
}

static void measure_decisions(struct bench *bench, const struct serve_process *server,
                              const char *headers)
{
    struct samples slowest = {0};
    struct samples floors = {0};
    size_t number = 0;
    for (size_t round = 0; round < 3; round++) {
        struct samples times = {0};
        struct samples alone = {0};
        for (size_t i = 0; i < (bench->is_quick ? 20 : 100); i++) {
            double floor_ms = 0;
            samples_add(&times, decide_ms(server, headers, number++, &floor_ms));
            samples_add(&alone, floor_ms);
        }
        samples_add(&slowest, samples_percentile(&times, 0.99));
        samples_add(&floors, samples_percentile(&alone, 0.99));
        samples_fini(&times);
        samples_fini(&alone);
    }
    bench_row(bench,
              &(struct report_row){.name = "from a decision until the agent has it, p99",
                                   .floor_name = "the decision's own answer, p99",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 50},
              &slowest, &floors);
}

void figure_foreign(struct bench *bench)
{
    const char *store = bench_path(bench, "foreign.db");
    if (bench->cli == NULL) {
        return;
    }
    struct serve_process server = serve_start(bench->cli, store, NULL);
    const char *headers = make_token(bench, store);
    measure_evaluation(bench, &server, headers);
    measure_decisions(bench, &server, headers);
    serve_end(&server, SIGTERM);
    bench_remove_store(store);
}
