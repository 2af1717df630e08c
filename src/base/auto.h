// SPDX-License-Identifier: Apache-2.0
/*
 * Ownership that the compiler ends: a local declared with one of these is released when it goes
 * out of scope. Each expands to a plain `cleanup` attribute and reads like a type qualifier.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void auto_free_impl(void *slot)
{
    free(*(void **)slot);
}

static inline void auto_close_impl(const int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
}

static inline void auto_fclose_impl(FILE **file)
{
    if (*file != NULL) {
        fclose(*file);
    }
}

/** free() at the end of the scope. */
#define auto_free __attribute__((cleanup(auto_free_impl)))
/** close() of a descriptor that is not negative. */
#define auto_close __attribute__((cleanup(auto_close_impl)))
/** fclose() of a stream that is not NULL. */
#define auto_fclose __attribute__((cleanup(auto_fclose_impl)))

/** Release ownership: yields the pointer and leaves NULL. */
#define steal_pointer(slot)                    \
    __extension__({                            \
        __typeof__(*(slot)) stolen_ = *(slot); \
        *(slot) = NULL;                        \
        stolen_;                               \
    })

/** Release ownership of a descriptor: yields it and leaves -1. */
static inline int steal_fd(int *slot)
{
    int fd = *slot;
    *slot = -1;
    return fd;
}
