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

size_t memory_count_list(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    return count;
}

char **memory_dup_list(const char *const *list)
{
    size_t count = 0;
    if (list == NULL) {
        return NULL;
    }
    while (list[count] != NULL) {
        count++;
    }
    char **copy = memory_new_zero(count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = memory_dup_string(list[i]);
    }
    return copy;
}

void memory_free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        free(list[i]);
    }
    free(list);
}
