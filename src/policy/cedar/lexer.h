// SPDX-License-Identifier: Apache-2.0
/* Tokens of Cedar text (language reference, "Lexical"). */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stdint.h>

enum token_kind {
    TOKEN_END,
    TOKEN_IDENTIFIER, /**< also reserved words */
    TOKEN_INTEGER,
    TOKEN_STRING, /**< `begin` and `end` include the quotes */
    TOKEN_SLOT,   /**< ?principal, ?resource */
    TOKEN_PUNCTUATION,
    TOKEN_WRONG, /**< see lexer.message */
};

struct token {
    enum token_kind kind;
    uint16_t punctuation; /**< first byte, or with the second one << 8 for two-byte operators */
    uint32_t begin, end;
};

#define PUNCTUATION(a, b) ((uint16_t)((a) | (b) << 8))

struct lexer {
    const char *text;
    size_t len;
    size_t at;
    const char *message; /**< static; why a token is TOKEN_WRONG */
};

/** The next token. After TOKEN_END and TOKEN_WRONG the same again. */
struct token lexer_next(struct lexer *lexer);

/** Whether an identifier is reserved. */
bool lexer_is_reserved(const char *text, size_t len);

/** Length of an identifier at the start of the text; 0 when there is none. */
size_t lexer_identifier_len(const char *text, size_t len);

/**
 * The value of a string literal.
 * @param literal      between the quotes
 * @param ret_wildcard for a pattern: called for each wildcard, with what was collected so far in
 *                     `ret_text`; NULL for a plain string, where `\*` is an error
 * @param ret_offset   where an escape is wrong
 * @return NULL when all is well, else what is wrong (static)
 */
const char *lexer_unescape(const char *literal, size_t len,
                           void (*ret_wildcard)(struct buf *ret_text, void *context), void *context,
                           struct buf *ret_text, size_t *ret_offset);
