// SPDX-License-Identifier: Apache-2.0
/*
 * What `rondo serve` keeps of requests: nothing. Requests of each kind go to every operation in
 * turn: answered, refused for every reason there is, half, aborted, slow, over the limit of
 * connections. After a warm-up its memory may not grow by more than MAX_GROWTH_KIB, and afterwards
 * it has as many descriptors as before. Long counts are sent in parts, and not in each of them may
 * memory grow by more than MAX_PART_KIB: one allocation of 32 bytes that every request leaves are
 * 780 KiB in a part of 25,000.
 *
 * Several clients send side by side, each on a connection that it keeps as long as the server does.
 * Each connection comes from the next address of 127.0.0.0/8: from a single one, 100,000 requests
 * that end their connection would wait for ports most of the time.
 *
 *   test_serve_leak RONDO [COUNT]      COUNT requests of each kind (300)
 */
#include "leak.h"

#include "../support/http_raw.h"
#include "base/auto.h"
#include "base/clock.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_COUNT  300
#define MAX_GROWTH_KIB 2048
/** In parts of a long count; one of them at least may not grow by more. */
#define MAX_PART_KIB 64
#define PARTS        4
#define WARM_UP      200
/** Who send side by side. */
#define CLIENTS 3
/** Addresses that they come from. */
#define SOURCES 200
/** Descriptors that the server opens when it is busy, and keeps: of the store, for readers. */
#define KEPT_DESCRIPTORS 16
/** From so many on slow requests are tried, too, which take ten seconds each. */
#define LONG_COUNT 1000
/** Slow requests that wait side by side, of so many of the other kinds. */
#define SLOW_SHARE 200

/** How a kind of request ends. */
enum ending {
    ENDS_WITH_ANSWER = 0,
    ENDS_HALF,    /**< closed in the middle of the head */
    ENDS_ABORTED, /**< sent whole, then reset */
    ENDS_UNASKED, /**< nothing is sent */
    ENDS_ANSWERED_BY_STREAM,
};

struct leak_case {
    const char *name;
    const char *token;  /**< 'a'dminister, 'r'ead, 'o'ther agent's, 'w'rong; or NULL */
    const char *suffix; /**< of the path */
    const char *method; /**< instead of the route's */
    const char *path;   /**< instead of the route's */
    const char *head;   /**< lines */
    const char *body;
    enum ending ending;
    bool has_no_host;
    bool only_reads;  /**< of operations that change nothing */
    bool only_bodies; /**< of operations that have a body */
    int statuses[6];  /**< that are right */
};

