// SPDX-License-Identifier: Apache-2.0
/* Words with marks, one byte of marks for each byte of text. */
#include "cli/terminal/markdown_text.h"

#include "cli/terminal/text.h"

#include <string.h>

#define TAB_COLUMNS 4

static const struct {
    unsigned mark;
    const char *code; /* of SGR, ECMA-48 */
} codes[] = {
    {MARKDOWN_STRONG, "1"},     {MARKDOWN_FAINT, "2"},  {MARKDOWN_EMPHASIS, "3"},
    {MARKDOWN_UNDERLINED, "4"}, {MARKDOWN_STRUCK, "9"}, {MARKDOWN_DONE, "32"},
    {MARKDOWN_CODE, "36"},
};

void markdown_text_fini(struct markdown_text *text)
{
    buf_fini(&text->text);
    buf_fini(&text->marks);
}

void markdown_text_clear(struct markdown_text *text)
{
    buf_clear(&text->text);
    buf_clear(&text->marks);
}

static void add(struct markdown_text *text, const char *bytes, size_t len, unsigned marks)
{
    buf_append(&text->text, bytes, len);
    memset(buf_room(&text->marks, len), (int)marks, len);
    buf_grown(&text->marks, len);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool ends_blank(const struct markdown_text *text)
{
    return text->text.len == 0 || is_blank(text->text.data[text->text.len - 1]);
}

void markdown_text_add(struct markdown_text *text, const char *bytes, size_t len, unsigned marks)
{
    for (size_t at = 0; at < len;) {
        size_t word = 0;
        while (at + word < len && !is_blank(bytes[at + word])) {
            word++;
        }
        if (word > 0) {
            add(text, bytes + at, word, marks);
            at += word;
            continue;
        }
        if (!ends_blank(text)) {
            add(text, " ", 1, marks);
        }
        at++;
    }
}

void markdown_text_add_verbatim(struct markdown_text *text, const char *bytes, size_t len,
                                unsigned marks)
{
    size_t column = 0;
    for (size_t at = 0; at < len;) {
        if (bytes[at] == '\t') {
            size_t spaces = TAB_COLUMNS - column % TAB_COLUMNS;
            add(text, "    ", spaces, marks);
            column += spaces;
            at++;
            continue;
        }
        size_t width;
        size_t piece = text_piece(bytes + at, len - at, &width);
        add(text, bytes + at, piece, marks);
        column = bytes[at] == '\n' ? 0 : column + width;
        at += piece;
    }
}

void markdown_text_break(struct markdown_text *text)
{
    while (text->text.len > 0 && text->text.data[text->text.len - 1] == ' ') {
        text->text.len--;
        text->marks.len--;
    }
    add(text, "\n", 1, 0);
}

/** Where a line may end: a space, or after a character of two columns (Chinese, Japanese). */
static void note_chance(const char *at, size_t place, size_t piece, size_t width,
                        struct markdown_line *line)
{
    if (*at == ' ') {
        line->end = place;
        line->next = place + 1;
    } else if (width > 1) {
        line->end = place + piece;
        line->next = place + piece;
    }
}

/** Leave the spaces at a line's end out, and those with which the next one would begin. */
static void trim(const struct markdown_text *text, struct markdown_line *line)
{
    const char *data = text->text.data;
    while (line->end > line->begin && data[line->end - 1] == ' ') {
        line->end--;
    }
    bool is_broken_by_us = line->next == 0 || data[line->next - 1] != '\n';
    while (is_broken_by_us && line->next < text->text.len && data[line->next] == ' ') {
        line->next++;
    }
}

bool markdown_text_line(const struct markdown_text *text, size_t at, size_t columns,
                        bool is_verbatim, struct markdown_line *ret_line)
{
    const char *data = text->text.data;
    size_t len = text->text.len;
    struct markdown_line line = {.begin = at, .end = at, .next = at};
    if (at >= len) {
        return false;
    }
    size_t used = 0;
    size_t i = at;
    while (i < len && data[i] != '\n') {
        size_t width;
        size_t piece = text_piece(data + i, len - i, &width);
        bool is_space = data[i] == ' ' && !is_verbatim;
        if (used + width > columns && i > at && !is_space) {
            break;
        }
        if (!is_verbatim && used + width <= columns) {
            note_chance(data + i, i, piece, width, &line);
        } else if (is_space) {
            line.end = i;
            line.next = i + 1;
            break;
        }
        used += width;
        i += piece;
    }
    if (i >= len || data[i] == '\n') {
        line.end = i;
        line.next = i < len ? i + 1 : i;
    } else if (line.next == at) { /* no chance: a word that is longer than the line */
        line.end = i;
        line.next = i;
    }
    if (!is_verbatim) {
        trim(text, &line);
    }
    *ret_line = line;
    return true;
}

size_t markdown_text_width(const struct markdown_text *text, const struct markdown_line *line)
{
    size_t columns = 0;
    for (size_t at = line->begin; at < line->end;) {
        size_t width;
        at += text_piece(text->text.data + at, line->end - at, &width);
        columns += width;
    }
    return columns;
}

static void begin_marks(unsigned marks, struct buf *ret_buf)
{
    const char *separator = "\033[";
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if ((marks & codes[i].mark) != 0) {
            buf_append_string(ret_buf, separator);
            buf_append_string(ret_buf, codes[i].code);
            separator = ";";
        }
    }
    buf_append_string(ret_buf, "m");
}

void markdown_text_write(const struct markdown_text *text, const struct markdown_line *line,
                         unsigned marks, const struct style *style, struct buf *ret_buf)
{
    if (!style->has_colour) {
        buf_append(ret_buf, text->text.data + line->begin, line->end - line->begin);
        return;
    }
    const unsigned char *own = (const unsigned char *)text->marks.data;
    for (size_t at = line->begin; at < line->end;) {
        size_t end = at + 1;
        while (end < line->end && own[end] == own[at]) {
            end++;
        }
        bool is_marked = (own[at] | marks) != 0;
        if (is_marked) {
            begin_marks(own[at] | marks, ret_buf);
        }
        buf_append(ret_buf, text->text.data + at, end - at);
        buf_append_string(ret_buf, is_marked ? "\033[0m" : "");
        at = end;
    }
}

void markdown_text_measure(const struct markdown_text *text, size_t limit, size_t *ret_line,
                           size_t *ret_word)
{
    size_t line = 0, word = 0;
    *ret_line = 0;
    *ret_word = 0;
    for (size_t at = 0; at < text->text.len;) {
        size_t width;
        char c = text->text.data[at];
        at += text_piece(text->text.data + at, text->text.len - at, &width);
        line = c == '\n' ? 0 : line + width;
        word = is_blank(c) ? 0 : word + width;
        *ret_line = line > *ret_line ? line : *ret_line;
        *ret_word = word > *ret_word ? word : *ret_word;
    }
    *ret_line = *ret_line < limit ? *ret_line : limit;
    *ret_word = *ret_word < limit ? *ret_word : limit;
}

void markdown_mark(const struct style *style, unsigned marks, const char *words,
                   struct buf *ret_buf)
{
    bool is_marked = style->has_colour && marks != 0;
    if (is_marked) {
        begin_marks(marks, ret_buf);
    }
    buf_append_string(ret_buf, words);
    buf_append_string(ret_buf, is_marked ? "\033[0m" : "");
}
