// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that is released all at once: allocations are cut from chunks, and only the arena as a
 * whole is freed or emptied. One thread at a time; a finished arena may be read by many.
 */
#pragma once

#include <stddef.h>

struct arena_chunk;

/** A zeroed arena is empty and ready. */
struct arena {
    struct arena_chunk *chunks; /**< newest first */
    char *next;                 /**< free bytes of the newest chunk */
    size_t left;
    size_t total; /**< bytes of all chunks */
};

/** Memory aligned for any type; never NULL. Not zeroed. */
void *arena_new(struct arena *arena, size_t size) __attribute__((returns_nonnull));
/** Room for `count` elements; the product is checked. */
void *arena_new_array(struct arena *arena, size_t count, size_t size)
    __attribute__((returns_nonnull));
/** Forget everything; the largest chunk is kept for the next use. */
void arena_clear(struct arena *arena);
/** Release everything; the arena is empty and can be used again. */
void arena_fini(struct arena *arena);
/** Bytes that the arena holds from the system. */
size_t arena_size(const struct arena *arena);
