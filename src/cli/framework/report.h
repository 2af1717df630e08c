// SPDX-License-Identifier: Apache-2.0
/* Telling people and programs what went wrong, always on stderr and in one form. */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>

/** "rondo: MESSAGE". @return the exit code for the error */
int report_error(const struct rondo_error *err);

/** report_error, and with --json on stdout too. */
int report_error_as(const struct rondo_error *err, bool wants_json);

/** The same from a format, with an exit code of the caller's. @return `exit_code` */
int report_failure(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** "rondo: warning: TEXT". */
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * Exit code of a command, with what became of its output: what a full disk has swallowed is no
 * success. A reader that has closed its pipe has what it needed.
 */
int report_exit_code(int exit_code);

/** Write a buffer to stdout and flush it; a closed pipe is not an error of ours. */
struct buf;
void report_output(const struct buf *text);

/** Warn when a workspace is the home folder or above it, so that an agent sees it. */
void report_shown_home(const char *workspace);
