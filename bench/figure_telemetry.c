// SPDX-License-Identifier: Apache-2.0
/*
 * What exporting costs: the same run of an agent with a collector that answers, with one that
 * refuses connections, with one that is a black hole, and without any. The collector is a thread
 * that reads requests and says yes. The time of the iterations is that of the journal, from the
 * beginning of the run to its end; what the process takes beyond it is the start and the wait for
 * the collector.
 */
#include "measure.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ITERATIONS "400"

struct collector {
    int fd;
    int port;
    pthread_t thread;
    _Atomic unsigned requests;
};

/** Length of the body that a head announces; 0 = none. */
static size_t body_length(const char *head)
{
    const char *found = strcasestr(head, "content-length:");
    return found == NULL ? 0 : strtoul(found + strlen("content-length:"), NULL, 10);
}

/** Read requests of one connection and answer each, until it ends. */
static void answer_all(struct collector *collector, int fd)
{
    static const char yes[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    char bytes[65536];
    for (;;) {
        size_t len = 0;
        char *end = NULL;
        while (end == NULL && len < sizeof(bytes) - 1) {
            ssize_t n = recv(fd, bytes + len, sizeof(bytes) - 1 - len, 0);
            if (n <= 0) {
                return;
            }
            len += (size_t)n;
            bytes[len] = '\0';
            end = strstr(bytes, "\r\n\r\n");
        }
        size_t wanted = body_length(bytes);
        size_t got = end == NULL ? 0 : len - (size_t)(end + 4 - bytes);
        while (got < wanted) {
            ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
            if (n <= 0) {
                return;
            }
            got += (size_t)n;
        }
        atomic_fetch_add(&collector->requests, 1);
        if (send(fd, yes, sizeof(yes) - 1, MSG_NOSIGNAL) < 0) {
            return;
        }
    }
}

struct guest {
    struct collector *collector;
    int fd;
};

static void *serve_guest(void *context)
{
    struct guest *guest = context;
    answer_all(guest->collector, guest->fd);
    close(guest->fd);
    free(guest);
    return NULL;
}

static void *collect(void *context)
{
    struct collector *collector = context;
    for (int fd; (fd = accept(collector->fd, NULL, NULL)) >= 0;) {
        struct guest *guest = malloc(sizeof(*guest));
        pthread_t thread;
        if (guest == NULL) {
            bench_die("out of memory");
        }
        *guest = (struct guest){collector, fd};
        pthread_create(&thread, NULL, serve_guest, guest);
        pthread_detach(thread);
    }
    return NULL;
}

static void collector_start(struct collector *collector)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    collector->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (collector->fd < 0 || bind(collector->fd, (struct sockaddr *)&address, len) != 0 ||
        listen(collector->fd, 8) != 0 ||
        getsockname(collector->fd, (struct sockaddr *)&address, &len) != 0) {
        bench_die("no collector");
    }
    collector->port = ntohs(address.sin_port);
    pthread_create(&collector->thread, NULL, collect, collector);
}

static void collector_end(struct collector *collector)
{
    shutdown(collector->fd, SHUT_RDWR);
    pthread_join(collector->thread, NULL);
    close(collector->fd);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        bench_die("%s cannot be written", path);
    }
}

static void write_agent(const struct bench *bench)
{
    write_file(bench_path(bench, "thinker.yaml"),
               "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: thinker\nspec:\n"
               "  role: You think.\n  model:\n    provider: scripted\n    name: thoughts.jsonl\n"
               "  tools:\n    - type: datetime\n"
               "  autonomy:\n    iteration_delay_seconds: 0\n"
               "    max_no_tool_call_iterations: 0\n");
    write_file(
        bench_path(bench, "thoughts.jsonl"),
        "{\"text\":\"Going on.\",\"usage\":{\"input\":100,\"output\":5},\"forever\":true}\n");
}

/** A port whose queue of connections is full: clients get no answer. Never closed. */
static int dig_black_hole(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 0) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        bench_die("no black hole");
    }
    for (int i = 0; i < 8; i++) {
        int filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(filler, (struct sockaddr *)&address, sizeof(address));
    }
    return ntohs(address.sin_port);
}

