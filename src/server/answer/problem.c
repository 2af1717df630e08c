// SPDX-License-Identifier: Apache-2.0
/* The table of problems. */
#include "server/answer/problem.h"

#include "base/json/json.h"

static const struct {
    const char *name;
    unsigned status;
    const char *title;
    const char *meaning;
} rows[PROBLEM_CODE_COUNT] = {
    [PROBLEM_MALFORMED] = {"malformed", 400, "The request cannot be read",
                           "A parameter or the body has a wrong type or is unknown."},
    [PROBLEM_INVALID] = {"invalid", 422, "The request is invalid",
                         "The body can be read, but its content is invalid."},
    [PROBLEM_UNAUTHORIZED] = {"unauthorized", 401, "A token is required",
                              "There is no token, or it is unknown, expired or revoked."},
    [PROBLEM_FORBIDDEN] = {"forbidden", 403, "The token does not allow this",
                           "The scope of the token is too small, or it is limited to agents."},
    [PROBLEM_BAD_ORIGIN] = {"bad_origin", 403, "Another site sent this request",
                            "A browser sent the request for a page of another origin."},
    [PROBLEM_NOT_FOUND] =
        {"not_found", 404, "Not found",
         "The path, run, checkpoint or name does not exist, or the token has no access to it."},
    [PROBLEM_METHOD_NOT_ALLOWED] = {"method_not_allowed", 405, "Method not allowed",
                                    "The header Allow lists the methods of this path."},
    [PROBLEM_REQUEST_TIMEOUT] = {"request_timeout", 408, "The request took too long to arrive",
                                 "The request did not arrive completely in time."},
    [PROBLEM_CONFLICT] = {"conflict", 409, "Conflict with the current state",
                          "The state of the run or the policies does not allow it, or the same "
                          "request is being processed."},
    [PROBLEM_GONE] = {"gone", 410, "No longer available", "It existed and was deleted."},
    [PROBLEM_TOO_LARGE] = {"too_large", 413, "The body is too large",
                           "The body has more bytes than are accepted."},
    [PROBLEM_PATH_TOO_LONG] = {"path_too_long", 414, "The path is too long",
                               "The path with its query has more bytes than are accepted."},
    [PROBLEM_UNSUPPORTED_MEDIA_TYPE] = {"unsupported_media_type", 415, "The body is not JSON",
                                        "A body requires `Content-Type: application/json`."},
    [PROBLEM_BAD_HOST] = {"bad_host", 421, "Unknown host name",
                          "The header Host names neither this server nor a name given by --host."},
    [PROBLEM_IDEMPOTENCY_MISMATCH] = {"idempotency_mismatch", 422,
                                      "The idempotency key belongs to another request",
                                      "The key was used within 24 hours with another request."},
    [PROBLEM_RATE_LIMITED] = {"rate_limited", 429, "Too many requests",
                              "Wait for the time in the header Retry-After."},
    [PROBLEM_ADMISSION_FULL] =
        {"admission_full", 429, "No capacity for another run",
         "The server executes its maximum number of runs and the queue is full."},
    [PROBLEM_HEADERS_TOO_LARGE] = {"headers_too_large", 431, "The headers are too large",
                                   "The headers have more bytes than are accepted."},
    [PROBLEM_INTERNAL] = {"internal", 500, "Internal error",
                          "An internal error; see the log of the server."},
    [PROBLEM_NOT_IMPLEMENTED] = {"not_implemented", 501, "Not implemented",
                                 "The method or the transfer encoding is not supported."},
    [PROBLEM_DRAINING] = {"draining", 503, "The server is shutting down",
                          "It accepts no more work; try another server."},
    [PROBLEM_STORE_FAILED] = {"store_failed", 503, "The store is not available",
                              "The disk is full or fails, or the store was damaged or deleted. "
                              "The detail says what to do."},
    [PROBLEM_OVERLOADED] = {"overloaded", 503, "Too many connections",
                            "The maximum number of connections is open."},
    [PROBLEM_BAD_VERSION] = {"bad_version", 505, "Unknown version of HTTP",
                             "The server speaks HTTP/1.1 and HTTP/1.0."},
};

const char *problem_name(enum problem_code code)
{
    return rows[code].name;
}

unsigned problem_status(enum problem_code code)
{
    return rows[code].status;
}

const char *problem_meaning(enum problem_code code)
{
    return rows[code].meaning;
}

void problem_write(enum problem_code code, const char *detail, const char *instance,
                   const char *errors, struct buf *ret_json)
{
    problem_write_error(code, detail, instance, errors, NULL, ret_json);
}

void problem_write_error(enum problem_code code, const char *detail, const char *instance,
                         const char *errors, const struct problem_error *error,
                         struct buf *ret_json)
{
    auto_buf struct buf type = {0};
    buf_printf(&type, "urn:rondo:problem:%s", rows[code].name);
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "type", buf_string(&type));
    json_write_string(&writer, "title", rows[code].title);
    json_write_int(&writer, "status", rows[code].status);
    json_write_string(&writer, "detail", detail);
    json_write_string(&writer, "code", rows[code].name);
    if (instance != NULL) {
        json_write_string(&writer, "instance", instance);
    }
    if (errors != NULL) {
        json_write_raw(&writer, "errors", errors);
    }
    if (error != NULL) {
        json_begin_object(&writer, "error");
        json_write_string(&writer, "code", error->code);
        json_write_string(&writer, "message", detail);
        json_write_bool(&writer, "retryable", error->is_retryable);
        json_end_object(&writer);
    }
    json_end_object(&writer);
}

enum problem_code problem_of_error(const struct rondo_error *err)
{
    switch ((enum rondo_code)err->code) {
    case RONDO_ERR_INVALID:
    case RONDO_ERR_UNSUPPORTED:
    case RONDO_ERR_LIMIT:
        return PROBLEM_INVALID;
    case RONDO_ERR_NOT_FOUND:
        return PROBLEM_NOT_FOUND;
    case RONDO_ERR_BUSY:
    case RONDO_ERR_STATE:
    case RONDO_ERR_FENCED:
        return PROBLEM_CONFLICT;
    case RONDO_ERR_DENIED:
        return PROBLEM_FORBIDDEN;
    case RONDO_ERR_IO:
    case RONDO_ERR_FULL:
    case RONDO_ERR_TIMEOUT:
    case RONDO_ERR_CORRUPT:
        return PROBLEM_STORE_FAILED;
    case RONDO_OK:
    case RONDO_ERR_CANCELLED:
    case RONDO_ERR_VERSION:
    case RONDO_ERR_SYSTEM:
        break;
    }
    return PROBLEM_INTERNAL;
}

void problem_of_status(unsigned status, struct buf *ret_json)
{
    enum problem_code code = PROBLEM_INTERNAL;
    for (unsigned i = 0; i < PROBLEM_CODE_COUNT; i++) {
        if (rows[i].status == status) {
            code = (enum problem_code)i;
        }
    }
    problem_write(code, rows[code].meaning, NULL, NULL, ret_json);
}
