// SPDX-License-Identifier: Apache-2.0
/* Entities of Markdown ("&amp;", "&#8212;") as characters. Pure. */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/**
 * Append the character of an entity; U+FFFD for one that is none or controls
 * terminals; the entity itself when its name is not among those that people write.
 * @param entity with its ampersand and semicolon; need not be a string
 */
void markdown_entity(const char *entity, size_t len, struct buf *ret_buf);