static const struct leak_case kinds[] = {
    {.name = "served", .token = "a", .only_reads = true, .statuses = {200, 404, 400, 503}},
    {.name = "no token", .statuses = {401}},
    {.name = "wrong token", .token = "w", .statuses = {401, 429}},
    {.name = "weak token",
     .token = "r",
     .only_bodies = true,
     .body = "{}",
     .statuses = {403, 400, 422, 200, 404}},
    {.name = "another agent's token",
     .token = "o",
     .only_reads = true,
     .statuses = {200, 403, 404, 400}},
    {.name = "bad host",
     .token = "a",
     .has_no_host = true,
     .head = "Host: evil.example\r\n",
     .statuses = {421}},
    {.name = "bad origin",
     .token = "a",
     .head = "Origin: https://evil.example\r\n",
     .statuses = {403}},
    {.name = "cross-site",
     .token = "a",
     .path = "/v1/runs",
     .method = "GET",
     .head = "Sec-Fetch-Site: cross-site\r\n",
     .statuses = {403}},
    {.name = "wrong media type",
     .token = "a",
     .only_bodies = true,
     .head = "Content-Type: text/plain\r\n",
     .body = "{}",
     .statuses = {415}},
    {.name = "broken JSON",
     .token = "a",
     .only_bodies = true,
     .head = "Content-Type: application/json\r\n",
     .body = "{\"a\":",
     .statuses = {400, 404}},
    {.name = "unknown member",
     .token = "a",
     .only_bodies = true,
     .head = "Content-Type: application/json\r\n",
     .body = "{\"no such\":[1,{\"a\":\"b\"}]}",
     .statuses = {400, 422, 404}},
    {.name = "unknown parameter",
     .token = "a",
     .suffix = "?no-such=1&b=%20c",
     .only_reads = true,
     .statuses = {400, 404, 200, 503}},
    {.name = "broken escape", .token = "a", .suffix = "?a=%zz", .statuses = {400}},
    {.name = "no such path", .token = "a", .path = "/v1/nothing/at/all", .statuses = {404}},
    {.name = "no such method", .token = "a", .method = "BREW", .statuses = {405, 501}},
    {.name = "method too long",
     .token = "a",
     .method = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
     .statuses = {501}},
    {.name = "no host", .token = "a", .has_no_host = true, .statuses = {400}},
    {.name = "folded header", .token = "a", .head = "X: a\r\n b\r\n", .statuses = {400}},
    {.name = "bare line feed", .token = "a", .head = "X: a\nY: b\r\n", .statuses = {400}},
    {.name = "two lengths",
     .token = "a",
     .head = "Content-Length: 0\r\nContent-Length: 0\r\n",
     .statuses = {400}},
    {.name = "announced too large",
     .token = "a",
     .head = "Content-Length: 99999999999\r\n",
     .statuses = {413}},
    {.name = "chunk too large",
     .token = "a",
     .head = "Transfer-Encoding: chunked\r\n\r\nfffffff\r\nabc",
     .statuses = {413}},
    {.name = "bad chunk",
     .token = "a",
     .head = "Transfer-Encoding: chunked\r\n\r\n5\nhello",
     .statuses = {400}},
    {.name = "unknown coding",
     .token = "a",
     .head = "Transfer-Encoding: gzip\r\n",
     .statuses = {501}},
    {.name = "half", .token = "a", .ending = ENDS_HALF},
    {.name = "aborted", .token = "a", .only_reads = true, .ending = ENDS_ABORTED},
    {.name = "unasked", .ending = ENDS_UNASKED},
    {.name = "stream",
     .token = "a",
     .method = "GET",
     .path = "/v1/stream",
     .head = "Accept: text/event-stream\r\n",
     .ending = ENDS_ANSWERED_BY_STREAM},
    {.name = "stream of events",
     .token = "a",
     .method = "GET",
     .path = "/v1/events",
     .head = "Accept: text/event-stream\r\nLast-Event-ID: 1\r\n",
     .ending = ENDS_ANSWERED_BY_STREAM},
};

/** What is too long to be written down: parameters, headers, a path, a header. */
static const struct {
    const char *name;
    const char *before;
    const char *part;
    size_t times;
    const char *after;
    int statuses[2];
} long_kinds[] = {
    {"65 parameters", "GET /v1/runs?", "a=1&", 65, " HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}},
    {"500 parameters", "GET /v1/runs?", "a=1&", 500, " HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}},
    {"4000 parameters",
     "GET /v1/runs?",
     "a=1&",
     4000,
     " HTTP/1.1\r\nHost: localhost\r\n\r\n",
     {414}},
    {"101 headers", "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n", "a:b\r\n", 101, "\r\n", {431}},
    {"4000 headers",
     "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n",
     "a:b\r\n",
     4000,
     "\r\n",
     {431}},
    {"many cookies",
     "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nCookie: ",
     "a=b;",
     1000,
     "\r\n\r\n",
     {401}},
    {"long header",
     "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX: ",
     "v",
     30000,
     "\r\n\r\n",
     {431}},
    {"long path", "GET /", "p", 30000, " HTTP/1.1\r\nHost: localhost\r\n\r\n", {414}},
};

static struct leak_server server;

/** One that sends, with a connection that is kept as long as the server keeps it. */
struct client {
    int kept; /**< or -1 */
    size_t which;
    size_t from; /**< sends every CLIENTS-th of the turns from here ... */
    size_t end;  /**< ... to before here */
    pthread_t thread;
};

static struct client clients[CLIENTS];

static int connect_once(void)
{
    static atomic_uint turn;
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + atomic_fetch_add(&turn, 1) % SOURCES),
    };
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)strtoul(strrchr(server.address, ':') + 1, NULL, 10)),
    };
    int later = 1; /* The port is chosen when it is known where to. */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &later, sizeof(later)) < 0 ||
         bind(fd, (const struct sockaddr *)&from, sizeof(from)) < 0 ||
         connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int connect_or_die(void)
{
    for (int i = 0; i < 200; i++) {
        int fd = connect_once();
        if (fd >= 0) {
            return fd;
        }
        usleep(10000); /* ports may run short */
    }
    leak_die("cannot connect to %s", server.address);
}

