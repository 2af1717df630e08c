// SPDX-License-Identifier: Apache-2.0
/* Exit codes of the rondo command: one table, which the code and the documentation share. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/** Codes beside those of final statuses (rondo_status_exit_code). */
enum exit_code {
    EXIT_OK = 0,
    EXIT_OTHER = 1,     /**< the run ended with `error`, or something failed without a code */
    EXIT_USAGE = 2,     /**< wrong options, words or input; nothing was changed */
    EXIT_HELD = 9,      /**< another process executes the run */
    EXIT_STORE = 10,    /**< the store cannot be read or written, or is corrupt */
    EXIT_WAITING = 11,  /**< the run waits for the decision of a person */
    EXIT_ABORTED = 130, /**< stopped by a signal */
};

/** One documented exit code. */
struct exit_code_row {
    int code;
    const char *name;    /**< status or short name */
    const char *meaning; /**< for people */
};

/** Row `index` of the table, sorted by code. @return false past the last one */
bool exit_code_row(size_t index, struct exit_code_row *ret_row);

/** Exit code for an error: a negative enum rondo_code. */
int exit_code_of_error(int code);

/** Append the table in Markdown, for docs/exit-codes.md. */
void exit_codes_describe(struct buf *ret_buf);
