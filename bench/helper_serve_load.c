// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: many loops in one server, and readers of their events.
 *
 *   bench_serve_load PORT LOOPS READERS ROLE ITERATIONS
 *
 * Starts so many runs of a role, opens the readers (one in ten follows all runs, the others one
 * each), reads until all runs have ended, and prints: the median and the 99th percentile of the
 * time from an event's own time stamp until a reader has it (ms), the number of events read, and
 * the mean time that a run took (ms).
 */
#include "measure.h"
#include "serve_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES (256 * 1024)
#define READ_BYTES (64 * 1024)
#define ID_BYTES   40
/** Time without anything after which the runs are taken to hang. */
#define PATIENCE_MS 120000
/** Every so many-th reader follows all runs. */
#define ALL_RUNS_EVERY 10

struct reader {
    int fd;
    bool follows_all;
    size_t len;
    bool is_too_long; /* the rest of the line is dropped */
    char line[LINE_BYTES];
};

static struct samples latencies;
static size_t event_count;

static double wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/** "2026-11-21T14:25:58.562Z" in ms. */
static double parse_time(const char *text)
{
    struct tm parts = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    return rest == NULL ? 0 : (double)timegm(&parts) * 1e3 + strtod(rest, NULL) * 1e3;
}

static void take_line(const struct reader *reader)
{
    static const char key[] = "\"time\":\"";
    if (strncmp(reader->line, "data: ", 6) != 0) {
        return;
    }
    const char *time = strstr(reader->line, key);
    if (time != NULL) {
        samples_add(&latencies, wall_ms() - parse_time(time + sizeof(key) - 1));
        event_count++;
    }
}

static void take(struct reader *reader, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n') {
            reader->line[reader->len] = '\0';
            if (!reader->is_too_long) {
                take_line(reader);
            }
            reader->len = 0;
            reader->is_too_long = false;
        } else if (reader->len < LINE_BYTES - 1) {
            reader->line[reader->len++] = bytes[i];
        } else {
            reader->is_too_long = true;
        }
    }
}

static bool read_some(struct reader *reader)
{
    static char bytes[READ_BYTES];
    ssize_t n = recv(reader->fd, bytes, sizeof(bytes), 0);
    if (n > 0) {
        take(reader, bytes, (size_t)n);
    }
    return n > 0 || (n < 0 && errno == EAGAIN);
}

/** Number of runs that have ended, and the sum of their durations. */
static size_t count_ended(int port, double *ret_total_ms)
{
    static char body[4 * 1024 * 1024];
    char path[256] = "/v1/runs?limit=500";
    size_t count = 0;
    *ret_total_ms = 0;
    for (;;) {
        serve_ask(port, "GET", path, NULL, body, sizeof(body));
        const char *row = body;
        while ((row = strstr(row, "\"created\":\"")) != NULL) {
            double created = parse_time(row + 11);
            const char *ended = strstr(row, "\"ended\":");
            row += 11;
            if (ended != NULL && ended[8] == '"') {
                *ret_total_ms += parse_time(ended + 9) - created;
                count++;
            }
        }
        const char *next = strstr(body, "\"next_cursor\":\"");
        if (next == NULL) {
            return count;
        }
        next += 15;
        snprintf(path, sizeof(path), "/v1/runs?limit=500&cursor=%.*s", (int)strcspn(next, "\""),
                 next);
    }
}

static void start_runs(int port, size_t count, const char *role, const char *iterations,
                       char (*ids)[ID_BYTES])
{
    char body[8192];
    for (size_t i = 0; i < count; i++) {
        snprintf(body, sizeof(body),
                 "{\"role_file\":\"%s\",\"prompt\":\"Go.\",\"max_iterations\":%s}", role,
                 iterations);
        int status = serve_ask(port, "POST", "/v1/runs", body, body, sizeof(body));
        const char *id = strstr(body, "\"run_id\":\"");
        if (status != 201 || id == NULL) {
            bench_die("a run was not started: %d %.300s", status, body);
        }
        snprintf(ids[i], ID_BYTES, "%.36s", id + 10);
    }
}

static struct reader *open_readers(int port, size_t count, char (*ids)[ID_BYTES], size_t id_count,
                                   int epoll)
{
    struct reader *readers = calloc(count + 1, sizeof(*readers));
    for (size_t i = 0; i < count; i++) {
        char path[256] = "/v1/events";
        readers[i].follows_all = i % ALL_RUNS_EVERY == 0;
        if (!readers[i].follows_all) {
            snprintf(path, sizeof(path), "/v1/runs/%s/events", ids[i % id_count]);
        }
        readers[i].fd = serve_stream(port, path);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &readers[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, readers[i].fd, &event);
    }
    return readers;
}

/** Read until all runs have ended. @return the mean duration of a run, ms */
static double follow(int port, int epoll, size_t runs)
{
    double total = 0;
    double looked = wall_ms();
    double begun = looked;
    for (;;) {
        struct epoll_event events[64];
        int n = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < n; i++) {
            if (!read_some(events[i].data.ptr)) {
                bench_die("a reader was cut off");
            }
        }
        if (wall_ms() - looked < 2000) {
            continue;
        }
        looked = wall_ms();
        if (count_ended(port, &total) >= runs) {
            return total / (double)runs;
        }
        if (looked - begun > PATIENCE_MS) {
            bench_die("the runs do not end");
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        bench_die("usage: bench_serve_load PORT LOOPS READERS ROLE ITERATIONS");
    }
    int port = (int)strtol(argv[1], NULL, 10);
    size_t loops = strtoul(argv[2], NULL, 10);
    size_t reader_count = strtoul(argv[3], NULL, 10);
    struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_NOFILE, &files);
    char(*ids)[ID_BYTES] = calloc(loops, sizeof(*ids));
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    start_runs(port, loops, argv[4], argv[5], ids);
    struct reader *readers = open_readers(port, reader_count, ids, loops, epoll);
    /* What was committed before a reader came is backfill, and not late. */
    double settled = wall_ms() + 1000;
    while (wall_ms() < settled) {
        struct epoll_event events[64];
        int n = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < n; i++) {
            read_some(events[i].data.ptr);
        }
    }
    samples_fini(&latencies);
    event_count = 0;
    double mean = follow(port, epoll, loops);
    printf("%.3f %.3f %zu %.3f\n", samples_percentile(&latencies, 0.5),
           samples_percentile(&latencies, 0.99), event_count, mean);
    free(readers);
    free(ids);
    return 0;
}
