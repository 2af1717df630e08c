// SPDX-License-Identifier: Apache-2.0
/*
 * What exporting costs: the same run of an agent with a collector that answers, with one that is
 * dead, and without any. The collector is a thread that reads requests and says yes.
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

static void *collect(void *context)
{
    struct collector *collector = context;
    for (int fd; (fd = accept(collector->fd, NULL, NULL)) >= 0;) {
        answer_all(collector, fd);
        close(fd);
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

/** Time of a whole run, microseconds. */
static double run_us(const struct bench *bench, const char *endpoint)
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
    if (endpoint == NULL) {
        unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    } else {
        setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint, 1);
    }
    double took = bench_spawn_us(argv);
    unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    return took;
}

static void add_row(struct bench *bench, const char *name, struct samples *ours,
                    struct samples *bare)
{
    bench_row(bench,
              &(struct row){.name = name,
                            .floor_name = "without an exporter",
                            .unit = "ms",
                            .goal_kind = GOAL_RATIO_MAX,
                            .goal = 1.1},
              ours, bare);
}

void figure_telemetry(struct bench *bench)
{
    if (bench->cli == NULL) {
        return;
    }
    struct collector collector = {0};
    char alive[64];
    char dead[64];
    collector_start(&collector);
    snprintf(alive, sizeof(alive), "http://127.0.0.1:%d", collector.port);
    snprintf(dead, sizeof(dead), "http://127.0.0.1:1");
    write_agent(bench);
    struct samples on = {0};
    struct samples off = {0};
    struct samples off_again = {0};
    struct samples broken = {0};
    for (size_t round = 0; round < bench_rounds(bench, 15); round++) {
        samples_add(&on, run_us(bench, alive) / 1e3);
        samples_add(&off, run_us(bench, NULL) / 1e3);
        samples_add(&broken, run_us(bench, dead) / 1e3);
        samples_add(&off_again, run_us(bench, NULL) / 1e3);
    }
    if (atomic_load(&collector.requests) == 0) {
        bench_die("nothing was exported");
    }
    collector_end(&collector);
    add_row(bench, ITERATIONS " iterations, exporting", &on, &off);
    add_row(bench, ITERATIONS " iterations, the collector is dead", &broken, &off_again);
}
