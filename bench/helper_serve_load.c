// SPDX-License-Identifier: Apache-2.0
/*
 * Helper: many loops in one server, and readers of their events.
 *
 *   bench_serve_load PORT PID LOOPS READERS BAD ROLE SECONDS TOKEN
 *
 * Starts so many runs of a role that does not end by itself, opens the readers (one in ten follows
 * all runs, one in ten the table of runs, the others one run each) and so many bad readers of all
 * runs: sleepers, which never take a byte, and as many that come all the time and vanish without a
 * word. Then it looks at a window of so many seconds in which all loops execute and all readers
 * read. Events count by their own time stamps, so what is late is late,
 * and each reader of all runs must have seen exactly the events that the journal has for the
 * window. Prints, with blanks between:
 *
 *   p50 p99 max     time from an event's time stamp until a reader has it, ms
 *   read            events that readers took, a second
 *   committed       events that the journal has, a second
 *   mean slowest    time from one iteration of a run to its next, ms: of all runs, of the slowest
 *   cpu             processor time that the server took, seconds a second
 *   rss peak        resident memory of the server at the end of the window, and at most, MiB
 *   each            descriptors that a run takes
 *   starting        time until all runs execute, seconds
 *   late            by how much a thread that only sleeps woke up too late, 99th percentile, ms:
 *                   what else the machine does
 */
#include "measure.h"
#include "serve_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES (256 * 1024)
#define READ_BYTES (64 * 1024)
#define BODY_BYTES (4 * 1024 * 1024)
#define ID_BYTES   40
#define STARTERS   8
/** Of what came before the window: what readers have to catch up with, and the end of the starts.
 */
#define SETTLE_MS 4000
/** How long the thread that looks at the machine sleeps at a time. */
#define NAP_US 2000
/** After the window, for what is late; what comes later than this is missing. */
#define LATE_MS 3000

enum reader_kind { READS_ALL, READS_TABLE, READS_RUN };

struct load_reader {
    int fd;
    enum reader_kind kind;
    size_t event_count; /* of the window */
    /* Of the answer's encoding in chunks. */
    bool is_past_head;
    bool has_begun;
    size_t chunk_left;
    char size_line[512];
    size_t size_len;
    /* Of the stream within. */
    size_t len;
    bool is_too_long; /* the rest of the line is dropped */
    char line[LINE_BYTES];
};

struct load_generator {
    int port;
    pid_t pid;
    size_t loop_count;
    size_t reader_count;
    size_t bad_count; /* of each kind */
    const char *role;
    const char *token; /* of the readers, as those of other machines have one */
    char (*ids)[ID_BYTES];
    _Atomic size_t next;
    double from_ms; /* the window; wall clock */
    double until_ms;
};

static struct samples latencies;
static struct samples sleeper_late;

static double wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- Readers. -------------------------------------------------------------------------------- */

static void take_line(const struct load_generator *load, struct load_reader *reader, double now)
{
    static const char key[] = "\"time\":\"";
    if (strncmp(reader->line, "data: ", 6) != 0 || reader->kind == READS_TABLE) {
        return;
    }
    const char *time = strstr(reader->line, key);
    double committed = time == NULL ? 0 : bench_time_ms(time + sizeof(key) - 1);
    if (committed >= load->from_ms && committed < load->until_ms) {
        samples_add(&latencies, now - committed);
        reader->event_count++;
    }
}

static void take_text(const struct load_generator *load, struct load_reader *reader,
                      const char *bytes, size_t len, double now)
{
    const char *end = bytes + len;
    while (bytes < end) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t piece = (size_t)((line_end == NULL ? end : line_end) - bytes);
        if (piece >= LINE_BYTES - reader->len) {
            reader->is_too_long = true;
        } else if (!reader->is_too_long) {
            memcpy(reader->line + reader->len, bytes, piece);
            reader->len += piece;
        }
        if (line_end != NULL) {
            reader->line[reader->len] = '\0';
            if (!reader->is_too_long) {
                take_line(load, reader, now);
            }
            reader->len = 0;
            reader->is_too_long = false;
        }
        bytes += piece + (line_end != NULL);
    }
}