static void drop(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

static void drop_all(void)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        drop(&clients[i].kept);
    }
}

static bool is_one_of(int status, const int *statuses, size_t count)
{
    for (size_t i = 0; i < count && statuses[i] != 0; i++) {
        if (statuses[i] == status) {
            return true;
        }
    }
    return false;
}

/** Send and read one answer. */
static void ask(struct client *client, const char *name, const struct buf *request,
                const int *statuses, size_t count, bool is_head)
{
    auto_buf struct buf head = {0};
    auto_buf struct buf body = {0};
    if (client->kept < 0) {
        client->kept = connect_or_die();
    }
    bool is_sent = http_raw_send(client->kept, request->data, request->len);
    int status = http_raw_read_answer(client->kept, &head, &body, is_head);
    if (!is_one_of(status, statuses, count)) {
        leak_die("%s: status %d%s for: %.300s\n%s%s", name, status, is_sent ? "" : ", not sent",
                 request->data, buf_string(&head), buf_string(&body));
    }
    if (strstr(buf_string(&head), "Connection: close") != NULL) {
        drop(&client->kept);
    }
}

static const char *token_of(const struct leak_case *kind, const struct leak_route *route)
{
    switch (kind->token == NULL ? '\0' : kind->token[0]) {
    case 'a':
        return route->token;
    case 'r':
        return server.read;
    case 'o':
        return server.other;
    case 'w':
        return "rondo_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    default:
        return NULL;
    }
}

static bool fits(const struct leak_case *kind, const struct leak_route *route)
{
    bool is_read = strcmp(route->method, "GET") == 0 || strcmp(route->method, "HEAD") == 0;
    bool needs_token = kind->token == NULL || kind->token[0] == 'w';
    return !(kind->only_reads && (!is_read || route->is_stream)) &&
           !(kind->only_bodies && !route->has_body) && !(needs_token && route->is_public) &&
           !(kind->token != NULL && kind->token[0] == 'r' && is_read);
}

static const struct leak_route *route_for(const struct leak_case *kind, size_t turn)
{
    for (size_t i = 0; i < server.route_count; i++) {
        const struct leak_route *route = &server.routes[(turn + i) % server.route_count];
        if (fits(kind, route)) {
            return route;
        }
    }
    leak_die("no operation for: %s", kind->name);
}

static void write_request(const struct leak_case *kind, const struct leak_route *route,
                          struct buf *ret_request)
{
    const char *token = token_of(kind, route);
    buf_printf(
        ret_request, "%s %s%s HTTP/1.1\r\n%s", kind->method != NULL ? kind->method : route->method,
        kind->path != NULL ? kind->path : route->path, kind->suffix != NULL ? kind->suffix : "",
        kind->has_no_host ? "" : "Host: localhost\r\n");
    if (token != NULL) {
        buf_printf(ret_request, "Authorization: Bearer %s\r\n", token);
    }
    if (kind->body != NULL && (kind->head == NULL || strstr(kind->head, "Content-Type") == NULL)) {
        buf_append_string(ret_request, "Content-Type: application/json\r\n");
    }
    if (kind->body != NULL) {
        buf_printf(ret_request, "Content-Length: %zu\r\n", strlen(kind->body));
    }
    buf_printf(ret_request, "%s\r\n%s", kind->head != NULL ? kind->head : "",
               kind->body != NULL ? kind->body : "");
}

