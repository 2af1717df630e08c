/*
 * Growing text, whole files and one hash.
 *
 * Running out of memory ends the program: every size here is limited by the size of the project.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEXT_FILE_MAX = 4 * 1024 * 1024, /* larger files are refused */
};

struct text {
    char *data; /* always ends in a NUL that `len` does not count; NULL while empty */
    size_t len;
    size_t cap;
};

/* Gives the memory back and makes the text empty. */
void text_fini(struct text *text);

void text_append(struct text *text, const char *data, size_t len);

__attribute__((format(printf, 2, 3))) void text_printf(struct text *text, const char *format, ...);

/* The text as a string, never NULL; owned by the text. */
const char *text_string(const struct text *text);

/* Appends the whole file. False, with errno set, when it cannot be read. */
bool text_read_file(struct text *text, const char *path);

/*
 * Replaces `path` in one step: readers see the old content or the new one, whatever moment this
 * process dies at. `mode` is given to the new file. False, with errno set, on failure.
 */
bool text_replace_file(const char *path, const char *data, size_t len, unsigned mode);

/* Realloc for `count` elements that ends the program instead of failing. */
void *text_realloc(void *old, size_t count, size_t size);

/* FNV-1a over the bytes, continuing from `hash`; start with TEXT_HASH_START. */
uint64_t text_hash(uint64_t hash, const void *data, size_t len);

#define TEXT_HASH_START UINT64_C(14695981039346656037)
