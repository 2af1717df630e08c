// SPDX-License-Identifier: Apache-2.0
/*
 * Agents on duty: what a daemon with many triggers costs while nothing is due, how soon a webhook
 * has become a run, and how many webhooks are accepted a second.
 */
#include "floor.h"
#include "measure.h"
#include "serve_client.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROLES        50
#define TRIGGERS     20
#define ANSWER_BYTES (256 * 1024)
/** Programs that send webhooks at the same time. */
#define SENDERS 8

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        bench_die("%s cannot be written", path);
    }
}

/** @param triggers lines of the list */
static void write_role(const char *path, const char *name, const char *triggers)
{
    FILE *file = fopen(path, "w");
    if (file == NULL ||
        fprintf(file,
                "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: %s\nspec:\n"
                "  role: You think.\n  model: {provider: scripted, name: turns.jsonl}\n"
                "  triggers:\n%s",
                name, triggers) < 0 ||
        fclose(file) != 0) {
        bench_die("%s cannot be written", path);
    }
}

static struct serve_process start_daemon(const struct bench *bench, const char *roles,
                                         const char *const *more)
{
    const char *store = bench_path(bench, "daemon.db");
    const char *work = bench_path(bench, "work"); /* The roles are out of the reach of agents. */
    const char *const command[] = {"daemon", roles, "--workspace", work, NULL};
    (void)mkdir(work, 0700);
    bench_remove_store(store);
    return serve_start_as(bench->cli, command, store, more);
}

/* ---- Nothing is due -------------------------------------------------------------------------- */

/** 1,000 triggers of four types that are not due for months. @return the folder; free() */
static char *write_idle_roles(const struct bench *bench)
{
    char *folder = strdup(bench_path(bench, "idle"));
    if (folder == NULL || mkdir(folder, 0700) != 0) {
        bench_die("the folder idle cannot be made");
    }
    char path[4200];
    snprintf(path, sizeof(path), "%s/turns.jsonl", folder);
    write_text(path, "{\"text\":\"Done.\"}\n");
    for (int i = 0; i < ROLES; i++) {
        char name[32];
        char triggers[TRIGGERS * 160] = "";
        size_t len = 0;
        for (int k = 0; k < TRIGGERS; k += 4) {
            len += (size_t)snprintf(
                triggers + len, sizeof(triggers) - len,
                "    - {type: cron, schedule: '%d 0 29 2 1', prompt: a}\n"
                "    - {type: cron, schedule: '%d 12 29 2 1', prompt: b, timezone: Europe/Berlin}\n"
                "    - {type: heartbeat, file: todo-%d.md, interval_seconds: 100000000}\n"
                "    - {type: webhook, name: hook-%d-%d, unsigned: true}\n",
                k, k, k, i, k);
        }
        snprintf(name, sizeof(name), "idle-%d", i);
        snprintf(path, sizeof(path), "%s/%s.yaml", folder, name);
        write_role(path, name, triggers);
    }
    return folder;
}

struct idle_numbers {
    struct samples waits; /* a second */
    struct samples rss;   /* MiB */
};

static void watch_idle(const struct bench *bench, const struct serve_process *server,
                       struct idle_numbers *numbers)
{
    unsigned seconds = bench->is_quick ? 4 : 20;
    sleep(12); /* what the start leaves to be done; readers rest 5 s after the last write */
    double before = serve_waits(server->pid);
    sleep(seconds);
    samples_add(&numbers->waits, (serve_waits(server->pid) - before) / seconds);
    samples_add(&numbers->rss, serve_status_kib(server->pid, "VmRSS:") / 1024);
    serve_end(server, SIGTERM);
}

void figure_idle(struct bench *bench)
{
    struct idle_numbers ours = {0};
    struct idle_numbers bare = {0};
    if (bench->cli == NULL) {
        return;
    }
    char *roles = write_idle_roles(bench);
    for (size_t round = 0; round < bench_rounds(bench, 5); round++) {
        struct serve_process server = start_daemon(bench, roles, NULL);
        watch_idle(bench, &server, &ours);
        server = serve_start(bench->cli, bench_path(bench, "daemon.db"), NULL);
        watch_idle(bench, &server, &bare);
    }
    bench_row(bench,
              &(struct report_row){.name = "idle daemon, 1,000 triggers: wake-ups a second",
                                   .floor_name = "rondo serve",
                                   .unit = "/s",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 0.5},
              &ours.waits, &bare.waits);
    bench_row(bench,
              &(struct report_row){.name = "idle daemon, 1,000 triggers: memory",
                                   .floor_name = "rondo serve",
                                   .unit = "MiB",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 12},
              &ours.rss, &bare.rss);
    free(roles);
    bench_remove_store(bench_path(bench, "daemon.db"));
}

/* ---- Webhooks -------------------------------------------------------------------------------- */

#define HOOK "    - {type: webhook, name: bench, unsigned: true, rate_limit_rpm: 1000000}\n"

static double wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/** Copy the value of a text member of an answer. */
static bool find_text(const char *json, const char *member, char *ret_text, size_t size)
{
    char mark[64];
    snprintf(mark, sizeof(mark), "\"%s\":\"", member);
    const char *found = strstr(json, mark);
    if (found == NULL) {
        return false;
    }
    found += strlen(mark);
    snprintf(ret_text, size, "%.*s", (int)strcspn(found, "\""), found);
    return true;
}

