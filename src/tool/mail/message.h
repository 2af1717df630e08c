// SPDX-License-Identifier: Apache-2.0
/*
 * What a mail says, as text: its headers decoded, its text (HTML as Markdown where there is no
 * other), the names of what is attached. Mails are hostile: characters that are not seen are left
 * out, parts and bytes are bounded, and what is nested deeper than a person would do is not read.
 * Any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stddef.h>

/**
 * Append a header of a mail, decoded, as one line without its end.
 * @param bytes the header of the mail, or all of it
 */
int message_write_headers(const char *bytes, size_t len, const char *const *names,
                          const char *const *labels, struct buf *ret_text, struct rondo_error *err);

/**
 * Append Subject, From, To, Cc, Date, an empty line, the text, and what is attached.
 * @param max_bytes of the text
 * @return RONDO_ERR_UNSUPPORTED without GMime; RONDO_ERR_INVALID for what is no mail
 */
int message_write(const char *bytes, size_t len, size_t max_bytes, struct buf *ret_text,
                  struct rondo_error *err);
