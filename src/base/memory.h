// SPDX-License-Identifier: Apache-2.0
/*
 * Allocation that cannot fail: running out of memory aborts. Every size that comes from input is
 * checked against a named limit before it gets here, so an abort means that the machine is out of
 * memory.
 */
#pragma once

#include <stddef.h>

/** malloc or abort. */
void *memory_new(size_t size) __attribute__((malloc, returns_nonnull));
/** calloc or abort. */
void *memory_new_zero(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/** realloc of `count` elements or abort; the product is checked. */
void *memory_resize(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));
/** strdup or abort; NULL gives NULL. */
char *memory_dup_string(const char *text);
/** Copy of `len` bytes with a NUL after them, or abort. */
char *memory_dup_bytes(const void *bytes, size_t len) __attribute__((returns_nonnull));
/** Texts of a list that a NULL ends; of NULL none. */
size_t memory_count_list(const char *const *list);
/** Copy of a list of texts that a NULL ends, or abort; NULL gives NULL. @return memory_free_list()
 */
char **memory_dup_list(const char *const *list);
/** Free a list of texts that a NULL ends, and the texts. NULL is allowed. */
void memory_free_list(char **list);
