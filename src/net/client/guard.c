// SPDX-License-Identifier: Apache-2.0
/*
 * The guard's lists and the registries of special addresses. Pure.
 *
 * A pattern that is an address opens a URL that holds this address, not a name that resolves to
 * it; a network ("10.0.0.0/8") opens every connection into it.
 */
#include "net/client/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX_BYTES 255
#define PORT_MAX       65535

/** An address as 128 bits; IPv4 is mapped into IPv6. */
struct address {
    unsigned char bytes[16];
};

struct network {
    struct address address;
    unsigned bits; /**< of the 128 */
};

struct host_pattern {
    char host[HOST_MAX_BYTES + 1]; /**< without brackets and "*" (".example.com") */
    int port;                      /**< 0 = any */
    bool is_wildcard;
    bool is_network;
    struct network network;
};

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* --- addresses --- */

static bool address_parse(const char *text, struct address *ret_address)
{
    struct address address;
    memcpy(address.bytes, mapped_prefix, sizeof(mapped_prefix));
    if (inet_pton(AF_INET, text, address.bytes + 12) != 1 &&
        inet_pton(AF_INET6, text, address.bytes) != 1) {
        return false;
    }
    *ret_address = address;
    return true;
}

static bool address_of(const struct sockaddr *from, struct address *ret_address)
{
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;
        memcpy(ret_address->bytes, mapped_prefix, sizeof(mapped_prefix));
        memcpy(ret_address->bytes + 12, &v4->sin_addr, 4);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)from;
        memcpy(ret_address->bytes, &v6->sin6_addr, 16);
        return true;
    }
    return false;
}

static int port_of(const struct sockaddr *from)
{
    if (from->sa_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)(const void *)from)->sin_port);
    }
    return ntohs(((const struct sockaddr_in6 *)(const void *)from)->sin6_port);
}

