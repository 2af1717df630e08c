// SPDX-License-Identifier: Apache-2.0
/* Findings of policies as a compiler shows them. */
#include "cli/commands/policy/findings.h"

#include "cli/terminal/text.h"

#include <string.h>

/** Longer lines are not shown: the caret would be far away. */
#define SHOWN_COLUMNS 160

/** @return the line without its end; NULL when the text has no such line */
static const char *find_line(const struct buf *text, unsigned line, size_t *ret_len)
{
    const char *at = buf_string(text);
    const char *end = at + text->len;
    for (unsigned i = 1; i < line && at != NULL; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL || at == end) {
        return NULL;
    }
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *ret_len = (size_t)((stop == NULL ? end : stop) - at);
    return at;
}

/** Bytes of the first `count` characters. */
static size_t skip_characters(const char *line, size_t len, size_t count)
{
    size_t at = 0;
    for (; at < len; at++) {
        bool is_start = ((unsigned char)line[at] & 0xc0) != 0x80;
        if (is_start && count-- == 0) {
            break;
        }
    }
    return at;
}

static void show_line(const struct policy_finding *finding, const struct buf *text,
                      const struct style *style, struct buf *out)
{
    size_t len = 0;
    const char *line = finding->line == 0 ? NULL : find_line(text, finding->line, &len);
    if (line == NULL) {
        return;
    }
    auto_buf struct buf clean = {0};
    auto_buf struct buf before = {0};
    text_clean(line, len, &clean);
    text_clean(line, skip_characters(line, len, finding->column - 1), &before);
    if (text_width(buf_string(&clean)) > SHOWN_COLUMNS) {
        return;
    }
    buf_printf(out, "    %s\n    %*s", buf_string(&clean), (int)text_width(buf_string(&before)),
               "");
    style_append(style, COLOUR_GREEN, "^", out);
    buf_append_string(out, "\n");
}

static void show(const struct policy_finding *finding, const struct style *style, struct buf *out)
{
    style_append(style, COLOUR_BOLD, finding->file, out);
    if (finding->line > 0) {
        buf_printf(out, ":%u:%u", finding->line, finding->column);
    }
    buf_append_string(out, ": ");
    style_append(style, finding->is_error ? COLOUR_RED : COLOUR_YELLOW,
                 finding->is_error ? "error:" : "warning:", out);
    buf_append_string(out, " ");
    text_clean(finding->message, strlen(finding->message), out);
    buf_append_string(out, "\n");
}

void policy_findings_text(const struct policy_findings *findings, const struct style *style,
                          policy_text_fn *text, void *context, struct buf *ret_buf)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct policy_finding *finding = &findings->items[i];
        auto_buf struct buf source = {0};
        show(finding, style, ret_buf);
        if (finding->is_error) {
            text(finding->file, context, &source);
            show_line(finding, &source, style, ret_buf);
        }
    }
}
