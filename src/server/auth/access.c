// SPDX-License-Identifier: Apache-2.0
/*
 * A page of another site can make a browser send requests to this machine. It cannot read what we
 * answer, and these checks see to it that nothing is done either: a name that a foreign DNS server
 * points at us is none of ours (rebinding), and a browser says which page a request comes from.
 */
#include "server/auth/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 255

/** Split "name:port" or "[v6]:port". @return false when it is neither */
static bool split(const char *text, char *ret_name, const char **ret_port)
{
    size_t len = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
    if (len == 0 || len > strlen(text) || len > NAME_MAX_LEN) {
        return false;
    }
    snprintf(ret_name, NAME_MAX_LEN + 1, "%.*s", (int)len, text);
    if (len > 1 && ret_name[len - 1] == '.') {
        ret_name[len - 1] = '\0';
    }
    if (text[len] != '\0' && text[len] != ':') {
        return false;
    }
    *ret_port = text[len] == ':' ? text + len + 1 : "";
    return strspn(*ret_port, "0123456789") == strlen(*ret_port) && strlen(*ret_port) <= 5;
}

/** The name in a Host header without its port. @return false: it is none */
static bool name_of(const char *host, char *ret_name)
{
    const char *port = NULL;
    return host != NULL && split(host, ret_name, &port);
}

/** Whether a name is an address in digits; IPv6 in brackets. @param ret_v4 host order, 0 for IPv6
 */
static bool is_address(const char *name, uint32_t *ret_v4)
{
    struct in_addr v4;
    struct in6_addr v6;
    char digits[INET6_ADDRSTRLEN];
    size_t len = strlen(name);
    *ret_v4 = 0;
    if (inet_pton(AF_INET, name, &v4) == 1) {
        *ret_v4 = ntohl(v4.s_addr);
        return true;
    }
    if (name[0] != '[' || len < 3 || len - 2 >= sizeof(digits)) {
        return false;
    }
    snprintf(digits, sizeof(digits), "%.*s", (int)len - 2, name + 1);
    return inet_pton(AF_INET6, digits, &v6) == 1;
}

/** Whether only programs of this machine can mean this machine by a name. */
static bool is_loopback_name(const char *name)
{
    uint32_t v4 = 0;
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (is_address(name, &v4) && v4 >> 24 == IN_LOOPBACKNET);
}

static bool is_listened_on(const struct access_names *names, const char *name)
{
    char other[NAME_MAX_LEN + 1];
    const char *port = NULL;
    for (size_t i = 0; names->listen != NULL && names->listen[i] != NULL; i++) {
        bool is_unix = strncmp(names->listen[i], "unix:", 5) == 0;
        if (!is_unix && split(names->listen[i], other, &port) && strcasecmp(name, other) == 0) {
            return true;
        }
    }
    return false;
}

bool access_is_host_name(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    uint32_t v4 = 0;
    size_t len = strlen(text);
    return len > 0 && len <= NAME_MAX_LEN &&
           (strspn(text, allowed) == len || is_address(text, &v4));
}

bool access_is_our_host(const struct access_names *names, const char *host)
{
    char name[NAME_MAX_LEN + 1];
    uint32_t v4 = 0;
    if (!name_of(host, name)) {
        return false;
    }
    if (is_loopback_name(name) || is_address(name, &v4) || is_listened_on(names, name)) {
        return true;
    }
    for (size_t i = 0; names->hosts != NULL && names->hosts[i] != NULL; i++) {
        if (strcasecmp(name, names->hosts[i]) == 0) {
            return true;
        }
    }
    return names->machine != NULL && strcasecmp(name, names->machine) == 0;
}

bool access_is_same_origin(const char *origin, const char *host)
{
    bool is_secure = strncasecmp(origin, "https://", 8) == 0;
    if (!is_secure && strncasecmp(origin, "http://", 7) != 0) {
        return false;
    }
    char name[NAME_MAX_LEN + 1];
    char other[NAME_MAX_LEN + 1];
    const char *port = NULL;
    const char *other_port = NULL;
    if (!split(origin + (is_secure ? 8 : 7), name, &port) || !split(host, other, &other_port)) {
        return false;
    }
    const char *usual = is_secure ? "443" : "80";
    port = port[0] == '\0' ? usual : port;
    other_port = other_port[0] == '\0' ? usual : other_port;
    return strcasecmp(name, other) == 0 && strcmp(port, other_port) == 0;
}

