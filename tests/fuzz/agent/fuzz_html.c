// SPDX-License-Identifier: Apache-2.0
/* Web pages. Any bytes give text that is valid UTF-8 and within its limit. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/text/utf8.h"
#include "tool/builtin/html.h"

#include <stdlib.h>

static void check_text(const struct buf *text, size_t max)
{
    FUZZ_CHECK(text->len <= max);
    for (size_t at = 0; at < text->len;) {
        size_t len = utf8_sequence_len(text->data + at, text->len - at);
        FUZZ_CHECK(len > 0);
        at += len;
    }
}

static void check_limit(const char *html, size_t size, size_t max)
{
    struct buf text = {0};
    html_to_markdown(html, size, max, &text);
    check_text(&text, max);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *html = fuzz_bytes(data, size);
    check_limit(html, size, 100000);
    check_limit(html, size, 7);
    struct html_part tag;
    struct html_part content;
    for (size_t at = 0; at < size;) {
        size_t next = html_find_class(html, size, at, "a", &tag, &content);
        FUZZ_CHECK(next > at && next <= size);
        at = next;
    }
    free(html);
    return 0;
}
