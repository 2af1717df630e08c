// SPDX-License-Identifier: Apache-2.0
/*
 * Streams of coding agents; the first byte chooses the format, the second how the bytes arrive.
 * What is reported keeps its limits, counters never go down, and the pieces in which the stream
 * comes change nothing.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "base/text/plain.h"
#include "worker/coding/result.h"

#include <string.h>

struct count {
    uint64_t events;
};

static void take(void *context, const struct coding_event *event)
{
    struct count *count = context;
    count->events++;
    FUZZ_CHECK(event->kind <= CODING_EVENT_TOOL_RESULT);
    FUZZ_CHECK(event->text != NULL || event->text_len == 0);
    FUZZ_CHECK(event->text_len <= LIMIT_SUMMARY_BYTES);
}

static void check(const struct coding_said *said)
{
    FUZZ_CHECK(strlen(said->session) < CODING_WORD_SIZE);
    FUZZ_CHECK(said->usage.input >= 0 && said->usage.output >= 0 && said->usage.cached >= 0);
    FUZZ_CHECK(said->cost_micro >= COST_UNKNOWN);
    FUZZ_CHECK(said->answer.len <= LIMIT_SUMMARY_BYTES);
    FUZZ_CHECK(said->unknown_lines + said->long_lines <= said->lines);
    struct spawn_result spawned = {.end = SPAWN_EXITED};
    struct coding_facts facts = {.said = said, .spawned = &spawned, .now_ns = 1};
    struct coding_verdict verdict = coding_classify(&facts);
    FUZZ_CHECK(verdict.outcome < CODING_CLASS_COUNT);
    FUZZ_CHECK(verdict.outcome != CODING_OK || said->has_result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    enum coding_format format = (enum coding_format)(data[0] % CODING_FORMAT_COUNT);
    size_t step = data[1] == 0 ? size : data[1];
    char *text = fuzz_bytes(data + 2, size - 2);
    struct count whole = {0};
    struct count pieces = {0};
    struct coding_stream *first = coding_stream_new(format, take, &whole);
    struct coding_stream *second = coding_stream_new(format, take, &pieces);
    coding_stream_take(first, text, size - 2);
    for (size_t at = 0; at < size - 2; at += step) {
        coding_stream_take(second, text + at, step < size - 2 - at ? step : size - 2 - at);
    }
    coding_stream_end(first);
    coding_stream_end(second);
    check(coding_stream_said(first));
    FUZZ_CHECK(whole.events == pieces.events);
    FUZZ_CHECK(coding_stream_said(first)->lines == coding_stream_said(second)->lines);
    coding_stream_free(first);
    coding_stream_free(second);
    free(text);
    return 0;
}
