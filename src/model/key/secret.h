// SPDX-License-Identifier: Apache-2.0
/*
 * A key of a provider. It is a type of its own so that no format string prints it by accident, and
 * its bytes are zeroed before the memory is given back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

struct secret {
    char *bytes; /**< owned, NUL-terminated; NULL = none */
    size_t len;
};

/** Keep a copy of `prefix` and `text`, blanks around the latter not counted. Frees what was there.
 */
void secret_set(struct secret *secret, const char *prefix, const char *text);
/** Zero and release. A zeroed one is allowed. */
void secret_fini(struct secret *secret);

/** Zero a string and free it. NULL is allowed. */
void secret_free_string(char *text);
/** Zero all of a buffer's memory and release it. */
void secret_fini_buf(struct buf *buf);

/**
 * Append a text in which whatever looks like the secret, or like the beginning of it, is replaced
 * by "[key]": servers repeat the key they refuse.
 */
void secret_redact(const struct secret *secret, const char *text, struct buf *ret_text);
