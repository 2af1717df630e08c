// SPDX-License-Identifier: Apache-2.0
/* What a request may hold, and what its URL says. Pure. */
#include "net/client/http_internal.h"

#include "base/ascii.h"
#include "base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define METHOD_MAX_BYTES 32

static bool has_control(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcasecmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

/** The length of the body is ours to say: a second opinion would split the request in two. */
static bool is_framing(const char *name)
{
    static const char *const framing[] = {"content-length", "transfer-encoding", NULL};
    return is_among(name, framing);
}

static const char *problem_of_header(const struct http_header *header)
{
    if (header->name == NULL || !ascii_is_token(header->name)) {
        return "the name of a header is not valid";
    }
    if (header->value == NULL || has_control(header->value)) {
        return "the value of a header contains control characters";
    }
    return is_framing(header->name) ? "the length of the body cannot be set by a header" : NULL;
}

static const char *problem_of_headers(const struct http_request *request)
{
    const char *problem = NULL;
    if (request->header_count > HTTP_REQUEST_HEADERS_MAX) {
        return "there are too many headers";
    }
    for (size_t i = 0; i < request->header_count && problem == NULL; i++) {
        problem = problem_of_header(&request->headers[i]);
    }
    return problem;
}

static const char *problem_of(const struct http_request *request)
{
    if (request->method == NULL || !ascii_is_token(request->method) ||
        strlen(request->method) > METHOD_MAX_BYTES) {
        return "the method is not valid";
    }
    if (strcmp(request->method, "HEAD") == 0 && request->part_count > 0) {
        return "a HEAD request has no body";
    }
    if (request->url == NULL || has_control(request->url) || strchr(request->url, ' ') != NULL) {
        return "the URL is not valid";
    }
    if (strlen(request->url) > HTTP_URL_MAX_BYTES) {
        return "the URL is too long";
    }
    return problem_of_headers(request);
}

bool http_request_is_valid(const struct http_request *request, char *ret_message, size_t size)
{
    const char *problem = problem_of(request);
    if (problem != NULL) {
        snprintf(ret_message, size, "%s", problem);
    }
    return problem == NULL;
}

/* --- origins --- */

static char *url_part(const struct curl_library *curl, CURLU *url, CURLUPart part)
{
    char *text = NULL;
    if (curl->url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) {
        return NULL;
    }
    char *copy = memory_dup_string(text);
    curl->free(text);
    return copy;
}

/** Take the brackets and the zone off an address of IPv6. */
static void bare_host(char *host)
{
    size_t len = strlen(host);
    if (host[0] == '[' && host[len - 1] == ']') {
        memmove(host, host + 1, len - 2);
        host[len - 2] = '\0';
        host[strcspn(host, "%")] = '\0';
    }
}

static bool is_name(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1;
}

static bool is_web(const char *scheme)
{
    return scheme != NULL && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
}

static bool read_origin(const struct curl_library *curl, CURLU *url, struct http_origin *origin)
{
    origin->scheme = url_part(curl, url, CURLUPART_SCHEME);
    origin->host = url_part(curl, url, CURLUPART_HOST);
    char *port = url_part(curl, url, CURLUPART_PORT);
    origin->port = port == NULL ? 0 : (int)strtol(port, NULL, 10);
    free(port);
    if (!is_web(origin->scheme) || origin->host == NULL || origin->host[0] == '\0') {
        return false;
    }
    bare_host(origin->host);
    origin->is_name = is_name(origin->host);
    return true;
}

bool http_origin_parse(const struct curl_library *curl, const char *url,
                       struct http_origin *ret_origin)
{
    CURLU *parsed = curl->url();
    struct http_origin origin = {0};
    bool is_valid = parsed != NULL && curl->url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                    read_origin(curl, parsed, &origin);
    curl->url_cleanup(parsed);
    if (!is_valid) {
        http_origin_fini(&origin);
        return false;
    }
    *ret_origin = origin;
    return true;
}

void http_origin_fini(struct http_origin *origin)
{
    free(origin->scheme);
    free(origin->host);
    *origin = (struct http_origin){0};
}

bool http_origin_equals(const struct http_origin *a, const struct http_origin *b)
{
    return strcmp(a->scheme, b->scheme) == 0 && strcasecmp(a->host, b->host) == 0 &&
           a->port == b->port;
}

bool http_header_is_harmless(const char *name)
{
    static const char *const harmless[] = {"accept", "accept-language", "content-type",
                                           "user-agent", NULL};
    return is_among(name, harmless);
}
