// SPDX-License-Identifier: Apache-2.0
/* The worker's output between two threads. */
#include "cli/progress/output_queue.h"
#include "support/test.h"

#include <string.h>

static void add(struct output_queue *queue, const char *text)
{
    output_queue_add(queue, text, strlen(text));
}

TEST(lines_come_in_pieces_and_go_whole)
{
    struct output_queue *queue = output_queue_new();
    output_queue_begin(queue, 1);
    add(queue, "on");
    add(queue, "e\n\ntw");
    auto_buf struct buf out = {0};
    output_queue_take(queue, 0, &out);
    assert_string_equal(buf_string(&out), "");
    output_queue_take(queue, 1, &out);
    assert_string_equal(buf_string(&out), "    one\n    tw\n");
    output_queue_free(queue);
}

TEST(output_of_a_later_iteration_waits)
{
    struct output_queue *queue = output_queue_new();
    output_queue_begin(queue, 1);
    add(queue, "first");
    output_queue_begin(queue, 2);
    add(queue, "second\n");
    auto_buf struct buf out = {0};
    output_queue_take(queue, 1, &out);
    assert_string_equal(buf_string(&out), "    first\n");
    output_queue_take(queue, 2, &out);
    assert_string_equal(buf_string(&out), "    first\n    second\n");
    output_queue_free(queue);
}

TEST(a_flood_is_bounded_and_counted)
{
    struct output_queue *queue = output_queue_new();
    output_queue_begin(queue, 1);
    for (int i = 0; i < 1005; i++) {
        add(queue, "x\n");
    }
    auto_buf struct buf out = {0};
    output_queue_take(queue, 1, &out);
    assert_non_null(strstr(out.data, "(5 more lines)"));
    output_queue_free(queue);
}

TEST(the_last_line_is_the_one_being_written)
{
    struct output_queue *queue = output_queue_new();
    char line[16];
    assert_int_equal(output_queue_last(queue, line, sizeof(line)), 0);
    add(queue, "one\n");
    assert_int_equal(output_queue_last(queue, line, sizeof(line)), 3);
    add(queue, "a line that is too long for the place");
    assert_int_equal(output_queue_last(queue, line, sizeof(line)), sizeof(line));
    assert_memory_equal(line, "a line that is t", sizeof(line));
    output_queue_begin(queue, 2);
    assert_int_equal(output_queue_last(queue, line, sizeof(line)), 0);
    output_queue_free(queue);
}
