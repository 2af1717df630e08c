// SPDX-License-Identifier: Apache-2.0
/*
 * Markdown that a model may write: whatever it is, lines fit, are UTF-8, hold no control character
 * but our own colour sequences, and their length is bounded by that of the source. The first two
 * bytes choose the style and the width.
 */
#include "fuzz.h"

#include "base/text/utf8.h"
#include "cli/terminal/markdown.h"
#include "cli/terminal/text.h"

#include <locale.h>
#include <string.h>

/** Length of one of our colour sequences: ESC [ digits and semicolons m; 0 = it is none. */
static size_t colour_len(const char *text, size_t len)
{
    size_t at = 2;
    if (len < 3 || text[0] != '\033' || text[1] != '[') {
        return 0;
    }
    while (at < len && ((text[at] >= '0' && text[at] <= '9') || text[at] == ';')) {
        at++;
    }
    return at > 2 && at < 12 && at < len && text[at] == 'm' ? at + 1 : 0;
}

static void check_bytes(const struct buf *out, const struct style *style)
{
    for (size_t at = 0; at < out->len;) {
        unsigned char c = (unsigned char)out->data[at];
        size_t colour = colour_len(out->data + at, out->len - at);
        FUZZ_CHECK(colour == 0 || style->has_colour);
        if (colour > 0) {
            at += colour;
            continue;
        }
        size_t sequence = utf8_sequence_len(out->data + at, out->len - at);
        FUZZ_CHECK(sequence > 0);
        FUZZ_CHECK(c >= 0x20 || c == '\n' || (c == '\t' && !style->is_terminal));
        FUZZ_CHECK(c != 0x7f);
        FUZZ_CHECK(c != 0xc2 || (unsigned char)out->data[at + 1] >= 0xa0);
        at += sequence;
    }
}

static void check_lines(struct buf *out, size_t columns)
{
    char *rest = NULL;
    for (char *line = strtok_r(out->data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        FUZZ_CHECK(text_width(line) <= columns);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    setlocale(LC_CTYPE, "C.UTF-8");
    struct style style = {
        .is_terminal = (data[0] & 3) != 3,
        .has_colour = (data[0] & 3) == 1,
        .is_unicode = (data[0] & 4) != 0,
    };
    size_t columns = MARKDOWN_COLUMNS_MIN + data[1] % 120;
    char *text = fuzz_bytes(data + 2, size - 2);
    auto_buf struct buf out = {0};
    markdown_render(text, size - 2, &style, columns, &out);
    FUZZ_CHECK(out.len <= 3 * 200 * (size + 1) + 65536);
    FUZZ_CHECK(out.len == 0 || out.data[out.len - 1] == '\n');
    check_bytes(&out, &style);
    if (style.is_terminal && out.len > 0) {
        check_lines(&out, columns);
    }
    free(text);
    return 0;
}
