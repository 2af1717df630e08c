// SPDX-License-Identifier: Apache-2.0
/* Error records. Pure functions over the caller's memory; any thread. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    const char *name;
} code_names[] = {
    {RONDO_OK, "RONDO_OK"},
    {RONDO_ERR_INVALID, "RONDO_ERR_INVALID"},
    {RONDO_ERR_NOT_FOUND, "RONDO_ERR_NOT_FOUND"},
    {RONDO_ERR_BUSY, "RONDO_ERR_BUSY"},
    {RONDO_ERR_IO, "RONDO_ERR_IO"},
    {RONDO_ERR_FULL, "RONDO_ERR_FULL"},
    {RONDO_ERR_CORRUPT, "RONDO_ERR_CORRUPT"},
    {RONDO_ERR_FENCED, "RONDO_ERR_FENCED"},
    {RONDO_ERR_LIMIT, "RONDO_ERR_LIMIT"},
    {RONDO_ERR_TIMEOUT, "RONDO_ERR_TIMEOUT"},
    {RONDO_ERR_CANCELLED, "RONDO_ERR_CANCELLED"},
    {RONDO_ERR_UNSUPPORTED, "RONDO_ERR_UNSUPPORTED"},
    {RONDO_ERR_VERSION, "RONDO_ERR_VERSION"},
    {RONDO_ERR_SYSTEM, "RONDO_ERR_SYSTEM"},
    {RONDO_ERR_STATE, "RONDO_ERR_STATE"},
    {RONDO_ERR_DENIED, "RONDO_ERR_DENIED"},
};

const char *rondo_code_name(int code)
{
    for (size_t i = 0; i < sizeof(code_names) / sizeof(code_names[0]); i++) {
        if (code_names[i].code == code) {
            return code_names[i].name;
        }
    }
    return "RONDO_ERR_UNKNOWN";
}

static int code_of_errno(int os_errno, int otherwise)
{
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return RONDO_ERR_FULL;
    case ENOENT:
        return RONDO_ERR_NOT_FOUND;
    case EIO:
        return RONDO_ERR_IO;
    default:
        return otherwise;
    }
}

int error_set(struct rondo_error *err, int code, const char *format, ...)
{
    if (err == NULL) {
        return code;
    }
    err->code = code;
    err->os_errno = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof(err->message), format, arguments);
    va_end(arguments);
    return code;
}

int error_set_errno(struct rondo_error *err, int code, int os_errno, const char *format, ...)
{
    code = code_of_errno(os_errno, code);
    if (err == NULL) {
        return code;
    }
    err->code = code;
    err->os_errno = os_errno;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof(err->message), format, arguments);
    va_end(arguments);
    char reason_buf[128];
    const char *reason = os_errno == EFBIG ? "the limit of file sizes is reached (ulimit -f)"
                                           : strerror_r(os_errno, reason_buf, sizeof(reason_buf));
    size_t len = strlen(err->message);
    snprintf(err->message + len, sizeof(err->message) - len, ": %s", reason);
    return code;
}

void error_prefix(struct rondo_error *err, const char *format, ...)
{
    if (err == NULL) {
        return;
    }
    char inner[RONDO_ERROR_MESSAGE_SIZE];
    memcpy(inner, err->message, sizeof(inner));
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof(err->message), format, arguments);
    va_end(arguments);
    size_t len = strlen(err->message);
    snprintf(err->message + len, sizeof(err->message) - len, ": %s", inner);
}
