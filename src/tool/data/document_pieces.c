// SPDX-License-Identifier: Apache-2.0
#include "tool/data/document_pieces.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/** What is cut, and who gets the pieces. */
struct cutter {
    const struct document_chunking *chunking;
    document_piece_fn *fn;
    void *context;
};

static void give_piece(const struct cutter *cutter, const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)text[0])) {
        text++;
        len--;
    }
    while (len > 0 && isspace((unsigned char)text[len - 1])) {
        len--;
    }
    if (len > 0) {
        cutter->fn(cutter->context, text, len);
    }
}

/** Where the character at or before a place begins. */
static size_t character_at(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80) {
        at--;
    }
    return at;
}

/** Pieces of one size, each with the end of the one before. */
static void cut_fixed(const struct cutter *cutter, const char *text, size_t len)
{
    const struct document_chunking *chunking = cutter->chunking;
    for (size_t from = 0; from < len;) {
        size_t end = len - from > chunking->size ? character_at(text, from + chunking->size) : len;
        end = end > from ? end : len; /* A size that no character fits in. */
        give_piece(cutter, text + from, end - from);
        size_t next = end == len ? len : character_at(text, end - chunking->overlap);
        from = next > from ? next : end;
    }
}

/** Whole paragraphs, as many as fit; one that is too long is cut like a text without any. */
static void cut_paragraphs(const struct cutter *cutter, const char *text, size_t len)
{
    size_t from = 0;
    size_t end = 0;
    while (end < len) {
        const char *blank = memmem(text + end, len - end, "\n\n", 2);
        size_t next = blank == NULL ? len : (size_t)(blank - text) + 2;
        if (next - from > cutter->chunking->size && end > from) {
            give_piece(cutter, text + from, end - from);
            from = end;
        }
        if (next - from > cutter->chunking->size) {
            cut_fixed(cutter, text + from, next - from);
            from = next;
        }
        end = next;
    }
    give_piece(cutter, text + from, len - from);
}

void document_pieces(const struct document_chunking *chunking, const char *text, size_t len,
                     document_piece_fn *fn, void *context)
{
    const struct cutter cutter = {chunking, fn, context};
    if (chunking->is_by_paragraph) {
        cut_paragraphs(&cutter, text, len);
    } else {
        cut_fixed(&cutter, text, len);
    }
}

void document_piece_write(const char *text, struct buf *ret_text)
{
    static const char head[] = "[Source:";
    while (*text != '\0') {
        size_t blanks = strspn(text, " \t\r\v\f");
        size_t len = strcspn(text, "\n");
        len += text[len] == '\n';
        if (strncasecmp(text + blanks, head, sizeof(head) - 1) == 0) {
            buf_append_string(ret_text, "> ");
        }
        buf_append(ret_text, text, len);
        text += len;
    }
}