/** When a run's first iteration started. Waits for it. */
static double started_ms(int port, const char *run_id)
{
    static char answer[ANSWER_BYTES];
    char path[128];
    char time[64];
    snprintf(path, sizeof(path), "/v1/runs/%s/events?types=iteration.started&limit=1", run_id);
    while (serve_ask(port, "GET", path, NULL, answer, sizeof(answer)) != 200 ||
           !find_text(answer, "time", time, sizeof(time))) {
        usleep(2000);
    }
    return bench_time_ms(time);
}

/** From the first byte of a webhook to the first iteration of its run, and to the answer. */
static void measure_latency(struct bench *bench, const char *role)
{
    char answer[4096];
    char run_id[64];
    struct samples start = {0};
    struct samples reply = {0};
    struct samples ours = {0};
    struct samples bare = {0};
    struct serve_process server = start_daemon(bench, role, NULL);
    for (size_t i = 0; i < bench_rounds(bench, 500); i++) {
        double sent_ms = wall_ms();
        int status = serve_ask(server.port, "POST", "/hooks/bench", "{}", answer, sizeof(answer));
        samples_add(&reply, wall_ms() - sent_ms);
        if (status != 202 || !find_text(answer, "run_id", run_id, sizeof(run_id))) {
            bench_die("the webhook is not accepted: %d %.200s", status, answer);
        }
        double started = started_ms(server.port, run_id);
        samples_add(&start, started - sent_ms);
        usleep(5000); /* The run ends. */
    }
    serve_end(&server, SIGTERM);
    samples_add(&ours, samples_percentile(&start, 0.99));
    samples_add(&bare, samples_percentile(&reply, 0.99));
    bench_row(bench,
              &(struct report_row){.name = "webhook to its run's first iteration, p99",
                                   .floor_name = "to the answer 202, p99",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 20},
              &ours, &bare);
    samples_copy(&ours, &start);
    samples_copy(&bare, &reply);
    samples_fini(&start);
    samples_fini(&reply);
    bench_row(bench,
              &(struct report_row){.name = "webhook to its run's first iteration, median",
                                   .floor_name = "to the answer 202, median",
                                   .unit = "ms"},
              &ours, &bare);
}

struct sender {
    int port;
    size_t count;
};

static void *send_hooks(void *context)
{
    const struct sender *sender = context;
    char answer[4096];
    int fd = serve_connect(sender->port);
    for (size_t i = 0; i < sender->count; i++) {
        int status = serve_ask_on(fd, "POST", "/hooks/bench", "{}", answer, sizeof(answer));
        if (status != 202) {
            bench_die("a webhook is not accepted: %d %.200s", status, answer);
        }
    }
    close(fd);
    return NULL;
}

/** Webhooks that are accepted a second, from several connections. */
static double accept_rate(const struct bench *bench, const char *role)
{
    const char *const more[] = {"--max-waiting", "10000", "--max-role-running", "1", NULL};
    pthread_t threads[SENDERS];
    struct serve_process server = start_daemon(bench, role, more);
    struct sender sender = {.port = server.port, .count = bench->is_quick ? 50 : 250};
    double began = now_us();
    for (size_t i = 0; i < SENDERS; i++) {
        if (pthread_create(&threads[i], NULL, send_hooks, &sender) != 0) {
            bench_die("no thread");
        }
    }
    for (size_t i = 0; i < SENDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    double seconds = (now_us() - began) / 1e6;
    serve_end(&server, SIGKILL);
    return SENDERS * (double)sender.count / seconds;
}

/** Rows that SQLite alone commits a second, as durable. */
static double commit_rate(const struct bench *bench)
{
    static const char row[400];
    const char *path = bench_path(bench, "floor.db");
    size_t count = bench->is_quick ? 400 : 2000;
    struct floor *floor = floor_open(path);
    double began = now_us();
    for (size_t i = 0; i < count; i++) {
        floor_commit(floor, row, sizeof(row));
    }
    double seconds = (now_us() - began) / 1e6;
    floor_close(floor);
    bench_remove_store(path);
    return (double)count / seconds;
}

static void measure_rate(struct bench *bench, const char *role)
{
    struct samples ours = {0};
    struct samples bare = {0};
    for (size_t round = 0; round < bench_rounds(bench, 10); round++) {
        samples_add(&ours, accept_rate(bench, role));
        samples_add(&bare, commit_rate(bench));
    }
    bench_row(bench,
              &(struct report_row){.name = "webhooks accepted a second, 8 senders",
                                   .floor_name = "commits of SQLite alone",
                                   .unit = "/s",
                                   .goal_kind = GOAL_FIGURE_MIN,
                                   .goal = 500},
              &ours, &bare);
}

void figure_hooks(struct bench *bench)
{
    if (bench->cli == NULL) {
        return;
    }
    char *role = strdup(bench_path(bench, "hook.yaml"));
    const char *turns = bench_path(bench, "turns.jsonl");
    if (role == NULL) {
        bench_die("no memory");
    }
    write_role(role, "hooked", HOOK);
    write_text(turns, "{\"text\":\"Done.\"}\n");
    measure_latency(bench, role);
    turns = bench_path(bench, "turns.jsonl");
    write_text(turns, "{\"text\":\"Done.\",\"delay_ms\":600000}\n");
    measure_rate(bench, role);
    free(role);
    bench_remove_store(bench_path(bench, "daemon.db"));
}
