// SPDX-License-Identifier: Apache-2.0
/*
 * Arenas of doubling chunks. Under the address sanitizer every allocation gets a chunk of its own,
 * so that reading past one is seen.
 */
#include "base/arena.h"

#include "base/memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_CHUNK_BYTES ((size_t)256)
#define LAST_CHUNK_BYTES  ((size_t)1024 * 1024)
#define ALIGNMENT         alignof(max_align_t)

#if defined(__SANITIZE_ADDRESS__)
#define EACH_ALONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EACH_ALONE 1
#endif
#endif
#ifndef EACH_ALONE
#define EACH_ALONE 0
#endif

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* of bytes */
    alignas(ALIGNMENT) char bytes[];
};

static void add_chunk(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = memory_new(sizeof(*chunk) + size);
    chunk->older = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    arena->next = chunk->bytes;
    arena->left = size;
    arena->total += size;
}

static size_t next_chunk_size(const struct arena *arena, size_t needed)
{
    if (EACH_ALONE) {
        return needed;
    }
    size_t size = arena->total < FIRST_CHUNK_BYTES ? FIRST_CHUNK_BYTES : arena->total;
    size = size > LAST_CHUNK_BYTES ? LAST_CHUNK_BYTES : size;
    return size < needed ? needed : size;
}

void *arena_new(struct arena *arena, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    if (rounded < size) {
        abort(); /* What comes from outside is limited long before. */
    }
    rounded = EACH_ALONE ? size : rounded;
    if (EACH_ALONE || arena->chunks == NULL || rounded > arena->left) {
        add_chunk(arena, next_chunk_size(arena, rounded));
    }
    void *memory = arena->next;
    arena->next += rounded;
    arena->left -= rounded;
    return memory;
}

void *arena_new_array(struct arena *arena, size_t count, size_t size)
{
    size_t total = 0;
    if (__builtin_mul_overflow(count, size, &total)) {
        abort();
    }
    return arena_new(arena, total);
}

static struct arena_chunk *largest_of(struct arena_chunk *chunk)
{
    struct arena_chunk *largest = chunk;
    for (; chunk != NULL; chunk = chunk->older) {
        largest = chunk->size > largest->size ? chunk : largest;
    }
    return largest;
}

/** Free all chunks but one, which may be NULL. */
static void free_chunks(struct arena_chunk *chunk, const struct arena_chunk *kept)
{
    while (chunk != NULL) {
        struct arena_chunk *older = chunk->older;
        if (chunk != kept) {
            free(chunk);
        }
        chunk = older;
    }
}

void arena_clear(struct arena *arena)
{
    if (EACH_ALONE || arena->chunks == NULL) {
        arena_fini(arena);
        return;
    }
    struct arena_chunk *largest = largest_of(arena->chunks);
    free_chunks(arena->chunks, largest);
    largest->older = NULL;
    arena->chunks = largest;
    arena->next = largest->bytes;
    arena->left = largest->size;
    arena->total = largest->size;
}

void arena_fini(struct arena *arena)
{
    free_chunks(arena->chunks, NULL);
    *arena = (struct arena){0};
}

size_t arena_size(const struct arena *arena)
{
    return arena->total;
}
