// SPDX-License-Identifier: Apache-2.0
/* Reference pages written from the tables: man pages (roff) and Markdown. Pure. */
#pragma once

#include "cli/framework/command.h"

/** Append the man page of a command, rondo-policy-check(1), or rondo(1) for NULL. */
void manual_page(const struct command *command, struct buf *ret_buf);

/** Append the options of all commands in Markdown, for docs/options.md. */
void manual_options(struct buf *ret_buf);
