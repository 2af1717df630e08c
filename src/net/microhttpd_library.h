// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd, loaded when it is needed: linking it would load GnuTLS and its companions into
 * every process, also of commands that serve nothing. Nothing but this file may name a function of
 * libmicrohttpd.
 */
#pragma once

#include "rondo/error.h"

#include <microhttpd.h>

/* Each is a member of struct microhttpd_library without its "MHD_". */
#define MICROHTTPD_LIBRARY_FUNCTIONS(X) \
    X(add_connection)                   \
    X(add_response_header)              \
    X(create_response_from_buffer)      \
    X(create_response_from_callback)    \
    X(destroy_response)                 \
    X(get_connection_info)              \
    X(get_connection_values_n)          \
    X(get_reason_phrase_for)            \
    X(queue_response)                   \
    X(resume_connection)                \
    X(start_daemon)                     \
    X(stop_daemon)                      \
    X(suspend_connection)

struct microhttpd_library {
#define MICROHTTPD_LIBRARY_MEMBER(name) __typeof__(MHD_##name) *(name);
    MICROHTTPD_LIBRARY_FUNCTIONS(MICROHTTPD_LIBRARY_MEMBER)
#undef MICROHTTPD_LIBRARY_MEMBER
};

/**
 * Load the library. Takes milliseconds; it stays in the process. Any thread.
 * @return 0, or RONDO_ERR_UNSUPPORTED when this machine does not have it
 */
int microhttpd_library_open(struct microhttpd_library *ret_library, struct rondo_error *err);
