// SPDX-License-Identifier: Apache-2.0
/* Quoting for Markdown: what a forge acts on is broken by a blank, what Markdown acts on is
 * escaped. */
#include "issues/quote.h"

#include "base/ascii.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "issues/item.h"

#include <string.h>

/** The backslash first: all of these may be escaped (CommonMark 2.4). */
static const char escaped[] = "\\`*_[]<>#!|~&$";

static bool is_before(const char *text, size_t at, const char *word)
{
    size_t len = strlen(word);
    if (at + 1 < len) {
        return false;
    }
    const char *begin = text + at + 1 - len;
    for (size_t i = 0; i < len; i++) {
        if (ascii_lower(begin[i]) != word[i]) {
            return false;
        }
    }
    return true;
}

/** Whether the address of an issue or pull request ends at the slash there: its number follows. */
static bool is_page_of(const char *text, size_t at)
{
    static const char *const pages[] = {"/issues/",         "/pull/",       "/pulls/",
                                        "/merge_requests/", "/work_items/", "/discussions/",
                                        "/epics/"};
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (is_before(text, at, pages[i])) {
            return true;
        }
    }
    return false;
}

/** Whether a forge would find a name or reference that begins with, or goes through, this byte. */
static bool needs_break(const char *text, size_t at)
{
    char next = text[at + 1];
    switch (text[at]) {
    case '@':
        return ascii_is_letter_or_digit(next) || (next != '\0' && strchr("_.-", next) != NULL);
    case '#':
    case '!':
    case '&':
        return ascii_is_digit(next);
    case '-':
        return ascii_is_digit(next) && is_before(text, at, "gh-") &&
               (at < 3 || !ascii_is_letter_or_digit(text[at - 3]));
    case '/':
        return ascii_is_letter_or_digit(next) && is_page_of(text, at);
    default:
        return false;
    }
}

/** @param text plain, NUL-terminated; commands of forges begin at the start of a line */
static void append_broken(const char *text, bool is_markdown, struct buf *ret_text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == '/' && (i == 0 || text[i - 1] == '\n')) {
            buf_append(ret_text, " ", 1);
        }
        if (is_markdown && strchr(escaped, text[i]) != NULL) {
            buf_append(ret_text, "\\", 1);
        }
        buf_append(ret_text, text + i, 1);
        if (needs_break(text, i)) {
            buf_append(ret_text, " ", 1);
        }
    }
}

void quote_title(const char *text, size_t most, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    auto_buf struct buf broken = {0};
    item_clean(text, most, &clean);
    append_broken(buf_string(&clean), false, &broken);
    item_clean(buf_string(&broken), most, ret_text); /* Blanks have made it longer. */
}

void quote_line(const char *text, size_t most, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    item_clean(text, most, &clean);
    append_broken(buf_string(&clean), true, ret_text);
}

/* ---- Several lines -------------------------------------------------------------------------- */

/** The length of the beginning of a text that is at most `most` bytes long and ends at a
 *  character. */
static size_t find_end(const char *text, size_t len, size_t most)
{
    size_t end = len < most ? len : most;
    while (end < len && end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
        end--;
    }
    return end;
}

void quote_block(const char *text, size_t most, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    size_t len = strlen(text);
    size_t end = find_end(text, len, most);
    text_clean_lines(text, end, &clean);
    const char *line = buf_string(&clean);
    while (line[0] != '\0') {
        auto_buf struct buf one = {0};
        size_t line_len = strcspn(line, "\n");
        buf_append(&one, line, line_len);
        buf_append_string(ret_text, "> ");
        append_broken(buf_string(&one), true, ret_text);
        buf_append_string(ret_text, "\n");
        line += line_len + (line[line_len] == '\n' ? 1 : 0);
    }
    buf_append_string(ret_text, end < len ? "> ...\n" : "");
}

/** Where the last `most` bytes of a text begin: at a line, if there is one, else at a character. */
static const char *find_tail(const char *text, size_t most)
{
    size_t len = strlen(text);
    if (len <= most) {
        return text;
    }
    const char *tail = text + len - most;
    const char *line = strchr(tail, '\n');
    if (line != NULL && line[1] != '\0') {
        return line + 1;
    }
    while (((unsigned char)*tail & 0xc0) == 0x80) {
        tail++;
    }
    return tail;
}

static size_t longest_fence(const char *text)
{
    size_t longest = 0;
    size_t run = 0;
    for (; *text != '\0'; text++) {
        run = *text == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void append_fence(size_t len, struct buf *ret_text)
{
    for (size_t i = 0; i < len; i++) {
        buf_append(ret_text, "`", 1);
    }
}

void quote_output(const char *text, size_t most, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    auto_buf struct buf broken = {0};
    const char *tail = find_tail(text, most);
    text_clean_lines(tail, strlen(tail), &clean);
    append_broken(buf_string(&clean), false, &broken);
    size_t longest = longest_fence(buf_string(&broken));
    size_t fence = longest < 3 ? 3 : longest + 1;
    append_fence(fence, ret_text);
    buf_append_string(ret_text, tail == text ? "text\n" : "text\n...\n");
    buf_append_string(ret_text, buf_string(&broken));
    bool ends_line = broken.len > 0 && broken.data[broken.len - 1] == '\n';
    buf_append_string(ret_text, ends_line ? "" : "\n");
    append_fence(fence, ret_text);
    buf_append_string(ret_text, "\n");
}
