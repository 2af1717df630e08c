// SPDX-License-Identifier: Apache-2.0
/*
 * Which addresses a tool may reach (SSRF guard). By default all public ones: loopback, private,
 * link-local, unique-local, unspecified and multicast addresses are refused, also when they are
 * mapped into IPv6. An explicit list opens single hosts. The address is checked when a
 * connection is made, so that a name that resolves to another address later gains nothing, and
 * again for each redirect.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

struct net_guard {
    bool allows_private;            /**< all addresses */
    const char *const *allow_hosts; /**< "host", "host:port", "a.b.c.d/n", "[v6]:port",
                                         "*.example.com"; allowed wherever they resolve to;
                                         NULL-terminated or NULL */
    const char *const *only_hosts;  /**< when given, no other host may be reached; same forms */
};

/** Whether a text is one of the forms above. Pure. */
bool net_guard_is_pattern(const char *text);

/** Whether the guard lets a host be asked for at all. */
bool net_guard_allows_host(const struct net_guard *guard, const char *host, int port);

/**
 * Whether a connection may be made.
 * @param host as in the URL, without brackets
 */
bool net_guard_allows_address(const struct net_guard *guard, const char *host,
                              const struct sockaddr *address);

/** Whether an address is public (IANA special-purpose registries, RFC 6890). Pure. */
bool net_address_is_public(const struct sockaddr *address);
