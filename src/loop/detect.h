// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the command of a standard exit condition from the files of a project: one table,
 * first row that fits wins. What was chosen is shown to the user and recorded with the run.
 */
#pragma once

#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>

/** A command that was found. Both texts are static. */
struct detect_result {
    const char *command; /**< for `sh -c` */
    const char *origin;  /**< what it was concluded from ("Makefile: target test") */
};

/** Whether `name` is a standard condition: all_tests_pass, build_succeeds, linting_clean,
 *  security_scan_clean. */
bool detect_is_standard(const char *name);

/**
 * Find the command for a standard condition.
 * @param workspace folder of the project
 * @return 0; RONDO_ERR_NOT_FOUND with a message that says what was looked for and how to give a
 *         command instead; RONDO_ERR_INVALID when the name is not a standard one
 */
int detect_command(const char *workspace, const char *name, struct detect_result *ret_result,
                   struct rondo_error *err);

/** Append the table in Markdown, for docs/conditions.md. */
struct buf;
void detect_describe(struct buf *ret_buf);
