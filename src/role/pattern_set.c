// SPDX-License-Identifier: Apache-2.0
/* Characters, escapes and sets of regular expressions. */
#include "role/pattern_internal.h"

#include "base/utf8.h"

#include <ctype.h>

uint32_t pattern_take_character(struct parser *parser)
{
    const unsigned char *bytes = (const unsigned char *)parser->text + parser->at;
    size_t len = utf8_sequence_len((const char *)bytes, parser->len - parser->at);
    len = len == 0 ? 1 : len;
    parser->at += len;
    static const unsigned char masks[] = {0, 0xff, 0x1f, 0x0f, 0x07};
    uint32_t character = bytes[0] & masks[len];
    for (size_t i = 1; i < len; i++) {
        character = (character << 6) | (bytes[i] & 0x3fU);
    }
    return character;
}

struct members pattern_members_of(const struct parser *parser, uint32_t character)
{
    bool is_a = character == 'a' || (parser->ignores_case && character == 'A');
    return (struct members){.has_a = is_a, .has_mark = character == '!', .character = character};
}

/** \d \D \s \S \w \W, of which 'a' is in \w, \D, \S and '!' in \W, \D, \S. */
bool pattern_take_class(struct parser *parser, struct members *ret_members)
{
    int letter = peek(parser);
    if (letter < 0 || strchr("dDsSwW", letter) == NULL) {
        return false;
    }
    parser->at++;
    *ret_members = (struct members){
        .has_a = letter == 'D' || letter == 'S' || letter == 'w',
        .has_mark = letter == 'D' || letter == 'S' || letter == 'W',
        .is_class = true,
    };
    return true;
}

/** As many hexadecimal digits as the letter asks for. */
static bool take_hexadecimal(struct parser *parser, size_t digits, uint32_t *ret_character)
{
    uint32_t character = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = peek(parser);
        if (digit < 0 || !isxdigit(digit)) {
            return fail(parser, "an escape that is cut off");
        }
        character =
            character * 16 + (uint32_t)(isdigit(digit) ? digit - '0' : (digit | 32) - 'a' + 10);
        parser->at++;
    }
    *ret_character = character;
    return character <= 0x10ffff || fail(parser, "an escape beyond the last character");
}

/** \N{...}: which names there are is not checked. */
static bool take_named(struct parser *parser, uint32_t *ret_character)
{
    const char *end =
        take(parser, '{') ? memchr(parser->text + parser->at, '}', parser->len - parser->at) : NULL;
    if (end == NULL || end == parser->text + parser->at) {
        return fail(parser, "a character's name in braces is missing");
    }
    parser->at = (size_t)(end - parser->text) + 1;
    *ret_character = 0xfffd;
    return true;
}

bool pattern_take_escaped(struct parser *parser, uint32_t *ret_character)
{
    static const char letters[] = "afnrtv\\";
    static const char meanings[] = "\a\f\n\r\t\v\\";
    size_t start = parser->at;
    if (start == parser->len) {
        return fail(parser, "a backslash at the end");
    }
    uint32_t letter = pattern_take_character(parser);
    const char *found = letter < 0x80 && letter != 0 ? strchr(letters, (int)letter) : NULL;
    if (found != NULL) {
        *ret_character = (unsigned char)meanings[found - letters];
        return true;
    }
    if (letter == 'x' || letter == 'u' || letter == 'U') {
        return take_hexadecimal(parser, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, ret_character);
    }
    if (letter == 'N') {
        return take_named(parser, ret_character);
    }
    if (letter < 0x80 && isalnum((int)letter)) {
        return fail_at(parser, start, "an unknown escape");
    }
    *ret_character = letter;
    return true;
}

bool pattern_take_octal(struct parser *parser, size_t most, uint32_t *ret_character)
{
    uint32_t character = 0;
    for (size_t i = 0; i < most && is_octal(peek(parser)); i++) {
        character = character * 8 + (uint32_t)(peek(parser) - '0');
        parser->at++;
    }
    *ret_character = character;
    return character <= 0377 || fail(parser, "an octal escape beyond \\377");
}

/** One member of [...]. */
static bool take_member(struct parser *parser, struct members *ret_members)
{
    uint32_t character = 0;
    if (!take(parser, '\\')) {
        character = pattern_take_character(parser);
    } else if (pattern_take_class(parser, ret_members)) {
        return true;
    } else if (take(parser, 'b')) {
        character = '\b';
    } else if (is_octal(peek(parser))) {
        if (!pattern_take_octal(parser, 3, &character)) {
            return false;
        }
    } else if (!pattern_take_escaped(parser, &character)) {
        return false;
    }
    *ret_members = pattern_members_of(parser, character);
    return true;
}

/** Behind a member and its dash. */
static bool take_range(struct parser *parser, struct members *members)
{
    struct members high;
    size_t start = parser->at;
    if (!take_member(parser, &high)) {
        return false;
    }
    if (members->is_class || high.is_class || high.character < members->character) {
        return fail_at(parser, start, "a range of characters that is none");
    }
    for (uint32_t letter = 'A'; letter <= 'a'; letter += 'a' - 'A') {
        bool counts = letter == 'a' || parser->ignores_case;
        members->has_a =
            members->has_a || (counts && members->character <= letter && letter <= high.character);
    }
    members->has_mark = members->character <= '!' && '!' <= high.character;
    return true;
}

bool pattern_parse_set(struct parser *parser, struct sequence *sequence)
{
    size_t start = parser->at - 1;
    struct pattern_node *node = new_node(parser, PATTERN_ONE);
    bool is_negative = take(parser, '^');
    for (bool is_first = true; is_first || peek(parser) != ']'; is_first = false) {
        if (parser->at == parser->len) {
            return fail_at(parser, start, "a set of characters without its end");
        }
        struct members members = {0};
        if (!take_member(parser, &members)) {
            return false;
        }
        if (peek(parser) == '-' && peek_next(parser) == -1) {
            return fail_at(parser, start, "a set of characters without its end");
        }
        if (peek(parser) == '-' && peek_next(parser) != ']') {
            parser->at++;
            if (!take_range(parser, &members)) {
                return false;
            }
        }
        node->takes_a = node->takes_a || members.has_a;
        node->takes_mark = node->takes_mark || members.has_mark;
    }
    parser->at++;
    node->takes_a = node->takes_a != is_negative;
    node->takes_mark = node->takes_mark != is_negative;
    node->width_low = node->width_high = 1;
    append(sequence, node);
    return true;
}
