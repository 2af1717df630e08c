// SPDX-License-Identifier: Apache-2.0
#include "policy/cedar/value/value.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static const struct cedar_text *text_of(struct arena *arena, const char *text)
{
    return cedar_text_new(arena, text, strlen(text));
}

/** A record {n0: 0, n1: 1, ...}. */
static const struct cedar_record *record_of(struct arena *arena, size_t count)
{
    struct cedar_field *fields = arena_new_array(arena, count, sizeof(*fields));
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%zu", i);
        fields[i] =
            (struct cedar_field){.name = text_of(arena, name), .value = cedar_long((int64_t)i)};
    }
    return cedar_record_make(arena, fields, count);
}

static void assert_all_found(size_t count)
{
    struct arena arena = {0};
    const struct cedar_record *record = record_of(&arena, count);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%zu", i);
        const struct cedar_value *value = cedar_record_get(record, text_of(&arena, name));
        assert_non_null(value);
        assert_int_equal(value->as.number, i);
    }
    for (size_t i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof(name), "m%zu", i);
        assert_null(cedar_record_get(record, text_of(&arena, name)));
    }
    arena_fini(&arena);
}

TEST(every_field_is_found_and_no_other)
{
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 8, 12, 16, 17, 100};
    for (size_t i = 0; i < COUNT(counts); i++) {
        assert_all_found(counts[i]);
    }
}

TEST(the_largest_record_with_slots_and_those_beyond_are_searched_alike)
{
    assert_all_found(UINT8_MAX);
    assert_all_found(UINT8_MAX + 1);
    assert_all_found(5000);
}

TEST(a_name_may_not_occur_twice)
{
    struct arena arena = {0};
    struct cedar_field fields[] = {{.name = text_of(&arena, "a"), .value = cedar_long(1)},
                                   {.name = text_of(&arena, "b"), .value = cedar_long(2)},
                                   {.name = text_of(&arena, "a"), .value = cedar_long(3)}};
    assert_null(cedar_record_make(&arena, fields, COUNT(fields)));
    arena_fini(&arena);
}

/** Texts of every length up to two words and a bit, the second with one byte changed. */
TEST(texts_differ_when_any_byte_does)
{
    struct arena arena = {0};
    char bytes[20];
    memset(bytes, 'x', sizeof(bytes));
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        const struct cedar_text *text = cedar_text_new(&arena, bytes, len);
        assert_true(cedar_text_is_same(text, cedar_text_new(&arena, bytes, len)));
        for (size_t i = 0; i < len; i++) {
            bytes[i] = 'y';
            assert_false(cedar_text_is_same(text, cedar_text_new(&arena, bytes, len)));
            bytes[i] = 'x';
        }
    }
    arena_fini(&arena);
}

TEST(a_text_differs_from_its_beginning)
{
    struct arena arena = {0};
    static const char bytes[24] = "abc"; /* and NULs, which a text may hold */
    for (size_t len = 3; len < sizeof(bytes); len++) {
        assert_false(cedar_text_equals(cedar_text_new(&arena, bytes, len),
                                       cedar_text_new(&arena, bytes, len + 1)));
        assert_false(cedar_text_is_same(cedar_text_new(&arena, bytes, len),
                                        cedar_text_new(&arena, bytes, len + 1)));
    }
    arena_fini(&arena);
}

TEST(a_text_can_become_a_part_of_itself)
{
    struct arena arena = {0};
    struct cedar_text *text = arena_new(&arena, cedar_text_size(16));
    cedar_text_fill(text, "0123456789abcdef", 16);
    cedar_text_fill(text, text->bytes + 3, 11);
    assert_true(cedar_text_equals(text, text_of(&arena, "3456789abcd")));
    assert_string_equal(text->bytes, "3456789abcd");
    arena_fini(&arena);
}
