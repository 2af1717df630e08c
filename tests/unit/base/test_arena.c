// SPDX-License-Identifier: Apache-2.0
/*
 * Arenas: what they promise about addresses, and what they keep. Under the address sanitizer each
 * allocation is alone, so the sizes of chunks are asked about only without it.
 */
#include "base/arena.h"

#include "support/test.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_CHUNKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_CHUNKS 0
#endif
#endif
#ifndef HAS_CHUNKS
#define HAS_CHUNKS 1
#endif

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static bool is_aligned(const void *memory)
{
    return (uintptr_t)memory % alignof(max_align_t) == 0;
}

/** Whether the compiler may think so or not: the attribute must not decide the test. */
static bool is_null(void *volatile memory)
{
    return memory == NULL;
}

TEST(an_empty_arena_holds_nothing)
{
    struct arena arena = {0};
    assert_int_equal(arena_size(&arena), 0);
    arena_clear(&arena);
    assert_int_equal(arena_size(&arena), 0);
    arena_fini(&arena);
    arena_fini(&arena);
}

TEST(nothing_asked_for_still_gives_an_address)
{
    struct arena arena = {0};
    assert_false(is_null(arena_new(&arena, 0)));
    arena_fini(&arena);
    assert_false(is_null(arena_new_array(&arena, 0, 8)));
    arena_clear(&arena);
    assert_false(is_null(arena_new(&arena, 0)));
    arena_fini(&arena);
}

TEST(every_size_is_aligned_and_apart_from_the_others)
{
    enum { TAKEN = 300 };
    struct arena arena = {0};
    unsigned char *taken[TAKEN];
    for (size_t i = 0; i < TAKEN; i++) {
        taken[i] = arena_new(&arena, i);
        assert_true(is_aligned(taken[i]));
        memset(taken[i], (int)(i % 251), i);
    }
    for (size_t i = 0; i < TAKEN; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_equal(taken[i][j], i % 251);
        }
    }
    arena_fini(&arena);
}

TEST(what_is_larger_than_a_chunk_gets_one_of_its_own)
{
    struct arena arena = {0};
    char *small = arena_new(&arena, 1);
    *small = 'a';
    char *large = arena_new(&arena, 3 * MIB + 1);
    memset(large, 'b', 3 * MIB + 1);
    assert_int_equal(*small, 'a');
    assert_true(arena_size(&arena) >= 3 * MIB + 2);
    arena_fini(&arena);
    assert_int_equal(arena_size(&arena), 0);
}

TEST(an_array_has_room_for_all_its_elements)
{
    struct arena arena = {0};
    uint64_t *numbers = arena_new_array(&arena, 1000, sizeof(*numbers));
    for (uint64_t i = 0; i < 1000; i++) {
        numbers[i] = i;
    }
    assert_int_equal(numbers[999], 999);
    arena_fini(&arena);
}

TEST(emptying_keeps_the_largest_chunk_only)
{
    struct arena arena = {0};
    arena_new(&arena, 3 * MIB);
    arena_new(&arena, 2 * KIB); /* in a chunk that came later and is smaller */
    arena_clear(&arena);
    assert_int_equal(arena_size(&arena), HAS_CHUNKS ? 3 * MIB : 0);
    arena_new(&arena, 3 * MIB);
    if (HAS_CHUNKS) {
        assert_int_equal(arena_size(&arena), 3 * MIB);
    }
    arena_fini(&arena);
}

TEST(using_it_again_and_again_takes_no_more_memory)
{
    struct arena arena = {0};
    size_t first = 0;
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 100; i++) {
            memset(arena_new(&arena, 100), 0xff, 100);
        }
        if (round == 1) {
            first = arena_size(&arena);
        }
        assert_true(round < 2 || arena_size(&arena) == first);
        arena_clear(&arena);
    }
    arena_fini(&arena);
}
