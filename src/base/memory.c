// SPDX-License-Identifier: Apache-2.0
/* Allocation that aborts instead of failing. Any thread. */
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_abort(void *memory)
{
    if (memory == NULL) {
        fputs("rondo: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *memory_new(size_t size)
{
    return or_abort(malloc(size > 0 ? size : 1));
}

void *memory_new_zero(size_t count, size_t size)
{
    return or_abort(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *memory_resize(void *memory, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return or_abort(NULL);
    }
    return or_abort(realloc(memory, total > 0 ? total : 1));
}

char *memory_dup_string(const char *text)
{
    return text == NULL ? NULL : memory_dup_bytes(text, strlen(text));
}

char *memory_dup_bytes(const void *bytes, size_t len)
{
    char *copy = memory_new(len + 1);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    copy[len] = '\0';
    return copy;
}
