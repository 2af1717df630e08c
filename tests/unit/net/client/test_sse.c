// SPDX-License-Identifier: Apache-2.0
/* Server-sent events: fields, line ends, pieces, limits. */

#include "support/test.h"

#include "net/client/sse.h"

#include <string.h>

struct stream {
    struct sse_parser parser;
    struct buf seen; /* "name|id|data;" of each event */
    unsigned stop_after;
    unsigned events;
};

static int make_stream(void **state)
{
    static struct stream stream;
    stream = (struct stream){.stop_after = 1000};
    sse_parser_init(&stream.parser, 64);
    *state = &stream;
    return 0;
}

static int end_stream(void **state)
{
    struct stream *stream = *state;
    sse_parser_fini(&stream->parser);
    buf_fini(&stream->seen);
    return 0;
}

static bool note(void *context, const struct sse_event *event)
{
    struct stream *stream = context;
    assert_int_equal(strlen(event->data), event->data_len);
    buf_printf(&stream->seen, "%s|%s|%s;", event->name, event->id, event->data);
    stream->events++;
    return stream->events < stream->stop_after;
}

static int feed(struct stream *stream, const char *text)
{
    return sse_parser_feed(&stream->parser, text, strlen(text), note, stream, NULL);
}

static void assert_events(struct stream *stream, const char *text, const char *expected)
{
    assert_int_equal(feed(stream, text), 0);
    assert_string_equal(buf_string(&stream->seen), expected);
}

#define STREAM_TEST(name) TEST_WITH(name, make_stream, end_stream)

STREAM_TEST(an_event_ends_with_an_empty_line)
{
    assert_events(*state, "data: one\n", "");
    assert_events(*state, "\n", "message||one;");
}

STREAM_TEST(data_lines_are_joined_by_line_feeds)
{
    assert_events(*state, "data: a\ndata:b\ndata:\ndata\ndata:  c\n\n", "message||a\nb\n\n\n c;");
}

STREAM_TEST(an_event_has_a_name_of_its_own)
{
    assert_events(*state, "event: ping\ndata: 1\n\ndata: 2\n\n", "ping||1;message||2;");
}

STREAM_TEST(an_id_stays_until_the_next_one)
{
    assert_events(*state, "id: 7\ndata: 1\n\ndata: 2\n\nid\ndata: 3\n\n",
                  "message|7|1;message|7|2;message||3;");
}

STREAM_TEST(an_id_with_a_nul_is_ignored)
{
    struct stream *stream = *state;
    static const char text[] = "id: a\0b\ndata: 1\n\n";
    assert_int_equal(sse_parser_feed(&stream->parser, text, sizeof(text) - 1, note, stream, NULL),
                     0);
    assert_string_equal(buf_string(&stream->seen), "message||1;");
}

STREAM_TEST(an_event_without_data_is_none)
{
    assert_events(*state, "event: ping\n\n\n\ndata\n\n", "message||;");
}

STREAM_TEST(comments_and_unknown_fields_are_ignored)
{
    assert_events(*state, ": keep-alive\nfoo: bar\nDATA: x\n\ndata: 1\n\n", "message||1;");
}

STREAM_TEST(all_line_ends_are_the_same)
{
    assert_events(*state, "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\ndata: 4\r\n\n",
                  "message||1;message||2;message||3;message||4;");
}

STREAM_TEST(pieces_give_what_the_whole_gives)
{
    struct stream *stream = *state;
    static const char text[] = "\xef\xbb\xbf"
                               "event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\r";
    for (const char *c = text; *c != '\0'; c++) {
        assert_int_equal(sse_parser_feed(&stream->parser, c, 1, note, stream, NULL), 0);
    }
    assert_string_equal(buf_string(&stream->seen), "x||a\nb;message||c;");
}

STREAM_TEST(a_mark_counts_only_at_the_beginning)
{
    assert_events(*state,
                  "\xef\xbb\xbf"
                  "data: 1\n\n\xef\xbb\xbf"
                  "data: 2\n\n",
                  "message||1;");
}

STREAM_TEST(retry_is_remembered_when_it_is_a_number)
{
    struct stream *stream = *state;
    assert_int_equal(stream->parser.retry_ms, -1);
    assert_int_equal(feed(stream, "retry: 250\nretry: 1x\nretry:\nretry: 99999999999999999999\n"),
                     0);
    assert_int_equal(stream->parser.retry_ms, 250);
}

STREAM_TEST(a_reader_may_stop)
{
    struct stream *stream = *state;
    stream->stop_after = 1;
    assert_events(stream, "data: 1\n\ndata: 2\n\n", "message||1;");
}

/** A stream whose first event holds `len` bytes of lines. */
static int feed_event_of(struct stream *stream, size_t len)
{
    struct buf text = {0};
    buf_append_string(&text, "data:");
    while (text.len < len) {
        buf_append_string(&text, "x");
    }
    buf_append_string(&text, "\n\n");
    struct rondo_error err = {0};
    int r = sse_parser_feed(&stream->parser, text.data, text.len, note, stream, &err);
    buf_fini(&text);
    return r;
}

STREAM_TEST(an_event_at_the_limit_is_taken)
{
    struct stream *stream = *state;
    assert_int_equal(feed_event_of(stream, 64), 0);
    assert_int_equal(stream->events, 1);
}

STREAM_TEST(an_event_past_the_limit_is_refused)
{
    struct stream *stream = *state;
    assert_int_equal(feed_event_of(stream, 65), RONDO_ERR_LIMIT);
    assert_int_equal(stream->events, 0);
}

STREAM_TEST(many_short_lines_count_together)
{
    struct stream *stream = *state;
    int r = 0;
    for (int i = 0; i < 20 && r == 0; i++) {
        r = feed(stream, "data: 1234567\n");
    }
    assert_int_equal(r, RONDO_ERR_LIMIT);
}

STREAM_TEST(a_line_that_never_ends_is_refused)
{
    struct stream *stream = *state;
    int r = 0;
    int pieces = 0;
    for (; pieces < 1000 && r == 0; pieces++) {
        r = feed(stream, "data: 12");
    }
    assert_int_equal(r, RONDO_ERR_LIMIT);
    assert_int_equal(pieces, 9);
}