/** Send, and leave in one of the ways that are not waiting for an answer. */
static void leave(const struct leak_case *kind, const struct buf *request, size_t turn)
{
    auto_buf struct buf bytes = {0};
    int fd = connect_or_die();
    struct linger reset = {.l_onoff = 1};
    switch (kind->ending) {
    case ENDS_HALF:
        http_raw_send(fd, request->data, 1 + turn % (request->len - 2));
        break;
    case ENDS_ABORTED:
        http_raw_send(fd, request->data, request->len);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        break;
    case ENDS_ANSWERED_BY_STREAM:
        http_raw_send(fd, request->data, request->len);
        if (!http_raw_read_until(fd, &bytes, "\r\n\r\n", HTTP_RAW_PATIENCE_NS)) {
            leak_die("%s: no answer", kind->name);
        }
        break;
    case ENDS_UNASKED:
    case ENDS_WITH_ANSWER:
        break;
    }
    close(fd);
}

static void send_kind(struct client *client, const struct leak_case *kind, size_t turn)
{
    auto_buf struct buf request = {0};
    const struct leak_route *route = route_for(kind, turn);
    write_request(kind, route, &request);
    if (kind->ending == ENDS_WITH_ANSWER) {
        bool is_head = strncmp(request.data, "HEAD ", 5) == 0;
        ask(client, kind->name, &request, kind->statuses, 6, is_head);
    } else {
        leave(kind, &request, turn);
    }
}

static void send_long(struct client *client, size_t which)
{
    auto_buf struct buf request = {0};
    buf_append_string(&request, long_kinds[which].before);
    for (size_t i = 0; i < long_kinds[which].times; i++) {
        buf_append_string(&request, long_kinds[which].part);
    }
    buf_append_string(&request, long_kinds[which].after);
    ask(client, long_kinds[which].name, &request, long_kinds[which].statuses, 2, false);
}

#define SHORT_KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define ALL_KINDS   (SHORT_KINDS + sizeof(long_kinds) / sizeof(long_kinds[0]))

static void *send_share(void *context)
{
    struct client *client = context;
    for (size_t turn = client->from; turn < client->end; turn += CLIENTS) {
        if (client->which < SHORT_KINDS) {
            send_kind(client, &kinds[client->which], turn);
        } else {
            send_long(client, client->which - SHORT_KINDS);
        }
    }
    return NULL;
}

/** Send turns of a kind, shared by the clients. */
static void send_turns(size_t which, size_t from, size_t end)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i].which = which;
        clients[i].from = from + i;
        clients[i].end = end;
        if (pthread_create(&clients[i].thread, NULL, send_share, &clients[i]) != 0) {
            leak_die("cannot start a thread");
        }
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
    }
}

/** Whether the number of descriptors comes down to `most` within some seconds. */
static bool are_closed(int most)
{
    int64_t deadline = clock_monotonic(clock_system()) + HTTP_RAW_PATIENCE_NS;
    while (leak_server_descriptors(&server) > most) {
        if (clock_monotonic(clock_system()) > deadline) {
            return false;
        }
        usleep(20000);
    }
    return true;
}

/** Seconds of the processor that this program and its server have used so far. */
static double used_seconds(void)
{
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6 +
           leak_server_seconds(&server);
}

/** What was measured before requests of a kind. */
struct before {
    int64_t since_ns;
    double seconds; /**< of the processor */
    long kib;       /**< after the warm-up */
    int descriptors;
};

static struct before begin(int descriptors)
{
    return (struct before){
        .since_ns = clock_monotonic(clock_system()),
        .seconds = used_seconds(),
        .descriptors = descriptors,
    };
}

/** @param is_growing in all parts of it. @return whether nothing was kept */
static bool judge(const char *name, size_t count, const struct before *before, bool is_growing)
{
    drop_all();
    bool is_closed = are_closed(before->descriptors);
    long grown_kib = leak_server_rss(&server) - before->kib;
    bool is_good = is_closed && grown_kib <= MAX_GROWTH_KIB && !is_growing;
    double seconds = (double)(clock_monotonic(clock_system()) - before->since_ns) / 1e9;
    printf("%s %s: %zu requests in %.1f s (%.1f s of processors), %+ld KiB%s, %d descriptors\n",
           is_good ? "ok" : "not ok", name, count, seconds, used_seconds() - before->seconds,
           grown_kib, is_growing ? " and growing" : "",
           leak_server_descriptors(&server) - before->descriptors);
    fflush(stdout);
    return is_good;
}

