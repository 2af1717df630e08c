// SPDX-License-Identifier: Apache-2.0
/*
 * Problem details (RFC 9457): the answer to a request that fails. One
 * table of codes gives status, title and the reference. Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "rondo/error.h"

#include <stdbool.h>

enum problem_code {
    PROBLEM_MALFORMED = 0,
    PROBLEM_INVALID,
    PROBLEM_UNAUTHORIZED,
    PROBLEM_FORBIDDEN,
    PROBLEM_BAD_ORIGIN,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_REQUEST_TIMEOUT,
    PROBLEM_CONFLICT,
    PROBLEM_GONE,
    PROBLEM_TOO_LARGE,
    PROBLEM_PATH_TOO_LONG,
    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    PROBLEM_BAD_HOST,
    PROBLEM_IDEMPOTENCY_MISMATCH,
    PROBLEM_RATE_LIMITED,
    PROBLEM_ADMISSION_FULL,
    PROBLEM_HEADERS_TOO_LARGE,
    PROBLEM_INTERNAL,
    PROBLEM_NOT_IMPLEMENTED,
    PROBLEM_DRAINING,
    PROBLEM_STORE_FAILED,
    PROBLEM_OVERLOADED,
    PROBLEM_BAD_VERSION,
    PROBLEM_CODE_COUNT
};

#define PROBLEM_CONTENT_TYPE "application/problem+json"

/** For callers without a token: the reason has the path of the store in it. */
#define PROBLEM_STORE_FAILED_DETAIL "the store fails; the messages of the server say why"

/** "not_found", ... Static, as the next ones. */
const char *problem_name(enum problem_code code);
unsigned problem_status(enum problem_code code);
/** One sentence on when it comes. */
const char *problem_meaning(enum problem_code code);

/**
 * Append the object.
 * @param detail   what happened here, for people; may hold any text
 * @param instance path of the request, or NULL
 * @param errors   JSON array of {path, message}, or NULL
 */
void problem_write(enum problem_code code, const char *detail, const char *instance,
                   const char *errors, struct buf *ret_json);

/** What agents read beside a problem: a stable code, and whether the same request may work later.
 */
struct problem_error {
    const char *code;
    bool is_retryable;
};

/** The same with a member `error`. @param error NULL = none */
void problem_write_error(enum problem_code code, const char *detail, const char *instance,
                         const char *errors, const struct problem_error *error,
                         struct buf *ret_json);

/** The code that fits an error of the layers below. */
enum problem_code problem_of_error(const struct rondo_error *err);

/** What the HTTP server says to what never became a request. */
void problem_of_status(unsigned status, struct buf *ret_json);
