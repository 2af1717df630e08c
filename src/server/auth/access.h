// SPDX-License-Identifier: Apache-2.0
/*
 * Access control: which names the server answers to, which pages may send requests with a browser,
 * and what a caller may do. Pure; any thread.
 */
#pragma once

#include "net/server/http_server.h"
#include "server/answer/problem.h"
#include "server/auth/token.h"

/** Names that the server answers to. */
struct access_names {
    const char *const *listen; /**< "HOST:PORT", "[V6]:PORT", "unix:PATH"; NULL-terminated */
    const char *const *hosts;  /**< further names without port; or NULL */
    const char *machine;       /**< the host name of this machine; or NULL */
};

/** Whether a text is a valid name for `hosts`: no port, no scheme, no blanks. */
bool access_is_host_name(const char *text);

/**
 * Whether a Host header names this server: one of its names or any address in digits, any port. No
 * DNS server can point a page's address in digits at us; one with digits that are not ours reaches
 * us through a port that somebody forwards, as a container's does.
 */
bool access_is_our_host(const struct access_names *names, const char *host);

/** Whether an Origin is the very page that a Host serves: same name, same port. */
bool access_is_same_origin(const char *origin, const char *host);

/**
 * Check a request for what browsers send for pages of other sites.
 * @param is_api  below /v1
 * @return whether it may continue; else `ret_code` and `ret_detail` (static)
 */
bool access_check_site(const struct access_names *names, const struct http_exchange *exchange,
                       bool is_api, enum problem_code *ret_code, const char **ret_detail);

/** Whether a request says that a proxy passed it on. @return the header that says so, or NULL */
const char *access_proxy_header(const struct http_exchange *exchange);

/**
 * Whether a request comes straight from a program of this machine, as far as it says itself: under
 * a name of the loopback, not one of outside; not through a proxy, nor over HTTP/1.0, as proxies
 * speak that say nothing of themselves; and not from our own HTTP client, whose requests are made
 * for agents and for receivers of warnings. A program that passes on the requests of others must
 * show their token.
 */
bool access_is_direct(const struct http_exchange *exchange);

/** The token in an Authorization header; "" when it is another scheme or malformed. */
const char *access_bearer(const char *header);

/**
 * By which name the requests of a peer are counted: its address without the port, and of IPv6 the
 * network (/64), because a machine may have any address in it.
 * @param peer text of a struct http_remote
 */
void access_name_peer(const char *peer, char *ret_name, size_t size);
