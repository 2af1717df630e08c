// SPDX-License-Identifier: Apache-2.0
/* Streams of the HTTP server: woken, ended, cut off, by the hundred. */
#include "http_server_world.h"
#include "net/server/internal.h"

#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

/** A source of numbered lines that a test feeds. */
struct lines {
    pthread_mutex_t lock;
    int64_t limit; /**< lines that may be written */
    bool is_over;
    int64_t late; /**< lines that come when read has just found none */
    struct http_stream *streams[400];
    struct line_reader *readers[400];
    size_t count;
    _Atomic int closed;
};

struct line_reader {
    struct lines *lines;
    int64_t next;
};

static ssize_t read_lines(void *context, char *bytes, size_t size)
{
    struct line_reader *reader = context;
    struct lines *lines = reader->lines;
    size_t used = 0;
    pthread_mutex_lock(&lines->lock);
    while (reader->next < lines->limit && size - used >= 16) {
        used +=
            (size_t)snprintf(bytes + used, size - used, "line %08jd\n", (intmax_t)reader->next++);
    }
    bool is_over = lines->is_over && reader->next == lines->limit;
    if (used == 0 && lines->late > 0 && lines->streams[0] != NULL) {
        lines->late--;
        lines->limit++;
        http_stream_wake(lines->streams[0]);
    }
    pthread_mutex_unlock(&lines->lock);
    return used > 0 ? (ssize_t)used : is_over ? -1 : 0;
}

static void close_lines(void *context)
{
    struct line_reader *reader = context;
    atomic_fetch_add(&reader->lines->closed, 1);
}

static void open_stream(void *context, struct http_exchange *exchange)
{
    struct lines *lines = context;
    struct line_reader *reader = memory_new_zero(1, sizeof(*reader));
    reader->lines = lines;
    struct http_stream_source source = {
        .read = read_lines, .close = close_lines, .context = reader};
    struct http_stream *stream = NULL;
    http_exchange_stream(exchange, &source, &stream); /* not under a lock that read takes */
    pthread_mutex_lock(&lines->lock);
    lines->streams[lines->count] = stream;
    lines->readers[lines->count++] = reader;
    pthread_mutex_unlock(&lines->lock);
}

static void add(struct lines *lines, int64_t count, bool is_over)
{
    pthread_mutex_lock(&lines->lock);
    lines->limit += count;
    lines->is_over = is_over;
    for (size_t i = 0; i < lines->count; i++) {
        http_stream_wake(lines->streams[i]);
    }
    pthread_mutex_unlock(&lines->lock);
}

static void release(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        http_stream_unref(lines->streams[i]);
        free(lines->readers[i]);
    }
    pthread_mutex_destroy(&lines->lock);
}

static struct http_server_world begin_lines(struct lines *lines, struct http_server_options options)
{
    *lines = (struct lines){0};
    pthread_mutex_init(&lines->lock, NULL);
    options.handler = open_stream;
    options.context = lines;
    return begin_with(options);
}

static const char request[] = "GET /s HTTP/1.1\r\nHost: h\r\n\r\n";

static int open_reader(const struct http_server_world *world, int receive_bytes)
{
    int fd = http_raw_connect_with(world->address, receive_bytes);
    assert_true(fd >= 0 && http_raw_send_text(fd, request));
    return fd;
}

