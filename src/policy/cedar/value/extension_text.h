// SPDX-License-Identifier: Apache-2.0
/*
 * What the readers of extension types share: a place in a text that is not NUL-terminated. It holds
 * an index and not a pointer, so that an empty text may be NULL. Pure; any thread.
 */
#pragma once

#include "base/ascii.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A text and how much of it was read. */
struct extension_text {
    const char *bytes;
    size_t len;
    size_t at; /**< at most len */
};

static inline bool extension_text_is_at_end(const struct extension_text *text)
{
    return text->at == text->len;
}

/** Step over `byte` if it is the next one. */
static inline bool extension_text_take(struct extension_text *text, char byte)
{
    if (text->at == text->len || text->bytes[text->at] != byte) {
        return false;
    }
    text->at++;
    return true;
}

/** Whether the next byte is a digit. */
static inline bool extension_text_has_digit(const struct extension_text *text)
{
    return text->at < text->len && ascii_is_digit(text->bytes[text->at]);
}

/** Step over a digit that is known to be there. @return 0 to 9 */
static inline int extension_text_digit(struct extension_text *text)
{
    return text->bytes[text->at++] - '0';
}

/**
 * Append the run of digits that comes next, maybe an empty one, to a number. A negative number
 * grows downwards, because INT64_MIN has no positive counterpart.
 * @return false on overflow; *number is then unspecified
 */
static inline bool extension_text_append(struct extension_text *text, bool is_negative,
                                         int64_t *number)
{
    while (extension_text_has_digit(text)) {
        int digit = extension_text_digit(text);
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, is_negative ? -digit : digit, number)) {
            return false;
        }
    }
    return true;
}
