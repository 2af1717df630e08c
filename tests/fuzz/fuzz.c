// SPDX-License-Identifier: Apache-2.0
/* Helpers of fuzz targets: inputs as texts, and a strict JSON recogniser. No state; any thread. */
#include "fuzz.h"

#include <string.h>

char *fuzz_bytes(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    FUZZ_CHECK(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    copy[size] = '\0';
    return copy;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, 0, size);
    return fuzz_bytes(data, end == NULL ? size : (size_t)(end - data));
}

/** Rest of a text that is being recognised. */
struct rest {
    const unsigned char *at;
    const unsigned char *end;
};

static int peek(const struct rest *rest)
{
    return rest->at < rest->end ? *rest->at : -1;
}

static _Bool take(struct rest *rest, int byte)
{
    if (peek(rest) != byte) {
        return 0;
    }
    rest->at++;
    return 1;
}

static void skip_space(struct rest *rest)
{
    while (peek(rest) == ' ' || peek(rest) == '\t' || peek(rest) == '\n' || peek(rest) == '\r') {
        rest->at++;
    }
}

static size_t take_digits(struct rest *rest)
{
    size_t count = 0;
    for (; peek(rest) >= '0' && peek(rest) <= '9'; count++) {
        rest->at++;
    }
    return count;
}

static _Bool take_number(struct rest *rest)
{
    take(rest, '-');
    if (!take(rest, '0') && take_digits(rest) == 0) {
        return 0;
    }
    if (take(rest, '.') && take_digits(rest) == 0) {
        return 0;
    }
    if (take(rest, 'e') || take(rest, 'E')) {
        if (!take(rest, '+')) {
            take(rest, '-');
        }
        return take_digits(rest) > 0;
    }
    return 1;
}

static _Bool take_hex(struct rest *rest)
{
    for (int i = 0; i < 4; i++) {
        if (peek(rest) < 0 || strchr("0123456789abcdefABCDEF", peek(rest)) == NULL) {
            return 0;
        }
        rest->at++;
    }
    return 1;
}

/** One sequence of several bytes, by decoding it: shortest form, no surrogate, in range. */
static _Bool take_multibyte(struct rest *rest)
{
    int first = peek(rest);
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc0 || first > 0xf7 || rest->end - rest->at <= more) {
        return 0;
    }
    uint32_t point = (uint32_t)first & (0x3fU >> more);
    for (int i = 1; i <= more; i++) {
        if ((rest->at[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (rest->at[i] & 0x3fU);
    }
    rest->at += more + 1;
    static const uint32_t lowest[] = {0, 0x80, 0x800, 0x10000};
    return point >= lowest[more] && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
}

static _Bool take_string(struct rest *rest)
{
    if (!take(rest, '"')) {
        return 0;
    }
    while (!take(rest, '"')) {
        if (take(rest, '\\')) {
            if (take(rest, 'u')) {
                if (!take_hex(rest)) {
                    return 0;
                }
            } else if (peek(rest) <= 0 || strchr("\"\\/bfnrt", peek(rest)) == NULL) {
                return 0;
            } else {
                rest->at++;
            }
        } else if (peek(rest) >= 0x80) {
            if (!take_multibyte(rest)) {
                return 0;
            }
        } else if (peek(rest) < 0x20) {
            return 0; /* Control characters, and the end of the input. */
        } else {
            rest->at++;
        }
    }
    return 1;
}

static _Bool take_word(struct rest *rest, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(rest->end - rest->at) < len || memcmp(rest->at, word, len) != 0) {
        return 0;
    }
    rest->at += len;
    return 1;
}

static _Bool take_value(struct rest *rest, unsigned depth);

/** Members up to the closing bracket. */
static _Bool take_members(struct rest *rest, int closing, unsigned depth)
{
    skip_space(rest);
    if (take(rest, closing)) {
        return 1;
    }
    do {
        skip_space(rest);
        if (closing == '}') {
            if (!take_string(rest)) {
                return 0;
            }
            skip_space(rest);
            if (!take(rest, ':')) {
                return 0;
            }
        }
        if (!take_value(rest, depth)) {
            return 0;
        }
    } while (take(rest, ','));
    return take(rest, closing);
}

static _Bool take_value(struct rest *rest, unsigned depth)
{
    _Bool is_value = 0;
    skip_space(rest);
    if (depth > 0 && take(rest, '{')) {
        is_value = take_members(rest, '}', depth - 1);
    } else if (depth > 0 && take(rest, '[')) {
        is_value = take_members(rest, ']', depth - 1);
    } else if (peek(rest) == '"') {
        is_value = take_string(rest);
    } else {
        is_value = take_word(rest, "true") || take_word(rest, "false") || take_word(rest, "null") ||
                   take_number(rest);
    }
    skip_space(rest);
    return is_value;
}

_Bool fuzz_is_json(const char *text, size_t len)
{
    struct rest rest = {.at = (const unsigned char *)text,
                        .end = (const unsigned char *)text + len};
    return take_value(&rest, 1000) && rest.at == rest.end;
}
