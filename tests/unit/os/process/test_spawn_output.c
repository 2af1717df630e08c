// SPDX-License-Identifier: Apache-2.0
#include "os/process/spawn_output.h"

#include "../helper.h"

static void check(struct output_tail *tail, const char *expected)
{
    size_t len;
    char *text = output_tail_steal(tail, &len);
    assert_string_equal(text, expected);
    assert_int_equal(len, strlen(expected));
    free(text);
}

static void short_output_is_kept_whole(void **state)
{
    (void)state;
    struct output_tail tail = {.keep = 8};
    output_tail_add(&tail, "12345678", 8);
    check(&tail, "12345678");
}

static void one_byte_too_many_drops_the_first(void **state)
{
    (void)state;
    struct output_tail tail = {.keep = 8};
    output_tail_add(&tail, "123456789", 9);
    assert_int_equal(tail.total, 9);
    check(&tail, "23456789");
}

static void many_small_pieces_keep_the_end(void **state)
{
    (void)state;
    struct output_tail tail = {.keep = 5};
    for (int i = 0; i < 26; i++) {
        char letter = (char)('a' + i);
        output_tail_add(&tail, &letter, 1);
        assert_true(tail.buf.len <= 10);
    }
    check(&tail, "vwxyz");
}

static void a_cut_never_leaves_half_a_character(void **state)
{
    (void)state;
    struct output_tail tail = {.keep = 4};
    output_tail_add(&tail,
                    "\xE2\x82\xAC"
                    "abc",
                    6);
    check(&tail, "abc");
}

static void nothing_is_kept_when_nothing_is_wanted(void **state)
{
    (void)state;
    struct output_tail tail = {.keep = 0};
    output_tail_add(&tail, "abc", 3);
    assert_int_equal(tail.total, 3);
    check(&tail, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_output_is_kept_whole),
        cmocka_unit_test(one_byte_too_many_drops_the_first),
        cmocka_unit_test(many_small_pieces_keep_the_end),
        cmocka_unit_test(a_cut_never_leaves_half_a_character),
        cmocka_unit_test(nothing_is_kept_when_nothing_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
