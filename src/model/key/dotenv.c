// SPDX-License-Identifier: Apache-2.0
/* `.env` files. Pure but for getenv(), which interpolation reads first. */
#include "model/key/dotenv.h"

#include "base/buf.h"
#include "base/memory.h"
#include "model/key/secret.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *text;
    size_t len;
    size_t at;
};

static bool is_at_end(const struct cursor *cursor)
{
    return cursor->at >= cursor->len;
}

/** The byte at the cursor; NUL at the end (a NUL in the text ends it, see dotenv_parse). */
static char peek(const struct cursor *cursor)
{
    return is_at_end(cursor) ? '\0' : cursor->text[cursor->at];
}

static bool is_newline(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static void skip_blanks(struct cursor *cursor)
{
    while (is_blank(peek(cursor))) {
        cursor->at++;
    }
}

static void skip_line(struct cursor *cursor)
{
    while (!is_at_end(cursor) && !is_newline(peek(cursor))) {
        cursor->at++;
    }
}

static bool has_word(const struct cursor *cursor, const char *word)
{
    size_t len = strlen(word);
    return cursor->len - cursor->at > len && memcmp(cursor->text + cursor->at, word, len) == 0 &&
           is_blank(cursor->text[cursor->at + len]);
}

/** A key: in single quotes, or up to a blank, `=` or `#`. @return whether there is one */
static bool take_key(struct cursor *cursor, struct buf *ret_key)
{
    bool is_quoted = peek(cursor) == '\'';
    size_t start = cursor->at + (is_quoted ? 1 : 0);
    size_t end = start;
    while (end < cursor->len) {
        char c = cursor->text[end];
        if (is_quoted ? c == '\'' : c == '=' || c == '#' || is_blank(c) || is_newline(c)) {
            break;
        }
        end++;
    }
    if (end == start || (is_quoted && end == cursor->len)) {
        return false;
    }
    buf_append(ret_key, cursor->text + start, end - start);
    cursor->at = end + (is_quoted ? 1 : 0);
    return true;
}

/** What an escape in double quotes stands for; 0 = nothing: both bytes stay. */
static char escaped(char c, char quote)
{
    static const char letters[] = "\\'\"abfnrtv";
    static const char meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char *letter = c == '\0' ? NULL : strchr(letters, c);
    if (letter == NULL || (quote == '\'' && letter - letters > 1)) {
        return '\0';
    }
    return meanings[letter - letters];
}

/**
 * Length of a quoted value's content; SIZE_MAX = no end. A quote after a backslash does not end
 * it, unless no other quote does: "C:\\" is read as people mean it.
 */
static size_t quoted_len(const struct cursor *cursor, char quote)
{
    size_t last_escaped = SIZE_MAX;
    for (size_t i = cursor->at + 1; i < cursor->len; i++) {
        char c = cursor->text[i];
        if (c == '\\' && i + 1 < cursor->len && cursor->text[i + 1] == quote) {
            i++;
            last_escaped = i - cursor->at - 1;
        } else if (c == quote) {
            return i - cursor->at - 1;
        }
    }
    return last_escaped;
}

static bool take_quoted(struct cursor *cursor, char quote, struct buf *ret_value)
{
    size_t len = quoted_len(cursor, quote);
    if (len == SIZE_MAX) {
        return false;
    }
    const char *text = cursor->text + cursor->at + 1;
    for (size_t i = 0; i < len; i++) {
        char meaning = text[i] == '\\' && i + 1 < len ? escaped(text[i + 1], quote) : '\0';
        if (meaning != '\0') {
            buf_append(ret_value, &meaning, 1);
            i++;
        } else {
            buf_append(ret_value, text + i, 1);
        }
    }
    cursor->at += len + 2;
    return true;
}

/** Up to the end of the line or a comment, which begins with a blank and `#`. */
static void take_plain(struct cursor *cursor, struct buf *ret_value)
{
    const char *start = cursor->text + cursor->at;
    size_t len = 0;
    skip_line(cursor);
    size_t whole = (size_t)(cursor->text + cursor->at - start);
    while (len < whole && !(is_blank(start[len]) && len + 1 < whole && start[len + 1] == '#')) {
        len++;
    }
    while (len > 0 && is_blank(start[len - 1])) {
        len--;
    }
    buf_append(ret_value, start, len);
}

static bool take_value(struct cursor *cursor, struct buf *ret_value)
{
    char c = peek(cursor);
    if (c == '\'' || c == '"') {
        return take_quoted(cursor, c, ret_value);
    }
    if (!is_newline(c)) {
        take_plain(cursor, ret_value);
    }
    return true;
}

/** Only a comment may follow a value. */
static bool take_end_of_line(struct cursor *cursor)
{
    skip_blanks(cursor);
    if (peek(cursor) == '#') {
        skip_line(cursor);
    }
    return is_at_end(cursor) || is_newline(peek(cursor));
}

static struct dotenv_entry *find(const struct dotenv *dotenv, size_t from, const char *name)
{
    for (size_t i = from; i < dotenv->count; i++) {
        if (strcmp(dotenv->entries[i].name, name) == 0) {
            return &dotenv->entries[i];
        }
    }
    return NULL;
}

static const char *value_of(const struct dotenv *dotenv, const char *name)
{
    const char *value = getenv(name);
    if (value != NULL) {
        return value;
    }
    const struct dotenv_entry *entry = find(dotenv, 0, name);
    return entry == NULL ? NULL : entry->value;
}

/**
 * Read "{NAME}" or "{NAME:-default}" after a dollar sign and append its value.
 * @return bytes after the dollar sign, 0 = it is no variable
 */
static size_t expand_one(const struct dotenv *dotenv, const char *text, struct buf *ret_value)
{
    size_t name_len = text[0] == '{' ? strcspn(text + 1, ":}") : 0;
    const char *after = text + 1 + name_len;
    const char *otherwise = "";
    size_t otherwise_len = 0;
    if (text[0] != '{' || *after == '\0' || (*after == ':' && after[1] != '-')) {
        return 0;
    }
    if (*after == ':') {
        otherwise = after + 2;
        otherwise_len = strcspn(otherwise, "}");
        after = otherwise + otherwise_len;
    }
    if (*after != '}') {
        return 0;
    }
    char *name = memory_dup_bytes(text + 1, name_len);
    const char *value = value_of(dotenv, name);
    free(name);
    if (value != NULL) {
        buf_append_string(ret_value, value);
    } else {
        buf_append(ret_value, otherwise, otherwise_len);
    }
    return (size_t)(after + 1 - text);
}

static char *interpolate(const struct dotenv *dotenv, const char *text)
{
    struct buf value = {0};
    while (*text != '\0' && value.len <= DOTENV_VALUE_MAX_BYTES) {
        size_t len = *text == '$' ? expand_one(dotenv, text + 1, &value) : 0;
        if (len == 0) {
            buf_append(&value, text, 1);
        }
        text += 1 + len;
    }
    size_t len = value.len > DOTENV_VALUE_MAX_BYTES ? DOTENV_VALUE_MAX_BYTES : value.len;
    char *copy = memory_dup_bytes(buf_string(&value), len);
    secret_fini_buf(&value);
    return copy;
}

/** @param own where the entries of this text begin */
static void keep(struct dotenv *dotenv, size_t own, const char *name, const char *value)
{
    char *whole = interpolate(dotenv, value);
    struct dotenv_entry *known = find(dotenv, 0, name);
    if (known != NULL && (size_t)(known - dotenv->entries) < own) {
        secret_free_string(whole);
        return;
    }
    if (known != NULL) {
        secret_free_string(known->value);
        known->value = whole;
        return;
    }
    if (dotenv->count == dotenv->room) {
        dotenv->room = dotenv->room * 2 + 8;
        dotenv->entries = memory_resize(dotenv->entries, dotenv->room, sizeof(*dotenv->entries));
    }
    dotenv->entries[dotenv->count++] =
        (struct dotenv_entry){.name = memory_dup_string(name), .value = whole};
}

/** A name without "=" takes back what the same text has bound to it. */
static void forget(struct dotenv *dotenv, size_t own, const char *name)
{
    struct dotenv_entry *known = find(dotenv, own, name);
    if (known != NULL) {
        free(known->name);
        secret_free_string(known->value);
        *known = dotenv->entries[--dotenv->count];
    }
}

/** One binding, or one line that is none. */
static void parse_binding(struct dotenv *dotenv, size_t own, struct cursor *cursor)
{
    struct buf key = {0};
    struct buf value = {0};
    bool has_value = false;
    if (has_word(cursor, "export")) {
        cursor->at += strlen("export");
        skip_blanks(cursor);
    }
    bool is_right = peek(cursor) != '#' ? take_key(cursor, &key) : true;
    skip_blanks(cursor);
    if (is_right && key.len > 0 && peek(cursor) == '=') {
        cursor->at++;
        skip_blanks(cursor);
        has_value = true;
        is_right = take_value(cursor, &value);
    }
    if (!is_right || !take_end_of_line(cursor)) {
        skip_line(cursor);
    } else if (!has_value) {
        forget(dotenv, own, buf_string(&key));
    } else if (dotenv->count < DOTENV_MAX_ENTRIES) {
        keep(dotenv, own, buf_string(&key), buf_string(&value));
    }
    buf_fini(&key);
    secret_fini_buf(&value);
}

void dotenv_parse(struct dotenv *dotenv, const char *text, size_t len)
{
    struct cursor cursor = {.text = text, .len = strnlen(text, len)};
    size_t own = dotenv->count;
    if (cursor.len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        cursor.at = 3;
    }
    while (!is_at_end(&cursor)) {
        if (is_blank(peek(&cursor)) || is_newline(peek(&cursor))) {
            cursor.at++;
        } else {
            parse_binding(dotenv, own, &cursor);
        }
    }
}

void dotenv_fini(struct dotenv *dotenv)
{
    for (size_t i = 0; i < dotenv->count; i++) {
        free(dotenv->entries[i].name);
        secret_free_string(dotenv->entries[i].value);
    }
    free(dotenv->entries);
    *dotenv = (struct dotenv){0};
}
