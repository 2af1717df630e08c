// SPDX-License-Identifier: Apache-2.0
/* The ids are a format: others join their spans to ours, so the vectors here never change. */
#include "journal/trace.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define RUN_A "01900000-0000-7000-8000-00000000000a"

TEST(a_trace_id_is_the_run_id_without_dashes)
{
    char id[TRACE_ID_SIZE];
    trace_id(RUN_A, id);
    assert_string_equal(id, "0190000000007000800000000000000a");
}

TEST(what_is_no_run_id_still_gives_an_id_of_the_right_length)
{
    char id[TRACE_ID_SIZE];
    trace_id("a-b", id);
    assert_string_equal(id, "ab000000000000000000000000000000");
    trace_id(RUN_A RUN_A, id);
    assert_string_equal(id, "0190000000007000800000000000000a");
}

/** First 8 bytes of SHA-256("rondo-span-1" RUN_A kind number part), calculated by other means. */
static const struct {
    enum trace_span kind;
    uint64_t number;
    uint64_t part;
    const char *id;
} vectors[] = {
    {TRACE_RUN, 1, 0, "24aeff42a80819a7"},
    {TRACE_ITERATION, 3, 1, "2c4b5d3ecc992856"},
    {TRACE_ITERATION, 1, 3, "917d3c46923ca6b7"},
    {TRACE_MODEL, 7, 2, "8a074bdfc1ac62c4"},
    {TRACE_VERIFICATION, UINT64_MAX, 0, "1413d336b010564c"},
};

TEST(span_ids_are_those_that_were_always_given)
{
    for (size_t i = 0; i < COUNT(vectors); i++) {
        char id[TRACE_SPAN_SIZE];
        trace_span_id(RUN_A, vectors[i].kind, vectors[i].number, vectors[i].part, id);
        assert_string_equal(id, vectors[i].id);
    }
}

TEST(spans_of_other_runs_have_other_ids)
{
    char id[TRACE_SPAN_SIZE];
    trace_span_id("01900000-0000-7000-8000-00000000000b", TRACE_RUN, 1, 0, id);
    assert_string_not_equal(id, vectors[0].id);
}

TEST(a_parent_names_trace_and_span_and_is_sampled)
{
    char value[TRACE_PARENT_SIZE];
    trace_parent(RUN_A, TRACE_RUN, 1, 0, value);
    assert_string_equal(value, "00-0190000000007000800000000000000a-24aeff42a80819a7-01");
    assert_int_equal(strlen(value), TRACE_PARENT_SIZE - 1);
}
