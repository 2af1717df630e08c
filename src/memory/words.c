// SPDX-License-Identifier: Apache-2.0
/* One pass over the code points: runs of letters and digits, and runs of scripts without spaces. */
#include "memory/words.h"

#include "base/ascii.h"
#include "base/text/utf8.h"

#include <string.h>

/** Code points of the beginning by which a longer word is also searched. */
#define BEGINNING_POINTS 5

enum point_class {
    POINT_SPACE = 0, /**< between words */
    POINT_LETTER,
    POINT_UNSPACED, /**< of a script that has no spaces between words */
};

/** A code point of a text. */
struct point {
    const char *text;
    size_t len;
    enum point_class class;
};

struct point_range {
    uint32_t low;
    uint32_t high;
};

/* Blocks of Unicode. */
static const struct point_range spaces[] = {
    {0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},       {0xd7, 0xd7},
    {0xf7, 0xf7},     {0x2000, 0x206f}, {0x20a0, 0x20cf}, {0x2190, 0x2bff},   {0x3000, 0x3004},
    {0x3008, 0x3030}, {0xfe10, 0xfe6f}, {0xff00, 0xff0f}, {0xff1a, 0xff20},   {0xff3b, 0xff40},
    {0xff5b, 0xff65}, {0xe000, 0xf8ff}, {0xfff0, 0xffff}, {0x1f000, 0x1faff},
};
static const struct point_range unspaced[] = {
    {0x0e00, 0x0eff}, {0x1000, 0x109f}, {0x1780, 0x17ff}, {0x2e80, 0x2fff},   {0x3005, 0x9fff},
    {0xac00, 0xd7ff}, {0xf900, 0xfaff}, {0xff66, 0xff9f}, {0x1b000, 0x1b16f}, {0x20000, 0x3ffff},
};

static bool is_in(uint32_t point, const struct point_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= ranges[i].low && point <= ranges[i].high) {
            return true;
        }
    }
    return false;
}

static uint32_t decode(const char *text, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t point = len == 1   ? bytes[0]
                     : len == 2 ? bytes[0] & 0x1fU
                     : len == 3 ? bytes[0] & 0x0fU
                                : bytes[0] & 0x07U;
    for (size_t i = 1; i < len; i++) {
        point = point << 6 | (bytes[i] & 0x3fU);
    }
    return point;
}

static enum point_class classify(uint32_t point)
{
    if (point < 0x80) {
        return ascii_is_letter_or_digit((char)point) ? POINT_LETTER : POINT_SPACE;
    }
    if (is_in(point, spaces, sizeof(spaces) / sizeof(spaces[0]))) {
        return POINT_SPACE;
    }
    return is_in(point, unspaced, sizeof(unspaced) / sizeof(unspaced[0])) ? POINT_UNSPACED
                                                                          : POINT_LETTER;
}

/** The code point at `text`, which does not end there. Bytes that are not UTF-8 are spaces. */
static struct point point_at(const char *text, size_t left)
{
    size_t len = utf8_sequence_len(text, left);
    return (struct point){
        .text = text,
        .len = len == 0 ? 1 : len,
        .class = len == 0 ? POINT_SPACE : classify(decode(text, len)),
    };
}

static void add_word(struct question_words *words, const char *text, size_t len,
                     size_t beginning_len)
{
    size_t i = words->count;
    if (i == LIMIT_MEMORY_WORDS || len == 0 || len > LIMIT_MEMORY_WORD_BYTES) {
        return;
    }
    for (size_t k = 0; k < len; k++) {
        words->texts[i][k] = ascii_lower(text[k]);
    }
    words->texts[i][len] = '\0';
    for (size_t k = 0; k < i; k++) {
        if (strcmp(words->texts[k], words->texts[i]) == 0) {
            return;
        }
    }
    memcpy(words->beginnings[i], words->texts[i], beginning_len);
    words->beginnings[i][beginning_len] = '\0';
    words->items[i] = (struct store_memory_word){
        .text = words->texts[i],
        .beginning = beginning_len > 0 ? words->beginnings[i] : NULL,
    };
    words->count++;
}

/** Length of the run of points of one class at the beginning. @param ret_points may be NULL */
static size_t run_len(const char *text, size_t left, enum point_class class, size_t *ret_points,
                      size_t *ret_beginning)
{
    size_t len = 0;
    *ret_points = 0;
    *ret_beginning = 0;
    while (len < left) {
        struct point point = point_at(text + len, left - len);
        if (point.class != class) {
            break;
        }
        len += point.len;
        if (++*ret_points == BEGINNING_POINTS) {
            *ret_beginning = len;
        }
    }
    return len;
}

/** Call for each pair of points of a run; for the point itself when it is alone. */
static void each_pair(const char *run, size_t len, void (*fn)(const char *, size_t, bool, void *),
                      void *context)
{
    size_t first = point_at(run, len).len;
    bool is_alone = first == len;
    if (is_alone) {
        fn(run, len, true, context);
    }
    while (first < len) {
        size_t second = point_at(run + first, len - first).len;
        fn(run, first + second, false, context);
        run += first;
        len -= first;
        first = second;
    }
}

static void add_pair(const char *text, size_t len, bool is_alone, void *context)
{
    add_word(context, text, len, is_alone ? len : 0);
}

static void write_pair(const char *text, size_t len, bool is_alone, void *context)
{
    (void)is_alone;
    struct buf *grams = context;
    buf_append_string(grams, grams->len > 0 ? " " : "");
    buf_append(grams, text, len);
}

static bool is_stop_word(const char *text, size_t len)
{
    char word[16];
    if (len >= sizeof(word)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        word[i] = ascii_lower(text[i]);
    }
    word[len] = '\0';
    return words_is_stop_word(word);
}

static void add_words(const char *text, bool with_stop_words, struct question_words *words)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t points, beginning;
        enum point_class class = point_at(text, left).class;
        size_t len = run_len(text, left, class, &points, &beginning);
        if (class == POINT_UNSPACED) {
            each_pair(text, len, add_pair, words);
        } else if (class == POINT_LETTER && (with_stop_words || !is_stop_word(text, len))) {
            add_word(words, text, len, points > BEGINNING_POINTS ? beginning : 0);
        }
        text += len;
        left -= len;
    }
}

void words_of_question(const char *question, struct question_words *ret_words)
{
    ret_words->count = 0;
    add_words(question, false, ret_words);
    if (ret_words->count == 0) {
        add_words(question, true, ret_words);
    }
}

void words_write_grams(const char *text, struct buf *ret_grams)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t points, beginning;
        enum point_class class = point_at(text, left).class;
        size_t len = run_len(text, left, class, &points, &beginning);
        if (class == POINT_UNSPACED) {
            each_pair(text, len, write_pair, ret_grams);
        }
        text += len;
        left -= len;
    }
}