static bool try_kind(size_t which, size_t count, int descriptors)
{
    struct before before = begin(descriptors);
    size_t warm_up = count < WARM_UP ? count : WARM_UP + count / 50;
    size_t parts = count < LONG_COUNT ? 1 : PARTS;
    bool is_growing = count >= LONG_COUNT;
    send_turns(which, 0, warm_up);
    before.kib = leak_server_rss(&server);
    long last_kib = before.kib;
    for (size_t part = 0; part < parts; part++) {
        send_turns(which, warm_up + count * part / parts, warm_up + count * (part + 1) / parts);
        long kib = leak_server_rss(&server);
        is_growing &= kib - last_kib > MAX_PART_KIB;
        last_kib = kib;
    }
    const char *name =
        which < SHORT_KINDS ? kinds[which].name : long_kinds[which - SHORT_KINDS].name;
    return judge(name, count, &before, is_growing);
}

/** Half requests side by side until the server has had enough of each. */
static bool try_slow(size_t count, int descriptors)
{
    static int fds[500];
    const size_t room = sizeof(fds) / sizeof(fds[0]);
    size_t total = count / SLOW_SHARE < room ? room / 10 : count / SLOW_SHARE;
    struct before before = begin(descriptors);
    for (size_t done = 0; done < total;) {
        size_t n = total - done < room ? total - done : room;
        for (size_t i = 0; i < n; i++) {
            fds[i] = connect_or_die();
            http_raw_send_text(fds[i], "GET /v1/runs HTTP/1.1\r\nHost: lo");
        }
        for (size_t i = 0; i < n; i++) {
            auto_buf struct buf bytes = {0};
            http_raw_read_all(fds[i], &bytes, HTTP_RAW_PATIENCE_NS);
            if (http_raw_status(buf_string(&bytes)) != 408) {
                leak_die("slow: %s", buf_string(&bytes));
            }
            close(fds[i]);
        }
        before.kib = done == 0 ? leak_server_rss(&server) : before.kib;
        done += n;
    }
    return judge("slow", total, &before, false);
}

/** More connections than there may be. */
static bool try_crowd(size_t count, int descriptors)
{
    static int fds[600];
    const size_t room = sizeof(fds) / sizeof(fds[0]);
    struct before before = begin(descriptors);
    for (size_t done = 0; done < count; done += room) {
        for (size_t i = 0; i < room; i++) {
            fds[i] = connect_or_die();
        }
        for (size_t i = 0; i < room; i++) {
            close(fds[i]);
        }
        before.kib = done == 0 ? leak_server_rss(&server) : before.kib;
    }
    return judge("too many connections", count, &before, false);
}

int main(int argc, char **argv)
{
    static const char *const more[] = {"--max-connections", "512", NULL};
    if (argc < 2) {
        leak_die("usage: test_serve_leak RONDO [COUNT]");
    }
    size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : DEFAULT_COUNT;
    auto_free char *program = realpath(argv[1], NULL);
    if (program == NULL) {
        leak_die("there is no %s", argv[1]);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i].kept = -1;
    }
    leak_server_start(&server, program, more);
    /* The first requests open what the server keeps: connections to the store, threads. */
    send_turns(0, 0, 400);
    drop_all();
    usleep(300000);
    int descriptors = leak_server_descriptors(&server) + KEPT_DESCRIPTORS;
    size_t failed = 0;
    for (size_t i = 0; i < ALL_KINDS; i++) {
        failed += !try_kind(i, count, descriptors);
    }
    bool is_long = count >= LONG_COUNT;
    failed += is_long && !try_slow(count, descriptors);
    failed += !try_crowd(count, descriptors);
    leak_server_end(&server);
    printf("%zu passed, %zu failed\n", ALL_KINDS + 1 + is_long - failed, failed);
    return failed == 0 ? 0 : 1;
}
