// SPDX-License-Identifier: Apache-2.0
/*
 * The text of PDF files, by the program pdftotext of poppler. It parses what anybody may have
 * written, so it runs in the sandbox of the role's commands, without the network and without any of
 * the user's files: the document is its input, the text its output.
 */
#pragma once

#include "tool/toolbox.h"

/** Time for one file, seconds. */
#define PDF_SECONDS 30

/**
 * @param call   whose deadline and cancel token end it
 * @param most   bytes of the text; more is cut
 * @return whether there is a text; not when the program is missing or fails
 */
bool pdf_text(const struct tool_surroundings *around, const struct tool_call *call,
              const struct buf *document, size_t most, struct buf *ret_text);
