// SPDX-License-Identifier: Apache-2.0
/* Lines of Markdown. */
#include "prd/lines.h"

#include "base/ascii.h"

#include <string.h>

/** After a YAML header ("---" in the first line, up to the next one). */
static void skip_header(struct prd_lines *lines)
{
    struct prd_lines ahead = *lines;
    struct prd_line line;
    bool is_first = true;
    while (prd_line_next(&ahead, &line)) {
        bool is_rule = line.raw_len == 3 && memcmp(line.raw, "---", 3) == 0;
        if (is_first && !is_rule) {
            return;
        }
        if (!is_first && is_rule) {
            *lines = ahead;
            return;
        }
        is_first = false;
    }
}

struct prd_lines prd_lines(const char *text, size_t len)
{
    bool has_mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    struct prd_lines lines = {.at = text + (has_mark ? 3 : 0), .end = text + len};
    skip_header(&lines);
    return lines;
}

/** Bytes of a fence at the beginning of a line; 0 = none. */
static size_t fence_len(const struct prd_line *line)
{
    size_t len = 0;
    while (len < line->len && line->text[len] == line->text[0] &&
           (line->text[0] == '`' || line->text[0] == '~')) {
        len++;
    }
    return len >= 3 ? len : 0;
}

static bool contains(const struct prd_line *line, const char *what)
{
    return line->len > 0 && memmem(line->text, line->len, what, strlen(what)) != NULL;
}

/** Whether a line is code or comment, and whether the next one will be. */
static bool track(struct prd_lines *lines, const struct prd_line *line)
{
    size_t len = fence_len(line);
    if (lines->fence != 0) {
        bool is_end = len >= lines->fence_len && line->text[0] == lines->fence && len == line->len;
        lines->fence = is_end ? '\0' : lines->fence;
        return true;
    }
    if (lines->is_comment) {
        lines->is_comment = !contains(line, "-->");
        return true;
    }
    if (len > 0 &&
        (line->text[0] == '~' || memchr(line->text + len, '`', line->len - len) == NULL)) {
        lines->fence = line->text[0];
        lines->fence_len = len;
        return true;
    }
    if (line->len >= 4 && memcmp(line->text, "<!--", 4) == 0) {
        lines->is_comment = !contains(line, "-->");
        return true;
    }
    return false;
}

bool prd_line_next(struct prd_lines *lines, struct prd_line *ret_line)
{
    if (lines->at >= lines->end) {
        return false;
    }
    const char *stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    size_t len = (size_t)((stop == NULL ? lines->end : stop) - lines->at);
    struct prd_line line = {.raw = lines->at, .raw_len = len, .number = ++lines->number};
    lines->at = stop == NULL ? lines->end : stop + 1;
    while (line.raw_len > 0 && ascii_is_space(line.raw[line.raw_len - 1])) {
        line.raw_len--;
    }
    size_t skipped = 0;
    while (skipped < line.raw_len && (line.raw[skipped] == ' ' || line.raw[skipped] == '\t')) {
        line.indent += line.raw[skipped] == '\t' ? 4 - line.indent % 4 : 1;
        skipped++;
    }
    line.text = line.raw + skipped;
    line.len = line.raw_len - skipped;
    line.column = (uint32_t)skipped + 1;
    line.is_code = track(lines, &line);
    *ret_line = line;
    return true;
}

void prd_trim(const char **text, size_t *len)
{
    while (*len > 0 && (ascii_is_space(**text) || **text == '*' || **text == '_')) {
        (*text)++;
        (*len)--;
    }
    while (*len > 0 && (ascii_is_space((*text)[*len - 1]) || (*text)[*len - 1] == '*' ||
                        (*text)[*len - 1] == '_')) {
        (*len)--;
    }
}

unsigned prd_line_heading(const struct prd_line *line, const char **ret_text, size_t *ret_len)
{
    unsigned level = 0;
    while (level < line->len && line->text[level] == '#') {
        level++;
    }
    if (line->is_code || line->indent > 3 || level == 0 || level > 6 ||
        (level < line->len && line->text[level] != ' ' && line->text[level] != '\t')) {
        return 0;
    }
    const char *text = line->text + level;
    size_t len = line->len - level;
    prd_trim(&text, &len);
    while (len > 0 && text[len - 1] == '#') {
        len--;
    }
    prd_trim(&text, &len);
    *ret_text = text;
    *ret_len = len;
    return level;
}

enum prd_box prd_take_box(const char **text, size_t *len)
{
    const char *at = *text;
    bool is_box = *len >= 3 && at[0] == '[' && at[2] == ']' && strchr(" xX", at[1]) != NULL &&
                  at[1] != '\0' && (*len == 3 || ascii_is_space(at[3]));
    if (!is_box) {
        return PRD_BOX_NONE;
    }
    *text += 3;
    *len -= 3;
    while (*len > 0 && ascii_is_space(**text)) {
        (*text)++;
        (*len)--;
    }
    return at[1] == ' ' ? PRD_BOX_OPEN : PRD_BOX_TICKED;
}

bool prd_line_item(const struct prd_line *line, struct prd_item *ret_item)
{
    size_t mark = 0;
    while (mark < line->len && mark < 9 && ascii_is_digit(line->text[mark])) {
        mark++;
    }
    if (line->is_code || mark >= line->len) {
        return false;
    }
    bool is_mark = mark > 0 ? line->text[mark] == '.' || line->text[mark] == ')'
                            : strchr("-*+", line->text[0]) != NULL;
    mark++;
    if (!is_mark || mark >= line->len || (line->text[mark] != ' ' && line->text[mark] != '\t')) {
        return false;
    }
    const char *text = line->text + mark;
    size_t len = line->len - mark;
    while (len > 0 && ascii_is_space(*text)) {
        text++;
        len--;
    }
    ret_item->box = prd_take_box(&text, &len);
    ret_item->text = text;
    ret_item->len = len;
    return true;
}
