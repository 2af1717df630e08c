// SPDX-License-Identifier: Apache-2.0
/* Bodies that are handed over as they come: order, back-pressure, stopping. */
#include "http_world.h"

#include <pthread.h>

#define PIECE "0123456789abcdef"

struct stream_reader {
    struct http_peer *peer;
    struct buf seen;
    pthread_t thread; /* that must read */
    size_t stop_at;   /* 0 = never */
    size_t pieces;
    bool is_foreign;
};

static bool read_on(void *context, const char *bytes, size_t len)
{
    struct stream_reader *reader = context;
    reader->is_foreign |= pthread_equal(reader->thread, pthread_self()) == 0;
    buf_append(&reader->seen, bytes, len);
    reader->pieces++;
    return reader->stop_at == 0 || reader->seen.len < reader->stop_at;
}

static struct http_request streamed(struct http_client_world *world, struct stream_reader *reader)
{
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    *reader = (struct stream_reader){.peer = world->peer, .thread = pthread_self()};
    request.on_body = read_on;
    request.on_body_context = reader;
    return request;
}

WORLD_TEST(a_body_is_handed_over_on_the_callers_thread_and_not_kept)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    http_peer_reply(world->peer, 200, NULL, "streamed");
    assert_failure(call(world, &request), HTTP_OK);
    assert_string_equal(buf_string(&reader.seen), "streamed");
    assert_false(reader.is_foreign);
    assert_int_equal(world->response.body.len, 0);
    buf_fini(&reader.seen);
}

WORLD_TEST(a_body_of_another_status_is_kept)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    http_peer_reply(world->peer, 429, NULL, "slow down");
    assert_failure(call(world, &request), HTTP_OK);
    assert_int_equal(reader.pieces, 0);
    assert_string_equal(buf_string(&world->response.body), "slow down");
}

/** Releases the stalled reply as soon as the first half was seen: nothing is held back for more. */
static bool release_at_half(void *context, const char *bytes, size_t len)
{
    struct stream_reader *reader = context;
    buf_append(&reader->seen, bytes, len);
    if (reader->seen.len == 5) {
        http_peer_release(reader->peer);
    }
    return true;
}

WORLD_TEST(bytes_are_handed_over_before_the_end_is_there)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    request.on_body = release_at_half;
    http_peer_reply_raw(
        world->peer,
        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
                             .stalls = true,
                             .stall_at = 44});
    assert_failure(call(world, &request), HTTP_OK);
    assert_string_equal(buf_string(&reader.seen), "0123456789");
    buf_fini(&reader.seen);
}

WORLD_TEST(a_reader_may_stop)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    reader.stop_at = 1;
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\n\r\nabc",
                                                          .stalls = true,
                                                          .stall_at = 20});
    assert_failure(call(world, &request), HTTP_STOPPED);
    assert_int_equal(reader.pieces, 1);
    buf_fini(&reader.seen);
}

WORLD_TEST(a_reader_may_stop_at_the_very_end)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    reader.stop_at = 3;
    http_peer_reply(world->peer, 200, NULL, "abc");
    assert_failure(call(world, &request), HTTP_STOPPED);
    buf_fini(&reader.seen);
}

WORLD_TEST(what_came_before_a_cut_is_handed_over)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    http_peer_reply_raw(
        world->peer,
        &(struct peer_reply){.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123",
                             .cuts = true});
    assert_failure(call(world, &request), HTTP_BROKEN);
    assert_string_equal(buf_string(&reader.seen), "0123");
    buf_fini(&reader.seen);
}

WORLD_TEST(a_streamed_body_has_a_limit_too)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    request.max_body_bytes = 7;
    http_peer_reply(world->peer, 200, NULL, "1234567");
    assert_failure(call(world, &request), HTTP_OK);
    http_peer_reply(world->peer, 200, NULL, "12345678");
    assert_failure(call(world, &request), HTTP_TOO_LARGE);
    buf_fini(&reader.seen);
}

/** A reply of so many MiB. */
static void give_mebibytes(struct http_client_world *world, size_t count)
{
    struct buf bytes = {0};
    buf_printf(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", count * MIB);
    size_t head_len = bytes.len;
    for (size_t i = 0; i < MIB / (sizeof(PIECE) - 1); i++) {
        buf_append_string(&bytes, PIECE);
    }
    http_peer_reply_raw(world->peer, &(struct peer_reply){.bytes = bytes.data,
                                                          .len = bytes.len,
                                                          .repeat = count,
                                                          .repeat_from = head_len});
    buf_fini(&bytes);
}

struct slow_reader {
    struct http_client_world *world;
    size_t taken;
    size_t largest; /* piece */
    bool is_wrong;
};

/**
 * Look away for so long that the client's thread has made another call of its own: until then it
 * would have read all, were it not to wait for us.
 */
static bool read_slowly(void *context, const char *bytes, size_t len)
{
    struct slow_reader *reader = context;
    struct http_client_world *world = reader->world;
    reader->largest = len > reader->largest ? len : reader->largest;
    for (size_t i = 0; i < len; i++) {
        reader->is_wrong |= bytes[i] != PIECE[(reader->taken + i) % (sizeof(PIECE) - 1)];
    }
    reader->taken += len;
    struct http_request request = request_to(http_peer_url(world->peer, "/other"));
    struct http_response response;
    reader->is_wrong |=
        http_call(world->client, &request, &response, NULL) != 0 || response.failure != HTTP_OK;
    http_response_fini(&response);
    return true;
}

WORLD_TEST(a_slow_reader_holds_the_server_back)
{
    struct http_client_world *world = *state;
    struct slow_reader reader = {.world = world};
    struct http_request request = request_to(http_peer_url(world->peer, "/"));
    request.on_body = read_slowly;
    request.on_body_context = &reader;
    request.idle_ns = 20 * NS_PER_S;
    give_mebibytes(world, 20);
    http_peer_always(world->peer, 200, NULL, "");
    assert_failure(call(world, &request), HTTP_OK);
    assert_int_equal(reader.taken, 20 * MIB);
    assert_false(reader.is_wrong);
    assert_in_range(reader.largest, 1, 256 * 1024 + 16 * 1024);
}

WORLD_TEST(a_large_reply_streams_through)
{
    struct http_client_world *world = *state;
    struct stream_reader reader;
    struct http_request request = streamed(world, &reader);
    give_mebibytes(world, 30);
    assert_failure(call(world, &request), HTTP_OK);
    assert_int_equal(reader.seen.len, 30 * MIB);
    buf_fini(&reader.seen);
}
