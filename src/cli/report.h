// SPDX-License-Identifier: Apache-2.0
/* Telling people and programs what went wrong, always on stderr and in one form. */
#pragma once

#include "cli/session.h"
#include "rondo/error.h"

/** "rondo: MESSAGE". @return the exit code for the error */
int report_error(const struct rondo_error *err);

/** The same from a format, with an exit code of the caller's. @return `exit_code` */
int report_failure(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** "rondo: warning: TEXT". */
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Somebody else executes a run: who, and what to do. @return EXIT_HELD */
int report_held(const struct session *session, const struct store_run *holder);

/** With --json, failures also go to stdout as {"type":"error",...}. */
void report_error_json(const struct rondo_error *err, int exit_code);

/** Write a buffer to stdout and flush it; a closed pipe is not an error of ours. */
struct buf;
void report_output(const struct buf *text);
