// SPDX-License-Identifier: Apache-2.0
/* Completion scripts for shells, written from the tables of commands and options. Pure. */
#pragma once

#include "base/buf.h"

/** A shell that there is a script for. */
struct completion {
    const char *shell; /**< NULL ends the list */
    void (*write)(struct buf *ret_script);
};

extern const struct completion completions[];

/** Append the names of the shells, with something between them. */
void completion_shells(const char *separator, struct buf *ret_buf);

/** Append the script of one shell. */
void completion_bash(struct buf *ret_script);
void completion_zsh(struct buf *ret_script);
void completion_fish(struct buf *ret_script);
