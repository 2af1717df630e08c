// SPDX-License-Identifier: Apache-2.0
/* Results of tools: failing, cutting, mending. Pure. */
#include "tool/tool.h"

#include "base/auto.h"
#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Ends a text that was cut, and is counted in. */
static const char cut_mark[] = "\n[truncated]";

void tool_result_fini(struct tool_result *result)
{
    buf_fini(&result->text);
    *result = (struct tool_result){0};
}

void tool_fail(struct tool_result *result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    auto_free char *owned = len < 0 ? NULL : text;
    buf_clear(&result->text);
    buf_append_string(&result->text, owned == NULL ? "Error: out of memory" : owned);
    result->is_error = true;
}

/** Where the character that holds the byte at `offset` begins. */
static size_t character_start(const struct buf *text, size_t offset)
{
    size_t start = offset;
    while (start > 0 && offset - start < 3 && ((unsigned char)text->data[start] & 0xC0) == 0x80) {
        start--;
    }
    return start;
}

void tool_result_truncate(struct tool_result *result, size_t max)
{
    if (result->text.len <= max) {
        return;
    }
    size_t mark_len = sizeof(cut_mark) - 1;
    size_t keep = max > mark_len ? character_start(&result->text, max - mark_len) : 0;
    result->text.len = keep;
    buf_append(&result->text, cut_mark, mark_len < max ? mark_len : max);
    result->is_truncated = true;
}

/** Length of the well-formed character at `text`, 0 for a byte that cannot occur in a result. */
static size_t character_len(const char *text, size_t len)
{
    return *text == '\0' ? 0 : utf8_sequence_len(text, len);
}

void tool_result_make_text(struct tool_result *result)
{
    struct buf *text = &result->text;
    size_t good = 0;
    size_t step = 1;
    while (good < text->len && (step = character_len(text->data + good, text->len - good)) > 0) {
        good += step;
    }
    if (good == text->len) {
        return;
    }
    struct buf mended = {0};
    buf_append(&mended, text->data, good);
    for (size_t i = good; i < text->len; i += step) {
        step = character_len(text->data + i, text->len - i);
        if (step > 0) {
            buf_append(&mended, text->data + i, step);
        } else {
            buf_append_string(&mended, "\xEF\xBF\xBD");
            step = 1;
        }
    }
    buf_fini(text);
    *text = mended;
}