/** One more byte of the answer's head or of a line before a chunk. */
static void take_size(struct load_reader *reader, char byte)
{
    reader->size_line[reader->size_len++ % (sizeof(reader->size_line) - 1)] = byte;
    reader->size_line[reader->size_len % (sizeof(reader->size_line) - 1)] = '\0';
    if (byte != '\n') {
        return;
    }
    if (reader->is_past_head) {
        reader->chunk_left = strtoul(reader->size_line, NULL, 16);
        reader->has_begun = true;
    } else if (reader->size_len == 2) {
        reader->is_past_head = true;
    }
    reader->size_len = 0;
}

static void take(const struct load_generator *load, struct load_reader *reader, const char *bytes,
                 size_t len)
{
    double now = wall_ms();
    for (size_t i = 0; i < len;) {
        if (reader->chunk_left == 0) {
            take_size(reader, bytes[i++]);
            continue;
        }
        size_t piece = reader->chunk_left < len - i ? reader->chunk_left : len - i;
        take_text(load, reader, bytes + i, piece, now);
        reader->chunk_left -= piece;
        i += piece;
    }
}

static void read_until(const struct load_generator *load, int epoll, double until_ms)
{
    static char bytes[READ_BYTES];
    while (wall_ms() < until_ms) {
        struct epoll_event events[64];
        int n = epoll_wait(epoll, events, 64, 10);
        for (int i = 0; i < n; i++) {
            struct load_reader *reader = events[i].data.ptr;
            ssize_t got = recv(reader->fd, bytes, sizeof(bytes), 0);
            if (got > 0) {
                take(load, reader, bytes, (size_t)got);
            } else if (got == 0 || errno != EAGAIN) {
                bench_die("a reader was cut off: %s", got == 0 ? "end" : strerror(errno));
            }
        }
    }
}

/** Until each reader has the beginning of its answer: from then on it has a place in the journal.
 */
static void await_readers(const struct load_generator *load, const struct load_reader *readers,
                          int epoll)
{
    for (size_t i = 0; i < load->reader_count; i++) {
        while (!readers[i].has_begun) {
            read_until(load, epoll, wall_ms() + 10);
        }
    }
}

static struct load_reader *open_readers(const struct load_generator *load, int epoll)
{
    struct load_reader *readers = calloc(load->reader_count + 1, sizeof(*readers));
    for (size_t i = 0; i < load->reader_count; i++) {
        char path[256];
        readers[i].kind = i % 10 == 0 ? READS_ALL : i % 10 == 1 ? READS_TABLE : READS_RUN;
        snprintf(path, sizeof(path),
                 readers[i].kind == READS_ALL     ? "/v1/events%.0s"
                 : readers[i].kind == READS_TABLE ? "/v1/stream%.0s"
                                                  : "/v1/runs/%s/events",
                 load->ids[i % load->loop_count]);
        readers[i].fd = serve_stream(load->port, path, load->token);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &readers[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, readers[i].fd, &event);
    }
    return readers;
}

static void open_sleepers(const struct load_generator *load)
{
    for (size_t i = 0; i < load->bad_count; i++) {
        (void)serve_stream(load->port, "/v1/events", load->token); /* until this program ends */
    }
}

/** Comes, and resets its connection in the middle of what it is told; each a quarter of a second.
 */
static void *come_and_vanish(void *context)
{
    static const struct linger at_once = {.l_onoff = 1};
    static const struct timespec stay = {.tv_nsec = 250000000};
    const struct load_generator *load = context;
    int *fds = calloc(load->bad_count + 1, sizeof(*fds));
    while (wall_ms() < load->until_ms) {
        for (size_t i = 0; i < load->bad_count; i++) {
            fds[i] = serve_stream(load->port, "/v1/events?after=0", load->token);
        }
        nanosleep(&stay, NULL);
        for (size_t i = 0; i < load->bad_count; i++) {
            setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
            close(fds[i]);
        }
    }
    free(fds);
    return NULL;
}

