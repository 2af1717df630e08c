// SPDX-License-Identifier: Apache-2.0
/* Texts of policies in messages. Pure. */
#include "base/buf.h"
#include "policy/lint/lint_internal.h"

/** Bytes of a policy's own text in a message. */
#define SHOWN_BYTES 80

void lint_quote(const char *bytes, size_t len, struct buf *ret_text)
{
    size_t shown = len > SHOWN_BYTES ? SHOWN_BYTES : len;
    while (shown < len && shown > 0 && ((unsigned char)bytes[shown] & 0xc0) == 0x80) {
        shown--; /* never through the middle of a character */
    }
    buf_append_string(ret_text, "`");
    for (size_t i = 0; i < shown; i++) {
        bool is_control = (unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f;
        buf_append(ret_text, is_control ? "?" : &bytes[i], 1);
    }
    buf_append_string(ret_text, shown < len ? "...`" : "`");
}

void lint_write_actions(unsigned actions, struct buf *ret_text)
{
    const char *separator = "";
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        if ((actions & VOCABULARY_ACTION_BIT(i)) != 0) {
            buf_printf(ret_text, "%s`%s`", separator, vocabulary_action_name(i));
            separator = ", ";
        }
    }
}
