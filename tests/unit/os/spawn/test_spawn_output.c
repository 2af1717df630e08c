// SPDX-License-Identifier: Apache-2.0
#include "os/spawn/spawn_output.h"

#include "../helper.h"

static void check(struct output_tail *tail, const char *expected)
{
    size_t len;
    char *text = output_tail_steal(tail, &len);
    assert_string_equal(text, expected);
    assert_int_equal(len, strlen(expected));
    free(text);
}

TEST(short_output_is_kept_whole)
{
    struct output_tail tail = {.keep = 8};
    output_tail_add(&tail, "12345678", 8);
    check(&tail, "12345678");
}

TEST(one_byte_too_many_drops_the_first)
{
    struct output_tail tail = {.keep = 8};
    output_tail_add(&tail, "123456789", 9);
    assert_int_equal(tail.total, 9);
    check(&tail, "23456789");
}

TEST(many_small_pieces_keep_the_end)
{
    struct output_tail tail = {.keep = 5};
    for (int i = 0; i < 26; i++) {
        char letter = (char)('a' + i);
        output_tail_add(&tail, &letter, 1);
        assert_true(tail.buf.len <= 10);
    }
    check(&tail, "vwxyz");
}

TEST(a_cut_never_leaves_half_a_character)
{
    struct output_tail tail = {.keep = 4};
    output_tail_add(&tail,
                    "\xE2\x82\xAC"
                    "abc",
                    6);
    check(&tail, "abc");
}

TEST(nothing_is_kept_when_nothing_is_wanted)
{
    struct output_tail tail = {.keep = 0};
    output_tail_add(&tail, "abc", 3);
    assert_int_equal(tail.total, 3);
    check(&tail, "");
}
