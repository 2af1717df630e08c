// SPDX-License-Identifier: Apache-2.0
/* The lexer. The text has been checked to be UTF-8. */
#include "policy/cedar/lexer.h"

#include "base/ascii.h"
#include "base/text/utf8.h"
#include "policy/cedar/value/value.h"

#include <string.h>

static bool is_letter(char byte)
{
    return ascii_is_letter(byte) || byte == '_';
}

size_t lexer_identifier_len(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len && (is_letter(text[at]) || (at > 0 && ascii_is_digit(text[at])))) {
        at++;
    }
    return at;
}

bool lexer_is_reserved(const char *text, size_t len)
{
    static const char *const words[] = {"true", "false", "if",   "then", "else",
                                        "in",   "is",    "like", "has",  "__cedar"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0) {
            return true;
        }
    }
    return false;
}

bool cedar_type_is_valid(const char *text, size_t len)
{
    for (;;) {
        size_t name = lexer_identifier_len(text, len);
        if (name == 0 || lexer_is_reserved(text, name)) {
            return false;
        }
        text += name;
        len -= name;
        if (len == 0) {
            return true;
        }
        if (len < 2 || text[0] != ':' || text[1] != ':') {
            return false;
        }
        text += 2;
        len -= 2;
    }
}

static uint32_t code_point(const char *text, size_t sequence)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & masks[sequence];
    for (size_t i = 1; i < sequence; i++) {
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return point;
}

/** Length of a character with the Unicode property White_Space; 0 for another. */
static size_t space_len(const char *text, size_t len)
{
    unsigned char byte = (unsigned char)text[0];
    if (byte < 0x80) {
        return ascii_is_space((char)byte);
    }
    size_t sequence = utf8_sequence_len(text, len);
    uint32_t point = code_point(text, sequence);
    bool is_space = point == 0x85 || point == 0xa0 || point == 0x1680 ||
                    (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
                    point == 0x202f || point == 0x205f || point == 0x3000;
    return is_space ? sequence : 0;
}

static void skip_comment(struct lexer *lexer)
{
    while (lexer->at < lexer->len && lexer->text[lexer->at] != '\n' &&
           lexer->text[lexer->at] != '\r') {
        lexer->at++;
    }
}

static void skip_space(struct lexer *lexer)
{
    while (lexer->at < lexer->len) {
        const char *text = lexer->text + lexer->at;
        size_t left = lexer->len - lexer->at;
        size_t space = space_len(text, left);
        if (space > 0) {
            lexer->at += space;
        } else if (left >= 2 && text[0] == '/' && text[1] == '/') {
            skip_comment(lexer);
        } else {
            return;
        }
    }
}

static struct token wrong(struct lexer *lexer, size_t begin, size_t end, const char *message)
{
    lexer->message = message;
    lexer->at = begin;
    return (struct token){.kind = TOKEN_WRONG, .begin = (uint32_t)begin, .end = (uint32_t)end};
}

/** @param end after the closing quote */
static struct token string_token(struct lexer *lexer, size_t begin)
{
    for (size_t at = begin + 1; at < lexer->len; at++) {
        char byte = lexer->text[at];
        if (byte == '"') {
            lexer->at = at + 1;
            return (struct token){
                .kind = TOKEN_STRING, .begin = (uint32_t)begin, .end = (uint32_t)(at + 1)};
        }
        if (byte == '\\') {
            at++; /* The escape itself is looked at by the parser. */
            if (at < lexer->len && (lexer->text[at] == '\n' || lexer->text[at] == '\r')) {
                return wrong(lexer, at - 1, at, "a backslash before the end of a line");
            }
        }
    }
    return wrong(lexer, begin, begin + 1, "a string that is not closed");
}

static struct token slot_token(struct lexer *lexer, size_t begin)
{
    static const char *const slots[] = {"?principal", "?resource"};
    size_t name = lexer_identifier_len(lexer->text + begin + 1, lexer->len - begin - 1);
    for (size_t i = 0; i < 2; i++) {
        if (strlen(slots[i]) == name + 1 && memcmp(lexer->text + begin, slots[i], name + 1) == 0) {
            lexer->at = begin + name + 1;
            return (struct token){
                .kind = TOKEN_SLOT, .begin = (uint32_t)begin, .end = (uint32_t)lexer->at};
        }
    }
    return wrong(lexer, begin, begin + 1 + name, "slots are `?principal` and `?resource`");
}

static struct token punctuation_token(struct lexer *lexer, size_t begin)
{
    static const char pairs[][3] = {"::", "==", "!=", "<=", ">=", "||", "&&"};
    static const char singles[] = "@.,;:(){}[]<>+-*/%!=";
    const char *text = lexer->text + begin;
    struct token token = {.kind = TOKEN_PUNCTUATION, .begin = (uint32_t)begin};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && lexer->len - begin >= 2; i++) {
        if (text[0] == pairs[i][0] && text[1] == pairs[i][1]) {
            token.punctuation = PUNCTUATION(text[0], text[1]);
            lexer->at = begin + 2;
            token.end = (uint32_t)lexer->at;
            return token;
        }
    }
    if (text[0] != '\0' && strchr(singles, text[0]) != NULL) {
        token.punctuation = PUNCTUATION(text[0], 0);
        lexer->at = begin + 1;
        token.end = (uint32_t)lexer->at;
        return token;
    }
    size_t sequence = utf8_sequence_len(text, lexer->len - begin);
    return wrong(lexer, begin, begin + sequence, "a character that has no meaning here");
}

