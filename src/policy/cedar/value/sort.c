// SPDX-License-Identifier: Apache-2.0
/* Insertion for a few elements, which is the rule; a heap for more, which no order makes slow. */
#include "policy/cedar/value/sort.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define FEW 16

struct sorting {
    char *elements;
    size_t size;
    int (*compare)(const void *left, const void *right);
};

static char *at(const struct sorting *sorting, size_t index)
{
    return sorting->elements + index * sorting->size;
}

static void insert_each(const struct sorting *sorting, size_t count)
{
    char held[CEDAR_SORT_ELEMENT];
    for (size_t i = 1; i < count; i++) {
        size_t to = i;
        while (to > 0 && sorting->compare(at(sorting, to - 1), at(sorting, i)) > 0) {
            to--;
        }
        if (to < i) {
            memcpy(held, at(sorting, i), sorting->size);
            memmove(at(sorting, to + 1), at(sorting, to), (i - to) * sorting->size);
            memcpy(at(sorting, to), held, sorting->size);
        }
    }
}

static void swap(const struct sorting *sorting, size_t a, size_t b)
{
    char held[CEDAR_SORT_ELEMENT];
    memcpy(held, at(sorting, a), sorting->size);
    memcpy(at(sorting, a), at(sorting, b), sorting->size);
    memcpy(at(sorting, b), held, sorting->size);
}

/** Let an element sink until none below it is larger. */
static void sink(const struct sorting *sorting, size_t root, size_t count)
{
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        bool is_right_larger =
            child + 1 < count && sorting->compare(at(sorting, child + 1), at(sorting, child)) > 0;
        child += is_right_larger ? 1 : 0;
        if (sorting->compare(at(sorting, root), at(sorting, child)) >= 0) {
            return;
        }
        swap(sorting, root, child);
        root = child;
    }
}

static void sort_as_heap(const struct sorting *sorting, size_t count)
{
    for (size_t i = count / 2; i > 0; i--) {
        sink(sorting, i - 1, count);
    }
    for (size_t left = count - 1; left > 0; left--) {
        swap(sorting, 0, left);
        sink(sorting, 0, left);
    }
}

void cedar_sort(void *elements, size_t count, size_t size,
                int (*compare)(const void *left, const void *right))
{
    assert(size <= CEDAR_SORT_ELEMENT);
    struct sorting sorting = {.elements = elements, .size = size, .compare = compare};
    if (count <= FEW) {
        insert_each(&sorting, count);
    } else {
        sort_as_heap(&sorting, count);
    }
}
