// SPDX-License-Identifier: Apache-2.0
/*
 * libcurl, loaded when it is needed. Linking it would load three dozen libraries (LDAP, Kerberos,
 * SSH, ...) into every process and cost 4 ms at each start, also of commands that use no network.
 * Nothing but this file may name a function of libcurl.
 */
#pragma once

#include "rondo/error.h"

#include <curl/curl.h>

/* Each is a member of struct curl_library without its "curl_". */
#define CURL_LIBRARY_FUNCTIONS(X) \
    X(easy_cleanup)               \
    X(easy_getinfo)               \
    X(easy_init)                  \
    X(easy_pause)                 \
    X(easy_perform)               \
    X(easy_recv)                  \
    X(easy_send)                  \
    X(easy_setopt)                \
    X(easy_strerror)              \
    X(free)                       \
    X(global_cleanup)             \
    X(global_init)                \
    X(multi_add_handle)           \
    X(multi_cleanup)              \
    X(multi_info_read)            \
    X(multi_init)                 \
    X(multi_remove_handle)        \
    X(multi_setopt)               \
    X(multi_socket_action)        \
    X(slist_append)               \
    X(slist_free_all)             \
    X(url)                        \
    X(url_cleanup)                \
    X(url_get)                    \
    X(url_set)

struct curl_library {
#define CURL_LIBRARY_MEMBER(name) __typeof__(curl_##name) *(name);
    CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_MEMBER)
#undef CURL_LIBRARY_MEMBER
};

/**
 * Load the library and initialise it. Takes milliseconds. It stays in the process; only what it
 * holds is given back. Any thread.
 * @param ret_library curl_library_close()
 * @return 0, or RONDO_ERR_UNSUPPORTED when this machine does not have it
 */
int curl_library_open(struct curl_library *ret_library, struct rondo_error *err);

/** Give back what the library holds. */
void curl_library_close(struct curl_library *library);
