// SPDX-License-Identifier: Apache-2.0
/*
 * Text of agents and strangers for the Markdown of forges: it makes no mentions, references,
 * closing words, HTML or commands (issues/text.h). Pure; any thread.
 */
#pragma once

#include "base/buf.h"

/** Append one line as plain text, for titles. At most `most` bytes. */
void quote_title(const char *text, size_t most, struct buf *ret_text);

/** Append one line for Markdown, also for a cell of a table. At most `most` bytes are shown. */
void quote_line(const char *text, size_t most, struct buf *ret_text);

/** Append paragraphs as a block quote of Markdown. At most `most` bytes are shown. */
void quote_block(const char *text, size_t most, struct buf *ret_text);

/** Append a code block with the end of an output, at most `most` bytes of it. Its fence is longer
 *  than any in the output. */
void quote_output(const char *text, size_t most, struct buf *ret_text);
