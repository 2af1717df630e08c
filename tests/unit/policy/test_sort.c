// SPDX-License-Identifier: Apache-2.0
#include "policy/cedar/value/sort.h"
#include "support/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/** An element with something after its key. */
struct sort_item {
    uint32_t key;
    uint32_t check; /* always the inverse of the key */
    uint64_t more;
};

static int compare_items(const void *left, const void *right)
{
    uint32_t a = ((const struct sort_item *)left)->key;
    uint32_t b = ((const struct sort_item *)right)->key;
    return (a > b) - (a < b);
}

/** Keys by a rule; sums are compared afterwards, so that none is lost or doubled. */
static void assert_sorts(size_t count, uint32_t (*key)(size_t i))
{
    struct sort_item *items = calloc(count + 1, sizeof(*items));
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct sort_item){.key = key(i), .check = ~key(i), .more = key(i)};
        sum += key(i);
    }
    cedar_sort(items, count, sizeof(*items), compare_items);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || items[i - 1].key <= items[i].key);
        assert_int_equal(items[i].check, ~items[i].key);
        sum -= items[i].more;
    }
    assert_int_equal(sum, 0);
    free(items);
}

static uint32_t ascending(size_t i)
{
    return (uint32_t)i;
}

static uint32_t descending(size_t i)
{
    return UINT32_MAX - (uint32_t)i;
}

static uint32_t scattered(size_t i)
{
    return (uint32_t)i * 2654435761U;
}

static uint32_t with_many_alike(size_t i)
{
    return (uint32_t)i * 2654435761U >> 30;
}

TEST(every_count_and_order_is_sorted)
{
    for (size_t count = 0; count < 100; count++) {
        assert_sorts(count, ascending);
        assert_sorts(count, descending);
        assert_sorts(count, scattered);
        assert_sorts(count, with_many_alike);
    }
    assert_sorts(100000, scattered);
    assert_sorts(100000, with_many_alike);
}

static int compare_bytes(const void *left, const void *right)
{
    return *(const unsigned char *)left - *(const unsigned char *)right;
}

TEST(elements_may_be_of_any_size_up_to_the_largest)
{
    unsigned char bytes[40 * CEDAR_SORT_ELEMENT];
    for (size_t size = 1; size <= CEDAR_SORT_ELEMENT; size++) {
        for (size_t i = 0; i < 40 * size; i++) {
            bytes[i] = (unsigned char)(i / size * 7 % 40);
        }
        cedar_sort(bytes, 40, size, compare_bytes);
        for (size_t i = 0; i < 40 * size; i++) {
            assert_int_equal(bytes[i], i / size);
        }
    }
}