static bool is_mapped(const struct address *address)
{
    return memcmp(address->bytes, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

static bool network_holds(const struct network *network, const struct address *address)
{
    unsigned whole = network->bits / 8;
    unsigned rest = network->bits % 8;
    if (memcmp(network->address.bytes, address->bytes, whole) != 0) {
        return false;
    }
    unsigned mask = 0xffU << (8 - rest) & 0xffU;
    return rest == 0 || ((network->address.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

#define V4(a, b, c, d, width)                                                                     \
    {                                                                                             \
        .address = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}}, .bits = 96 + (width) \
    }
#define V6(a, b, c, d, e, f, width)                      \
    {                                                    \
        .address = {{a, b, c, d, e, f}}, .bits = (width) \
    }

/* The special-purpose registries of IANA (RFC 6890) where "globally reachable" is not "true", with
 * multicast (RFC 5771) and what embeds an address of IPv4 elsewhere than at its end. Of IPv6 only
 * what lies in the unicast space that is in use (2000::/3) can be public at all. */
static const struct network special_networks[] = {
    V4(0, 0, 0, 0, 8),
    V4(10, 0, 0, 0, 8),
    V4(100, 64, 0, 0, 10),
    V4(127, 0, 0, 0, 8),
    V4(169, 254, 0, 0, 16),
    V4(172, 16, 0, 0, 12),
    V4(192, 0, 0, 0, 24),
    V4(192, 0, 2, 0, 24),
    V4(192, 88, 99, 0, 24),
    V4(192, 168, 0, 0, 16),
    V4(198, 18, 0, 0, 15),
    V4(198, 51, 100, 0, 24),
    V4(203, 0, 113, 0, 24),
    V4(224, 0, 0, 0, 4),
    V4(240, 0, 0, 0, 4),
    V6(0x20, 0x01, 0x00, 0, 0, 0, 23),    /* protocol assignments, Teredo */
    V6(0x20, 0x01, 0x0d, 0xb8, 0, 0, 32), /* documentation */
    V6(0x20, 0x02, 0, 0, 0, 0, 16),       /* 6to4 */
    V6(0x3f, 0xff, 0x00, 0, 0, 0, 20),    /* documentation */
};

static bool address_is_public(const struct address *address)
{
    static const unsigned char translated[12] = {0x00, 0x64, 0xff, 0x9b};
    static const struct network in_use = V6(0x20, 0, 0, 0, 0, 0, 3);
    struct address plain = *address;
    if (memcmp(plain.bytes, translated, sizeof(translated)) == 0) {
        memcpy(plain.bytes, mapped_prefix, sizeof(mapped_prefix));
    }
    if (!is_mapped(&plain) && !network_holds(&in_use, &plain)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(special_networks) / sizeof(special_networks[0]); i++) {
        if (network_holds(&special_networks[i], &plain)) {
            return false;
        }
    }
    return true;
}

bool net_address_is_public(const struct sockaddr *address)
{
    struct address plain;
    return address_of(address, &plain) && address_is_public(&plain);
}

/* --- patterns --- */

static bool number_parse(const char *text, int most, int *ret_number)
{
    char *end = NULL;
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > 5 || text[len] != '\0') {
        return false;
    }
    long number = strtol(text, &end, 10);
    if (number > most) {
        return false;
    }
    *ret_number = (int)number;
    return true;
}

static bool port_parse(const char *text, int *ret_port)
{
    return number_parse(text, PORT_MAX, ret_port) && *ret_port > 0;
}

/** "a.b.c.d/n", "v6/n": `slash` points into the copy of the text and is overwritten. */
static bool network_parse(char *text, char *slash, struct host_pattern *pattern)
{
    int bits = 0;
    *slash = '\0';
    bool is_v4 = strchr(text, ':') == NULL;
    if (!address_parse(text, &pattern->network.address) ||
        !number_parse(slash + 1, is_v4 ? 32 : 128, &bits)) {
        return false;
    }
    pattern->is_network = true;
    pattern->network.bits = (unsigned)bits + (is_v4 ? 96 : 0);
    return true;
}

/** "[v6]", "[v6]:port"; the text is a copy. */
static bool bracketed_parse(char *text, struct host_pattern *pattern)
{
    struct address address;
    char *end = strchr(text, ']');
    if (end == NULL) {
        return false;
    }
    *end = '\0';
    snprintf(pattern->host, sizeof(pattern->host), "%s", text + 1);
    return strchr(pattern->host, ':') != NULL && address_parse(pattern->host, &address) &&
           (end[1] == '\0' || (end[1] == ':' && port_parse(end + 2, &pattern->port)));
}

static bool is_host_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    return text[0] != '\0' && text[0] != '.' && text[strspn(text, allowed)] == '\0' &&
           strstr(text, "..") == NULL;
}

/** A final dot says only that a name is complete. */
static void drop_final_dot(char *host)
{
    size_t len = strlen(host);
    if (len > 1 && host[len - 1] == '.') {
        host[len - 1] = '\0';
    }
}

/** "host", "host:port", "*.host"; the text is a copy. */
static bool name_parse(char *text, struct host_pattern *pattern)
{
    char *colon = strchr(text, ':');
    if (colon != NULL && strchr(colon + 1, ':') != NULL) { /* a bare address of IPv6 */
        struct address address;
        snprintf(pattern->host, sizeof(pattern->host), "%s", text);
        return address_parse(text, &address);
    }
    if (colon != NULL) {
        *colon = '\0';
        if (!port_parse(colon + 1, &pattern->port)) {
            return false;
        }
    }
    pattern->is_wildcard = strncmp(text, "*.", 2) == 0;
    snprintf(pattern->host, sizeof(pattern->host), "%s", text + (pattern->is_wildcard ? 1 : 0));
    drop_final_dot(pattern->host);
    return is_host_name(pattern->host + (pattern->is_wildcard ? 1 : 0));
}

static bool pattern_parse(const char *text, struct host_pattern *ret_pattern)
{
    char copy[HOST_MAX_BYTES + 1];
    *ret_pattern = (struct host_pattern){0};
    if (text == NULL || strlen(text) > HOST_MAX_BYTES) {
        return false;
    }
    snprintf(copy, sizeof(copy), "%s", text);
    char *slash = strchr(copy, '/');
    if (slash != NULL) {
        return network_parse(copy, slash, ret_pattern);
    }
    return copy[0] == '[' ? bracketed_parse(copy, ret_pattern) : name_parse(copy, ret_pattern);
}

bool net_guard_is_pattern(const char *text)
{
    struct host_pattern pattern;
    return pattern_parse(text, &pattern);
}

static bool host_equals(const char *a, const char *b)
{
    struct address left;
    struct address right;
    if (address_parse(a, &left) && address_parse(b, &right)) {
        return memcmp(left.bytes, right.bytes, sizeof(left.bytes)) == 0;
    }
    return strcasecmp(a, b) == 0;
}

static bool ends_with(const char *host, const char *ending)
{
    size_t host_len = strlen(host);
    size_t len = strlen(ending);
    return host_len > len && strcasecmp(host + host_len - len, ending) == 0;
}

/** @param address NULL = not known yet */
static bool pattern_matches(const struct host_pattern *pattern, const char *host, int port,
                            const struct address *address)
{
    if (pattern->is_network) {
        /* A wide network of IPv6 ("::/0") is not meant to hold all of IPv4. */
        bool is_kind = address != NULL && (pattern->network.bits >= 96 || !is_mapped(address));
        return is_kind && network_holds(&pattern->network, address);
    }
    if (pattern->port != 0 && pattern->port != port) {
        return false;
    }
    return pattern->is_wildcard ? ends_with(host, pattern->host) : host_equals(host, pattern->host);
}

static bool list_matches(const char *const *list, const char *given, int port,
                         const struct address *address)
{
    char host[HOST_MAX_BYTES + 1];
    if (strlen(given) > HOST_MAX_BYTES) {
        return false;
    }
    snprintf(host, sizeof(host), "%s", given);
    drop_final_dot(host);
    for (; list != NULL && *list != NULL; list++) {
        struct host_pattern pattern;
        if (pattern_parse(*list, &pattern) && pattern_matches(&pattern, host, port, address)) {
            return true;
        }
    }
    return false;
}

static bool has_network(const char *const *list)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strchr(*list, '/') != NULL) {
            return true;
        }
    }
    return false;
}

bool net_guard_allows_host(const struct net_guard *guard, const char *host, int port)
{
    struct address address;
    bool is_address = address_parse(host, &address);
    if (guard->only_hosts == NULL ||
        list_matches(guard->only_hosts, host, port, is_address ? &address : NULL)) {
        return true;
    }
    /* A name may still turn out to lie in a network. */
    return !is_address && has_network(guard->only_hosts);
}

bool net_guard_allows_address(const struct net_guard *guard, const char *host,
                              const struct sockaddr *address)
{
    struct address plain;
    if (!address_of(address, &plain)) {
        return false;
    }
    int port = port_of(address);
    if (guard->only_hosts != NULL && !list_matches(guard->only_hosts, host, port, &plain)) {
        return false;
    }
    return guard->allows_private || address_is_public(&plain) ||
           list_matches(guard->allow_hosts, host, port, &plain);
}