struct token lexer_next(struct lexer *lexer)
{
    skip_space(lexer);
    size_t begin = lexer->at;
    if (begin == lexer->len) {
        return (struct token){.kind = TOKEN_END, .begin = (uint32_t)begin, .end = (uint32_t)begin};
    }
    char byte = lexer->text[begin];
    if (byte == '"') {
        return string_token(lexer, begin);
    }
    if (byte == '?') {
        return slot_token(lexer, begin);
    }
    size_t len = lexer_identifier_len(lexer->text + begin, lexer->len - begin);
    enum token_kind kind = TOKEN_IDENTIFIER;
    if (len == 0 && ascii_is_digit(byte)) {
        kind = TOKEN_INTEGER;
        while (begin + len < lexer->len && ascii_is_digit(lexer->text[begin + len])) {
            len++;
        }
    }
    if (len == 0) {
        return punctuation_token(lexer, begin);
    }
    lexer->at = begin + len;
    return (struct token){.kind = kind, .begin = (uint32_t)begin, .end = (uint32_t)lexer->at};
}

/** `\xHH`. @return bytes used after the `x`, 0 when it is wrong */
static size_t read_byte_escape(const char *text, size_t len, uint32_t *ret_point)
{
    int byte = len < 2 ? -1 : ascii_hex_byte(text);
    if (byte < 0 || byte > 0x7f) {
        return 0;
    }
    *ret_point = (uint32_t)byte;
    return 2;
}

/** `\u{H..}`. @return bytes used after the `u`, 0 when it is wrong */
static size_t read_unicode_escape(const char *text, size_t len, uint32_t *ret_point)
{
    unsigned digits = 0;
    uint32_t point = 0;
    if (len == 0 || text[0] != '{') {
        return 0;
    }
    for (size_t at = 1; at < len; at++) {
        int digit = ascii_hex_value(text[at]);
        if (text[at] == '}') {
            *ret_point = point;
            bool is_scalar = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
            return digits > 0 && is_scalar ? at + 1 : 0;
        }
        if (text[at] == '_' && digits > 0) {
            continue;
        }
        if (digit < 0 || ++digits > 6) {
            return 0;
        }
        point = point * 16 + (uint32_t)digit;
    }
    return 0;
}

/** @return bytes used after the backslash, 0 when it is wrong */
static size_t read_escape(const char *text, size_t len, uint32_t *ret_point)
{
    static const char names[] = "nrt\\0'\"";
    static const char points[] = "\n\r\t\\\0'\"";
    if (len == 0) {
        return 0;
    }
    size_t used = 0;
    if (text[0] == 'x') {
        used = read_byte_escape(text + 1, len - 1, ret_point);
    } else if (text[0] == 'u') {
        used = read_unicode_escape(text + 1, len - 1, ret_point);
    }
    if (used > 0) {
        return used + 1;
    }
    const char *name = text[0] == '\0' ? NULL : strchr(names, text[0]);
    if (name == NULL) {
        return 0;
    }
    *ret_point = (unsigned char)points[name - names];
    return 1;
}

static const char *fail_at(size_t at, const char *message, size_t *ret_offset)
{
    *ret_offset = at;
    return message;
}

const char *lexer_unescape(const char *literal, size_t len,
                           void (*ret_wildcard)(struct buf *ret_text, void *context), void *context,
                           struct buf *ret_text, size_t *ret_offset)
{
    for (size_t at = 0; at < len;) {
        uint32_t point = (unsigned char)literal[at];
        size_t used = 1;
        bool is_escaped = literal[at] == '\\';
        if (literal[at] == '\r') {
            return fail_at(at, "a carriage return in a string; write it as `\\r`", ret_offset);
        }
        if (is_escaped && at + 1 < len && literal[at + 1] == '*') {
            if (ret_wildcard == NULL) {
                return fail_at(at, "the escape `\\*` is for patterns of `like` only", ret_offset);
            }
            buf_append(ret_text, "*", 1);
            at += 2;
            continue;
        }
        if (is_escaped) {
            used = read_escape(literal + at + 1, len - at - 1, &point) + 1;
            if (used == 1) {
                return fail_at(at, "an escape that Cedar does not know", ret_offset);
            }
        }
        if (point == '*' && ret_wildcard != NULL) {
            ret_wildcard(ret_text, context);
        } else if (is_escaped) {
            utf8_append(ret_text, point);
        } else {
            buf_append(ret_text, literal + at, 1);
        }
        at += used;
    }
    return NULL;
}