bool access_check_site(const struct access_names *names, const struct http_exchange *exchange,
                       bool is_api, enum problem_code *ret_code, const char **ret_detail)
{
    const char *host = http_exchange_header(exchange, "Host");
    const char *origin = http_exchange_header(exchange, "Origin");
    const char *site = http_exchange_header(exchange, "Sec-Fetch-Site");
    if (http_exchange_header_count(exchange, "Host") != 1 || !access_is_our_host(names, host)) {
        *ret_code = PROBLEM_BAD_HOST;
        *ret_detail = "the Host header names another server; allow the name with --host NAME";
        return false;
    }
    *ret_code = PROBLEM_BAD_ORIGIN;
    if (http_exchange_header_count(exchange, "Origin") > 1 ||
        http_exchange_header_count(exchange, "Sec-Fetch-Site") > 1) {
        *ret_detail = "the request has more than one Origin or Sec-Fetch-Site header";
        return false;
    }
    if (origin != NULL && !access_is_same_origin(origin, host)) {
        *ret_detail = "the request comes from a page of another origin";
        return false;
    }
    bool is_foreign =
        site != NULL && (strcasecmp(site, "cross-site") == 0 || strcasecmp(site, "same-site") == 0);
    if (is_api && is_foreign) {
        *ret_detail = "the browser reports that the request comes from another site";
        return false;
    }
    return true;
}

const char *access_proxy_header(const struct http_exchange *exchange)
{
    /* Each family has members that we have not heard of; no client of ours sends any of them. */
    static const char *const families[] = {
        "Forwarded",    "Via",         "X-Forwarded",   "X-Real-",      "X-Client-",
        "X-Cluster-",   "X-Original-", "X-Rewrite-",    "X-ProxyUser-", "X-Proxy",
        "X-Envoy-",     "X-Amzn-",     "X-Azure-",      "X-ARR-",       "X-MS-",
        "X-AppEngine-", "X-Host",      "X-Remote-",     "X-Sendfile-",  "X-Varnish",
        "X-Scheme",     "X-SSL-",      "X-Tailscale-",  "Tailscale-",   "Ngrok-",
        "CF-",          "CDN-",        "Fastly-",       "Fly-",         "True-Client-",
        "Client-IP",    "WL-Proxy-",   "Proxy-Client-", "Surrogate-",   "Front-End-",
    };
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const char *name = http_exchange_header_like(exchange, families[i]);
        if (name != NULL) {
            return name;
        }
    }
    return NULL;
}

bool access_is_direct(const struct http_exchange *exchange)
{
    static const char ours[] = "rondo/";
    char name[NAME_MAX_LEN + 1];
    const char *agent = http_exchange_header(exchange, "User-Agent");
    return access_proxy_header(exchange) == NULL && !http_exchange_is_http_1_0(exchange) &&
           (agent == NULL || strncasecmp(agent, ours, strlen(ours)) != 0) &&
           name_of(http_exchange_header(exchange, "Host"), name) && is_loopback_name(name);
}

const char *access_bearer(const char *header)
{
    if (strncasecmp(header, "Bearer ", 7) != 0) {
        return "";
    }
    header += 7;
    return header + strspn(header, " ");
}

void access_name_peer(const char *peer, char *ret_name, size_t size)
{
    char name[NAME_MAX_LEN + 1];
    char network[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    const char *port = NULL;
    if (!split(peer, name, &port)) {
        snprintf(ret_name, size, "peer %s", peer);
        return;
    }
    if (name[0] == '[') {
        name[strlen(name) - 1] = '\0';
    }
    if (name[0] == '[' && inet_pton(AF_INET6, name + 1, &v6) == 1) {
        memset(v6.s6_addr + 8, 0, 8);
        snprintf(ret_name, size, "peer [%s]", inet_ntop(AF_INET6, &v6, network, sizeof(network)));
    } else {
        snprintf(ret_name, size, "peer %s", name);
    }
}
