// SPDX-License-Identifier: Apache-2.0
/* Filling struct rondo_error, and adding context to it on the way up. */
#pragma once

#include "rondo/error.h"

/**
 * Record an error.
 * @param err  record to fill; NULL is allowed and only returns the code
 * @param code negative enum rondo_code
 * @return code, so that callers can write `return error_set(...)`
 */
int error_set(struct rondo_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Record a failed system call: the text is followed by ": " and the description of `os_errno`.
 * ENOSPC, EDQUOT and EFBIG become RONDO_ERR_FULL, ENOENT RONDO_ERR_NOT_FOUND, EIO RONDO_ERR_IO; any
 * other number becomes `code`.
 * @return the code that was recorded
 */
int error_set_errno(struct rondo_error *err, int code, int os_errno, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Put context in front of a message ("while opening the store: ..."). Keeps code and errno. */
void error_prefix(struct rondo_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
