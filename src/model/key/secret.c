// SPDX-License-Identifier: Apache-2.0
/* Keys: kept apart, zeroed, and taken out of what others say. Any thread. */
#include "model/key/secret.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/** A word that begins like the key for this many bytes is taken for a shortened key. */
#define SHARED_BEGIN 6
/** The same for a word with stars in it ("sk-a****"). */
#define SHARED_BEGIN_MASKED 3

void secret_set(struct secret *secret, const char *prefix, const char *text)
{
    while (ascii_is_space(*text)) {
        text++;
    }
    size_t len = strlen(text);
    while (len > 0 && ascii_is_space(text[len - 1])) {
        len--;
    }
    size_t prefix_len = strlen(prefix);
    char *bytes = memory_new(prefix_len + len + 1);
    memcpy(bytes, prefix, prefix_len);
    memcpy(bytes + prefix_len, text, len);
    bytes[prefix_len + len] = '\0';
    secret_fini(secret);
    *secret = (struct secret){bytes, prefix_len + len};
}

void secret_fini(struct secret *secret)
{
    if (secret->bytes != NULL) {
        explicit_bzero(secret->bytes, secret->len);
        free(secret->bytes);
    }
    *secret = (struct secret){0};
}

void secret_free_string(char *text)
{
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

void secret_fini_buf(struct buf *buf)
{
    if (buf->data != NULL) {
        explicit_bzero(buf->data, buf->size);
    }
    buf_fini(buf);
}

/** Length of the word at `text`: what may occur in a key, or hide a part of it. */
static size_t word_len(const char *text)
{
    size_t len = 0;
    while (ascii_is_letter_or_digit(text[len]) ||
           (text[len] != '\0' && strchr("-_*.+/=~", text[len]) != NULL)) {
        len++;
    }
    return len;
}

static bool is_like(const struct secret *secret, const char *word, size_t len)
{
    size_t same = 0;
    while (same < len && same < secret->len && word[same] == secret->bytes[same]) {
        same++;
    }
    bool is_masked = memchr(word, '*', len) != NULL || memmem(word, len, "...", 3) != NULL;
    return same >= (is_masked ? SHARED_BEGIN_MASKED : SHARED_BEGIN);
}

void secret_redact(const struct secret *secret, const char *text, struct buf *ret_text)
{
    while (*text != '\0') {
        size_t len = word_len(text);
        if (secret->len > 0 && strncmp(text, secret->bytes, secret->len) == 0) {
            buf_append_string(ret_text, "[key]");
            text += secret->len;
        } else if (len == 0) {
            buf_append(ret_text, text++, 1);
        } else if (is_like(secret, text, len)) {
            buf_append_string(ret_text, "[key]");
            text += len;
        } else {
            const char *inside =
                secret->len == 0 ? NULL : memmem(text, len, secret->bytes, secret->len);
            size_t step = inside == NULL ? len : (size_t)(inside - text);
            buf_append(ret_text, text, step);
            text += step;
        }
    }
}
