// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a text is JSON by the letter of RFC 8259. json-c, even when told to be strict, takes NaN,
 * Infinity, "1.", "-01", raw control characters and whatever follows a NUL byte; such text would go
 * into the journal and be refused by every other reader. One pass, no allocation, no recursion.
 */
#include "base/json/json_check.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const char *text;
    size_t len;
    size_t at;
};

static char peek(const struct cursor *cursor)
{
    return cursor->at < cursor->len ? cursor->text[cursor->at] : '\0';
}

static bool take(struct cursor *cursor, char c)
{
    if (cursor->at < cursor->len && cursor->text[cursor->at] == c) {
        cursor->at++;
        return true;
    }
    return false;
}

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->len && strchr(" \t\r\n", peek(cursor)) != NULL &&
           peek(cursor) != '\0') {
        cursor->at++;
    }
}

static bool take_digits(struct cursor *cursor)
{
    size_t start = cursor->at;
    while (isdigit((unsigned char)peek(cursor))) {
        cursor->at++;
    }
    return cursor->at > start;
}

static bool take_number(struct cursor *cursor)
{
    take(cursor, '-');
    if (!take(cursor, '0') && !take_digits(cursor)) {
        return false;
    }
    if (take(cursor, '.') && !take_digits(cursor)) {
        return false;
    }
    if (take(cursor, 'e') || take(cursor, 'E')) {
        if (!take(cursor, '+')) {
            take(cursor, '-');
        }
        return take_digits(cursor);
    }
    return true;
}

static bool take_escape(struct cursor *cursor)
{
    char c = peek(cursor);
    cursor->at++;
    if (c != 'u') {
        return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
    }
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)peek(cursor))) {
            return false;
        }
        cursor->at++;
    }
    return true;
}

static bool take_string(struct cursor *cursor)
{
    if (!take(cursor, '"')) {
        return false;
    }
    while (cursor->at < cursor->len) {
        if (take(cursor, '"')) {
            return true;
        }
        if (take(cursor, '\\')) {
            if (!take_escape(cursor)) {
                return false;
            }
            continue;
        }
        size_t sequence = utf8_sequence_len(cursor->text + cursor->at, cursor->len - cursor->at);
        if (sequence == 0 || (unsigned char)peek(cursor) < 0x20) {
            return false;
        }
        cursor->at += sequence;
    }
    return false;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t len = strlen(word);
    if (cursor->len - cursor->at < len || memcmp(cursor->text + cursor->at, word, len) != 0) {
        return false;
    }
    cursor->at += len;
    return true;
}

static bool take_scalar(struct cursor *cursor)
{
    switch (peek(cursor)) {
    case '"':
        return take_string(cursor);
    case 't':
        return take_word(cursor, "true");
    case 'f':
        return take_word(cursor, "false");
    case 'n':
        return take_word(cursor, "null");
    default: /* any other byte: take_number says no to what is not a number */
        return take_number(cursor);
    }
}

static bool take_key(struct cursor *cursor)
{
    skip_space(cursor);
    if (!take_string(cursor)) {
        return false;
    }
    skip_space(cursor);
    return take(cursor, ':');
}

/** What follows a value: brackets that close, or a comma and, in an object, the next key. */
static bool take_after_value(struct cursor *cursor, char *closing, unsigned *depth)
{
    for (;;) {
        skip_space(cursor);
        if (*depth == 0) {
            return true;
        }
        if (take(cursor, closing[*depth - 1])) {
            --*depth;
            continue;
        }
        return take(cursor, ',') && (closing[*depth - 1] == ']' || take_key(cursor));
    }
}

/**
 * Opening brackets before a value. @return 1 when a value is expected next, 0 when an empty
 * container was the value, -1 on an error.
 */
static int take_opening(struct cursor *cursor, char *closing, unsigned *depth)
{
    for (;;) {
        skip_space(cursor);
        bool is_object = peek(cursor) == '{';
        if (!is_object && peek(cursor) != '[') {
            return 1;
        }
        if (*depth == LIMIT_JSON_DEPTH) {
            return -1;
        }
        cursor->at++;
        closing[(*depth)++] = is_object ? '}' : ']';
        skip_space(cursor);
        if (take(cursor, closing[*depth - 1])) {
            --*depth;
            return 0;
        }
        if (is_object && !take_key(cursor)) {
            return -1;
        }
    }
}

bool json_is_valid(const char *text, size_t len, size_t *ret_offset)
{
    struct cursor cursor = {.text = text, .len = len};
    char closing[LIMIT_JSON_DEPTH];
    unsigned depth = 0;
    bool is_good;
    do {
        int opened = take_opening(&cursor, closing, &depth);
        is_good = opened >= 0 && (opened == 0 || take_scalar(&cursor)) &&
                  take_after_value(&cursor, closing, &depth);
    } while (is_good && depth > 0);
    *ret_offset = cursor.at;
    return is_good && cursor.at == len;
}
