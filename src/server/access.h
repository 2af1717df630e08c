// SPDX-License-Identifier: Apache-2.0
/*
 * Who may call: which names the server answers to, which pages may send requests with a browser,
 * and what a caller may do. Pure; any thread.
 */
#pragma once

#include "net/http_server.h"
#include "server/problem.h"
#include "server/token.h"

/** Names that the server answers to. */
struct access_names {
    const char *const *listen; /**< "HOST:PORT", "[V6]:PORT", "unix:PATH"; NULL-terminated */
    const char *const *hosts;  /**< further names without port; or NULL */
};

/** Whether a Host header names this server: one of its names, any port. */
bool access_is_our_host(const struct access_names *names, const char *host);

/** Whether an Origin is the very page that a Host serves: same name, same port. */
bool access_is_same_origin(const char *origin, const char *host);

/**
 * Hold a request against what browsers do for pages of other sites.
 * @param is_api  below /v1
 * @return whether it may go on; else `ret_code` and `ret_detail` (static)
 */
bool access_check_site(const struct access_names *names, const struct http_exchange *exchange,
                       bool is_api, enum problem_code *ret_code, const char **ret_detail);

/**
 * Whether a request comes straight from a program of this machine, as far as it says itself: under
 * a name of the machine, not one that was given for a proxy; not through one; and not from our own
 * HTTP client, whose requests are made for agents and for receivers of warnings. Who passes on what
 * others want must show a token of theirs.
 */
bool access_is_direct(const struct access_names *names, const struct http_exchange *exchange);

/** The token in an Authorization header; "" when it is another scheme or malformed. */
const char *access_bearer(const char *header);