/* ---- Runs. ----------------------------------------------------------------------------------- */

static void *start_some(void *context)
{
    struct load_generator *load = context;
    char body[65536];
    char request[8192];
    int fd = serve_connect(load->port);
    for (size_t i; (i = atomic_fetch_add(&load->next, 1)) < load->loop_count;) {
        snprintf(request, sizeof(request), "{\"role_file\":\"%s\",\"prompt\":\"Go.\"}", load->role);
        int status = serve_ask_on(fd, "POST", "/v1/runs", request, body, sizeof(body));
        const char *id = strstr(body, "\"run_id\":\"");
        if (status != 201 || id == NULL) {
            bench_die("a run was not started: %d %.300s", status, body);
        }
        snprintf(load->ids[i], ID_BYTES, "%.36s", id + 10);
    }
    close(fd);
    return NULL;
}

static double start_runs(struct load_generator *load)
{
    pthread_t threads[STARTERS];
    double began = wall_ms();
    for (int i = 0; i < STARTERS; i++) {
        pthread_create(&threads[i], NULL, start_some, load);
    }
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    return (wall_ms() - began) / 1e3;
}

/* ---- What the journal has for the window. ---------------------------------------------------- */

struct pace {
    double first_ms;
    double last_ms;
    size_t count; /* of iterations begun in the window */
};

struct journal {
    size_t event_count;
    struct samples periods; /* one a run */
};

static struct pace *pace_of(const struct load_generator *load, struct pace *paces,
                            const char *run_id)
{
    for (size_t i = 0; i < load->loop_count; i++) {
        if (strncmp(load->ids[i], run_id, 36) == 0) {
            return &paces[i];
        }
    }
    bench_die("an unknown run: %.36s", run_id);
}

static void note(const struct load_generator *load, struct pace *paces, struct journal *journal,
                 const char *row)
{
    const char *time = strstr(row, "\"time\":\"");
    double committed = bench_time_ms(time + 8);
    if (committed < load->from_ms || committed >= load->until_ms) {
        return;
    }
    journal->event_count++;
    const char *type = strstr(row, "\"type\":\"");
    if (strncmp(type + 8, "iteration.started\"", 18) == 0) {
        struct pace *pace = pace_of(load, paces, row + 10);
        pace->first_ms = pace->count == 0 ? committed : pace->first_ms;
        pace->last_ms = committed;
        pace->count++;
    }
}

static uint64_t last_position(const struct load_generator *load)
{
    char body[65536];
    serve_ask(load->port, "GET", "/v1/health", NULL, body, sizeof(body));
    const char *found = strstr(body, "\"position\":");
    return found == NULL ? 0 : strtoull(found + 11, NULL, 10);
}

/** Read what was committed after a position. */
static struct journal read_journal(const struct load_generator *load, uint64_t after)
{
    static char body[BODY_BYTES];
    struct journal journal = {0};
    struct pace *paces = calloc(load->loop_count, sizeof(*paces));
    uint64_t last = last_position(load);
    int fd = serve_connect(load->port);
    while (after < last) {
        char path[128];
        snprintf(path, sizeof(path), "/v1/events?limit=1000&after=%llu", (unsigned long long)after);
        serve_ask_on(fd, "GET", path, NULL, body, sizeof(body));
        uint64_t before = after;
        const char *row = body;
        while ((row = strstr(row, "\"run_id\":\"")) != NULL) {
            note(load, paces, &journal, row);
            row += 10;
        }
        const char *next = strstr(body, "\"next\":");
        after = next == NULL ? before : strtoull(next + 7, NULL, 10);
        if (after <= before) {
            break;
        }
    }
    close(fd);
    for (size_t i = 0; i < load->loop_count; i++) {
        if (paces[i].count > 1) {
            samples_add(&journal.periods,
                        (paces[i].last_ms - paces[i].first_ms) / (double)(paces[i].count - 1));
        }
    }
    free(paces);
    return journal;
}