TEST(test_a_stream_sleeps_and_is_woken)
{
    struct lines lines;
    struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
    int fd = open_reader(&world, 0);
    auto_buf struct buf bytes = {0};
    assert_true(http_raw_read_until(fd, &bytes, "\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    for (int i = 0; i < 200; i++) {
        char expected[32];
        add(&lines, 1, false);
        snprintf(expected, sizeof(expected), "line %08d\n", i);
        assert_true(http_raw_read_until(fd, &bytes, expected, HTTP_RAW_PATIENCE_NS));
    }
    assert_int_equal(http_server_state(world.server).streams, 1);
    close(fd);
    wait_for_state(world.server, streams, 0);
    assert_int_equal(atomic_load(&lines.closed), 1);
    add(&lines, 1, false); /* waking what has ended does nothing */
    end(&world);
    release(&lines);
}

TEST(test_what_comes_just_before_a_stream_falls_asleep_wakes_it)
{
    struct lines lines;
    struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
    lines.late = 50;
    int fd = open_reader(&world, 0);
    auto_buf struct buf bytes = {0};
    assert_true(http_raw_read_until(fd, &bytes, "line 00000049", HTTP_RAW_PATIENCE_NS));
    close(fd);
    end(&world);
    release(&lines);
}

TEST(test_a_stream_ends_and_the_connection_serves_again)
{
    struct lines lines;
    struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
    int fd = open_reader(&world, 0);
    auto_buf struct buf bytes = {0};
    add(&lines, 3, true);
    assert_true(http_raw_read_until(fd, &bytes, "\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    buf_clear(&bytes);
    http_raw_send_text(fd, request);
    assert_true(
        http_raw_read_until(fd, &bytes, "line 00000002\n\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    close(fd);
    wait_for_state(world.server, connections, 0);
    assert_int_equal(atomic_load(&lines.closed), 2);
    end(&world);
    release(&lines);
}

TEST(test_an_old_client_gets_the_stream_without_chunks)
{
    struct lines lines;
    struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
    add(&lines, 2, true);
    auto_buf struct buf bytes = {0};
    assert_int_equal(http_raw_ask(world.address, "GET / HTTP/1.0\r\n\r\n", &bytes), 200);
    assert_non_null(strstr(bytes.data, "\r\n\r\nline 00000000\nline 00000001\n"));
    buf_clear(&bytes);
    assert_int_equal(http_raw_ask(world.address,
                                  "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                                  &bytes),
                     200);
    assert_null(strstr(bytes.data, "line"));
    wait_for_state(world.server, streams, 0);
    end(&world);
    release(&lines);
}

TEST(test_a_client_that_leaves_a_sleeping_stream_is_noticed)
{
    struct lines lines;
    struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
    int fd = open_reader(&world, 0);
    auto_buf struct buf bytes = {0};
    assert_true(http_raw_read_until(fd, &bytes, "\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    wait_for_state(world.server, streams, 1);
    close(fd); /* nothing is ever written */
    wait_for_state(world.server, streams, 0);
    wait_for_state(world.server, connections, 0);
    end(&world);
    release(&lines);
}

TEST(test_a_stream_that_nobody_reads_is_cut_off)
{
    struct lines lines;
    struct hand_clock hand;
    hand_clock_init(&hand);
    struct http_server_world world = begin_lines(
        &lines, (struct http_server_options){.idle_ns = 300 * MS, .clock = &hand.clock});
    int fd = open_reader(&world, 4096);
    int idle = open_reader(&world, 0);
    wait_for_state(world.server, streams, 2);
    auto_buf struct buf bytes = {0};
    add(&lines, 100000, false);
    assert_true(http_raw_read_until(idle, &bytes, "line 00099999", HTTP_RAW_PATIENCE_NS));
    while (http_server_state(world.server).cut_off == 0) {
        hand_clock_pass(&hand, 50 * MS);
        clock_sleep(clock_system(), MS, NULL);
    }
    wait_for_state(world.server, streams, 1); /* a client that has read everything may stay */
    add(&lines, 1, false);
    assert_true(http_raw_read_until(idle, &bytes, "line 00100000", HTTP_RAW_PATIENCE_NS));
    close(fd);
    close(idle);
    end(&world);
    release(&lines);
}

/** Every line in order, none twice. */
static void check_lines(const struct buf *bytes, int64_t count)
{
    const char *head_end = strstr(bytes->data, "\r\n\r\n") + 4;
    auto_buf struct buf body = {0};
    http_raw_unchunk(head_end, bytes->len - (size_t)(head_end - bytes->data), &body);
    assert_int_equal(body.len, count * 14);
    for (int64_t i = 0; i < count; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "line %08jd\n", (intmax_t)i);
        assert_memory_equal(body.data + i * 14, expected, 14);
    }
}

TEST(test_two_hundred_streams_get_every_line_once)
{
    struct lines lines;
    struct http_server_world world =
        begin_lines(&lines, (struct http_server_options){.threads = 4});
    static int readers[200];
    for (size_t i = 0; i < 200; i++) {
        readers[i] = open_reader(&world, 0);
    }
    for (int i = 0; i < 100; i++) {
        add(&lines, 1 + i % 7, false);
    }
    add(&lines, 0, true);
    for (size_t i = 0; i < 200; i++) {
        auto_buf struct buf bytes = {0};
        assert_true(http_raw_read_until(readers[i], &bytes, "\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
        check_lines(&bytes, lines.limit);
        close(readers[i]);
    }
    wait_for_state(world.server, streams, 0);
    end(&world);
    release(&lines);
}

TEST(test_the_server_stops_with_open_streams_and_half_requests)
{
    for (int round = 0; round < 20; round++) {
        struct lines lines;
        struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
        int fds[10];
        for (size_t i = 0; i < 8; i++) {
            fds[i] = open_reader(&world, 0);
        }
        fds[8] = http_raw_connect(world.address);
        fds[9] = http_raw_connect(world.address);
        http_raw_send_text(fds[9], "GET / HT");
        if (round % 2 == 0) {
            wait_for_state(world.server, streams, 8);
            add(&lines, 5, false);
        }
        end(&world);
        assert_int_equal(atomic_load(&lines.closed), (int)lines.count);
        for (size_t i = 0; i < 10; i++) {
            close(fds[i]);
        }
        release(&lines);
    }
}

TEST(test_a_quiet_server_ends_its_streams_in_good_order)
{
    struct lines lines;
    struct http_server_world world = begin_lines(&lines, (struct http_server_options){0});
    int fd = open_reader(&world, 0);
    int kept = http_raw_connect(world.address);
    wait_for_state(world.server, streams, 1);
    wait_for_state(world.server, connections, 2);
    http_server_quiesce(world.server);
    auto_buf struct buf bytes = {0};
    assert_true(http_raw_read_until(fd, &bytes, "\r\n0\r\n\r\n", HTTP_RAW_PATIENCE_NS));
    auto_buf struct buf refused = {0};
    http_raw_send_text(kept, request);
    http_raw_read_all(kept, &refused, HTTP_RAW_PATIENCE_NS);
    assert_int_equal(http_raw_status(buf_string(&refused)), 503);
    assert_int_equal(http_raw_connect(world.address), -1);
    close(fd);
    close(kept);
    end(&world);
    release(&lines);
}

TEST(an_event_waits_for_no_acknowledgement)
{
    struct http_server_world world = begin();
    int is_on = 0;
    socklen_t len = sizeof(is_on);
    int fd = world.server->listeners[0].fd; /* connections inherit its options */
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &is_on, &len), 0);
    assert_true(is_on);
    end(&world);
}
