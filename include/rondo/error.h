// SPDX-License-Identifier: Apache-2.0
/*
 * Error codes and the error record that every fallible Rondo function fills.
 *
 * A function returns 0 for success or one negative `enum rondo_code`. The details are in the
 * caller's own `struct rondo_error`, so there is no hidden "last error" and no thread rule beyond
 * "do not share one record between threads". Outcomes that a caller must expect (a condition that
 * is not met, a lease that another process holds) are values of their own, not errors.
 */
#pragma once

#include "rondo/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of an error message, the terminating NUL included. Longer texts are cut. */
#define RONDO_ERROR_MESSAGE_SIZE 512

enum rondo_code {
    RONDO_OK = 0,
    RONDO_ERR_INVALID = -1,    /**< an argument, option or input file is wrong */
    RONDO_ERR_NOT_FOUND = -2,  /**< no such run, checkpoint, file or program */
    RONDO_ERR_BUSY = -3,       /**< another process holds the run, agent or store */
    RONDO_ERR_IO = -4,         /**< the store or a file could not be read or written */
    RONDO_ERR_FULL = -5,       /**< no space left on the device, or a quota is used up */
    RONDO_ERR_CORRUPT = -6,    /**< stored data fails its digest or its format */
    RONDO_ERR_FENCED = -7,     /**< the run was taken over: this owner may not write any more */
    RONDO_ERR_LIMIT = -8,      /**< an input is larger than a named limit */
    RONDO_ERR_TIMEOUT = -9,    /**< a deadline passed */
    RONDO_ERR_CANCELLED = -10, /**< the caller asked to stop */
    RONDO_ERR_UNSUPPORTED =
        -11, /**< this machine or build cannot do it (a sandbox tier, for instance) */
    RONDO_ERR_VERSION = -12, /**< a format is newer than this library understands */
    RONDO_ERR_SYSTEM = -13,  /**< an operating-system call failed for another reason */
    RONDO_ERR_STATE = -14,   /**< the call does not fit the state of the object */
    RONDO_ERR_DENIED = -15,  /**< policies deny it */
};

/** What went wrong. `message` says what happened and, where it can, what to do. */
struct rondo_error {
    int code;     /**< one of enum rondo_code */
    int os_errno; /**< errno of the failing system call, or 0 */
    char message[RONDO_ERROR_MESSAGE_SIZE];
};

/**
 * Name of a code as the documentation has it ("RONDO_ERR_BUSY").
 * @param code any value; unknown ones give "RONDO_ERR_UNKNOWN"
 * @return a static string; any thread
 */
RONDO_API const char *rondo_code_name(int code);

#ifdef __cplusplus
}
#endif