/** One kind of collector. */
struct case_of {
    char endpoint[64]; /* "" = none */
    struct samples iteration_us;
    struct samples rest_ms;
};

/** How long the only run of a store took by its journal, ms. */
static double journal_ms(const struct bench *bench, const char *store)
{
    static char text[65536];
    const char *const argv[] = {bench->cli, "runs", "--json", "--store", store, NULL};
    bench_spawn_text(argv, text, sizeof(text));
    const char *created = strstr(text, "\"created\":\"");
    const char *ended = strstr(text, "\"ended\":\"");
    if (created == NULL || ended == NULL) {
        bench_die("no run in the store: %.300s", text);
    }
    return bench_time_ms(ended + strlen("\"ended\":\"")) -
           bench_time_ms(created + strlen("\"created\":\""));
}

static void execute(const struct bench *bench, struct case_of *of)
{
    const char *store = bench_path(bench, "telemetry.db");
    const char *role = bench_path(bench, "thinker.yaml");
    const char *const argv[] = {
        "/bin/sh",
        "-c",
        "\"$0\" run \"$1\" --store \"$2\" -p Go. -a -q --max-iterations " ITERATIONS
        "; test $? = 5",
        bench->cli,
        role,
        store,
        NULL};
    bench_remove_store(store);
    if (of->endpoint[0] != '\0') {
        setenv("OTEL_EXPORTER_OTLP_ENDPOINT", of->endpoint, 1);
    }
    double took_ms = bench_spawn_us(argv) / 1e3;
    unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    double run_ms = journal_ms(bench, store);
    samples_add(&of->iteration_us, run_ms * 1e3 / strtod(ITERATIONS, NULL));
    samples_add(&of->rest_ms, took_ms - run_ms);
}

static void add_row(struct bench *bench, const struct report_row *head, const struct samples *ours,
                    const struct samples *bare)
{
    struct samples figure = {0};
    struct samples floor = {0};
    samples_copy(&figure, ours);
    samples_copy(&floor, bare);
    bench_row(bench, head, &figure, &floor);
}

static void add_rows(struct bench *bench, const char *name, const char *rest_name,
                     const struct case_of *of, const struct case_of *without)
{
    add_row(bench,
            &(struct report_row){.name = name,
                                 .floor_name = "without an exporter",
                                 .unit = "us",
                                 .goal_kind = GOAL_RATIO_MAX,
                                 .goal = 1.1},
            &of->iteration_us, &without->iteration_us);
    add_row(bench,
            &(struct report_row){.name = rest_name,
                                 .floor_name = "without an exporter",
                                 .unit = "ms",
                                 .goal_kind = GOAL_EXCESS_MAX,
                                 .goal = 1000},
            &of->rest_ms, &without->rest_ms);
}

void figure_telemetry(struct bench *bench)
{
    if (bench->cli == NULL) {
        return;
    }
    struct collector collector = {0};
    struct case_of without = {0};
    struct case_of alive = {0};
    struct case_of dead = {0};
    struct case_of hole = {0};
    collector_start(&collector);
    snprintf(alive.endpoint, sizeof(alive.endpoint), "http://127.0.0.1:%d", collector.port);
    snprintf(dead.endpoint, sizeof(dead.endpoint), "http://127.0.0.1:1");
    snprintf(hole.endpoint, sizeof(hole.endpoint), "http://127.0.0.1:%d", dig_black_hole());
    write_agent(bench);
    for (size_t round = 0; round < bench_rounds(bench, 15); round++) {
        execute(bench, &without);
        execute(bench, &alive);
        execute(bench, &dead);
        execute(bench, &hole);
    }
    if (atomic_load(&collector.requests) == 0) {
        bench_die("nothing was exported");
    }
    collector_end(&collector);
    add_rows(bench, "iteration, exporting", "start and end of such a command", &alive, &without);
    add_rows(bench, "iteration, the collector refuses", "start and end of such a command", &dead,
             &without);
    add_rows(bench, "iteration, the collector is a black hole", "start and end of such a command",
             &hole, &without);
    struct case_of *cases[] = {&without, &alive, &dead, &hole};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        samples_fini(&cases[i]->iteration_us);
        samples_fini(&cases[i]->rest_ms);
    }
}
