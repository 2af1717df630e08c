// SPDX-License-Identifier: Apache-2.0
/*
 * Server-sent events: fed whole, byte by byte, and in pieces that the input chooses, a stream gives
 * the same events and the same error.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "net/client/sse.h"

#include <string.h>

enum { MAX_BYTES = 512, STOP_AFTER = 200 };

struct sse_record {
    struct buf text;
    unsigned events;
};

static bool note(void *context, const struct sse_event *event)
{
    struct sse_record *record = context;
    FUZZ_CHECK(event->data_len <= MAX_BYTES);
    FUZZ_CHECK(event->data[event->data_len] == '\0');
    FUZZ_CHECK(strchr(event->name, '\n') == NULL && strchr(event->id, '\r') == NULL);
    buf_printf(&record->text, "%s|%s|%zu|", event->name, event->id, event->data_len);
    buf_append(&record->text, event->data, event->data_len);
    record->events++;
    return record->events < STOP_AFTER;
}

/** Sizes of pieces come from `sizes`, again and again; none = all in one. @return of the last feed
 */
static int feed(const char *bytes, size_t len, const uint8_t *sizes, size_t count,
                struct sse_record *record)
{
    struct sse_parser parser;
    int r = 0;
    sse_parser_init(&parser, MAX_BYTES);
    for (size_t at = 0, i = 0; at < len && r == 0 && record->events < STOP_AFTER; i++) {
        size_t piece = count == 0 ? len : (size_t)sizes[i % count] + 1;
        piece = piece < len - at ? piece : len - at;
        char *copy = fuzz_bytes((const uint8_t *)bytes + at, piece);
        r = sse_parser_feed(&parser, copy, piece, note, record, NULL);
        free(copy);
        at += piece;
    }
    buf_printf(&record->text, "retry %lld", (long long)parser.retry_ms);
    FUZZ_CHECK(parser.retry_ms >= -1);
    sse_parser_fini(&parser);
    return r;
}

static void compare(const char *bytes, size_t len, const uint8_t *sizes, size_t count)
{
    struct sse_record whole = {0};
    struct sse_record pieces = {0};
    int r_whole = feed(bytes, len, NULL, 0, &whole);
    int r_pieces = feed(bytes, len, sizes, count, &pieces);
    FUZZ_CHECK(r_whole == r_pieces);
    FUZZ_CHECK(whole.events == pieces.events);
    if (whole.events < STOP_AFTER) {
        FUZZ_CHECK(strlen(buf_string(&whole.text)) == strlen(buf_string(&pieces.text)));
        FUZZ_CHECK(whole.text.len == pieces.text.len);
        FUZZ_CHECK(memcmp(whole.text.data, pieces.text.data, whole.text.len) == 0);
    }
    buf_fini(&whole.text);
    buf_fini(&pieces.text);
}

/** The first byte says how many of the next ones are sizes of pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t single = 0;
    size_t count = size == 0 ? 0 : data[0] % 8;
    if (size < 1 + count) {
        return 0;
    }
    char *bytes = fuzz_bytes(data + 1 + count, size - 1 - count);
    compare(bytes, size - 1 - count, &single, 1);
    compare(bytes, size - 1 - count, data + 1, count);
    free(bytes);
    return 0;
}
