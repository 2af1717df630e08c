// SPDX-License-Identifier: Apache-2.0
/*
 * Sorting in place. The C library's qsort takes memory from the allocator for more than a few
 * elements, which a decision must not. Any thread.
 */
#pragma once

#include <stddef.h>

/** Bytes of the largest element. */
#define CEDAR_SORT_ELEMENT 64

/** As qsort, with elements of at most CEDAR_SORT_ELEMENT bytes. Equal ones end in any order. */
void cedar_sort(void *elements, size_t count, size_t size,
                int (*compare)(const void *left, const void *right));