/** Each reader of all runs has seen every event of the window once. @return events read */
static size_t check_readers(const struct load_generator *load, const struct load_reader *readers,
                            const struct journal *journal)
{
    size_t total = 0;
    for (size_t i = 0; i < load->reader_count; i++) {
        total += readers[i].event_count;
        if (readers[i].kind == READS_ALL && readers[i].event_count != journal->event_count) {
            bench_die("a reader has seen %zu events of %zu", readers[i].event_count,
                      journal->event_count);
        }
    }
    return total;
}

static double mean(const struct samples *samples)
{
    double sum = 0;
    for (size_t i = 0; i < samples->count; i++) {
        sum += samples->values[i];
    }
    return samples->count == 0 ? 0 : sum / (double)samples->count;
}

/** Sleeps and wakes, in the window. */
static void *oversleep(void *context)
{
    const struct load_generator *load = context;
    struct samples *late = &sleeper_late;
    const struct timespec nap = {.tv_nsec = NAP_US * 1000};
    while (wall_ms() < load->until_ms) {
        double began = now_us();
        nanosleep(&nap, NULL);
        samples_add(late, (now_us() - began - NAP_US) / 1e3);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 9) {
        bench_die("usage: bench_serve_load PORT PID LOOPS READERS BAD ROLE SECONDS TOKEN");
    }
    struct load_generator load = {
        .port = (int)strtol(argv[1], NULL, 10),
        .pid = (pid_t)strtol(argv[2], NULL, 10),
        .loop_count = strtoul(argv[3], NULL, 10),
        .reader_count = strtoul(argv[4], NULL, 10),
        .bad_count = strtoul(argv[5], NULL, 10),
        .role = argv[6],
        .token = argv[8],
        .from_ms = 1e300,
    };
    struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_NOFILE, &files);
    load.ids = calloc(load.loop_count, sizeof(*load.ids));
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    size_t descriptors = serve_descriptors(load.pid);
    double starting = start_runs(&load);
    descriptors = serve_descriptors(load.pid) - descriptors;
    struct load_reader *readers = open_readers(&load, epoll);
    await_readers(&load, readers, epoll);
    open_sleepers(&load);
    read_until(&load, epoll, wall_ms() + SETTLE_MS);
    uint64_t position = last_position(&load);
    double seconds = strtod(argv[7], NULL);
    load.from_ms = wall_ms();
    load.until_ms = load.from_ms + seconds * 1e3;
    pthread_t sleeper;
    pthread_t vanisher;
    pthread_create(&sleeper, NULL, oversleep, &load);
    pthread_create(&vanisher, NULL, come_and_vanish, &load);
    double cpu = serve_cpu_s(load.pid);
    read_until(&load, epoll, load.until_ms);
    cpu = serve_cpu_s(load.pid) - cpu;
    double rss = serve_status_kib(load.pid, "VmRSS:") / 1024;
    double peak = serve_status_kib(load.pid, "VmHWM:") / 1024;
    read_until(&load, epoll, load.until_ms + LATE_MS);
    pthread_join(sleeper, NULL);
    pthread_join(vanisher, NULL);
    struct journal journal = read_journal(&load, position);
    size_t read = check_readers(&load, readers, &journal);
    printf("%.3f %.3f %.3f %.0f %.0f %.3f %.3f %.3f %.1f %.1f %.2f %.2f %.2f\n",
           samples_percentile(&latencies, 0.5), samples_percentile(&latencies, 0.99),
           samples_percentile(&latencies, 1), (double)read / seconds,
           (double)journal.event_count / seconds, mean(&journal.periods),
           samples_percentile(&journal.periods, 1), cpu / seconds, rss, peak,
           (double)descriptors / (double)load.loop_count, starting,
           samples_percentile(&sleeper_late, 0.99));
    free(readers);
    free(load.ids);
    return 0;
}
