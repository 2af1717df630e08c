// SPDX-License-Identifier: Apache-2.0
/* Which coding agents are installed. Runs their programs with --version, one after the other. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/**
 * Find the program of a row in PATH, and ask it for its version for at most
 * LIMIT_CODING_VERSION_NS. It is killed with all that it started when it takes longer. Any thread.
 * @param i        place of the row, from 0
 * @param ret_text path and version, in one plain line, for people
 * @return whether it is installed
 */
bool coding_probe(size_t i, struct buf *ret_text);
